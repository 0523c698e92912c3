"""The newest point of the lag chart is the lag of the strips when the clock is stopped within a second."""

from tests.drawings.modules import Modules

NOTES = """({ History }, notes) => {
    globalThis.addEventListener ??= () => {};
    const history = new History("s");
    const changed = notes.map(([now_ms, lag, stands]) => history.note(now_ms, [["q0", lag]], stands));
    return [changed, history.of("q0").values];
}"""


def test_a_second_has_its_first_lag_while_the_clock_runs(modules: Modules) -> None:
    changed, values = modules("history", NOTES, [[1_000, 5, False], [1_200, 9, False], [2_000, 7, False]])
    assert (changed, values) == ([True, False, True], [5, 7])


def test_a_stopped_clock_has_the_lag_of_now(modules: Modules) -> None:
    changed, values = modules("history", NOTES, [[1_000, 0, False], [1_900, 320, True], [1_900, 320, True]])
    assert (changed, values) == ([True, True, False], [320])
