"""The lines of the newest history, as the page computes them: the total, the worst three queues, and the rest."""

from typing import Any

from tests.drawings.modules import Modules

GROUPED = """({ grouped, worstOf }, { points, past, largest }) => {
  const queues = new Map(Object.entries(points));
  return Object.fromEntries(grouped(queues, worstOf(queues, past), largest));
}"""


CALMED = "({ calmed }, { queues, sums }) => calmed(queues, sums)"


def lines(modules: Modules, points: dict[str, Any], past: tuple[str, ...] = (), *, largest: bool = False) -> Any:
    return modules("history_lines", GROUPED, {"points": points, "past": past, "largest": largest})


def test_the_rest_is_one_line_and_the_total_is_of_all(modules: Modules) -> None:
    points = {f"a:{n}": [[1_000, lag]] for n, lag in enumerate([5, 80, 1, 60, 2, 70])}
    assert lines(modules, points) == {
        "total": [[1_000, 218]],
        "a:1": [[1_000, 80]],
        "a:5": [[1_000, 70]],
        "a:3": [[1_000, 60]],
        "others": [[1_000, 8]],
    }
    assert lines(modules, points, largest=True)["others"] == [[1_000, 5]]


def test_the_queues_of_the_past_stay_the_ones_with_names(modules: Modules) -> None:
    points = {"a:0": [[1_000, 1]], "a:1": [[1_000, 9]]}
    assert list(lines(modules, points, ("total", "a:0", "others"))) == ["total", "a:0", "others"]


def test_a_total_is_unknown_where_a_queue_is(modules: Modules) -> None:
    points = {"a:0": [[1_000, 1], [2_000, None]], "a:1": [[1_000, 2], [2_000, 3], [3_000, 4]]}
    assert lines(modules, points)["total"] == [[1_000, 3], [2_000, None], [3_000, 4]]


def test_few_messages_are_drawn_as_the_mean_of_ten_seconds_in_the_sums_too(modules: Modules) -> None:
    sawtooth = [[at * 2_000, lag] for at, lag in enumerate([0, 4, 2, 6, 3, 0, 4])]
    total = [[at, 10 * lag] for at, lag in sawtooth]
    queues, sums = modules("history_lines", CALMED, {"queues": [sawtooth], "sums": [total]})
    assert queues == [[[0, 0], [2_000, 2], [4_000, 2], [6_000, 3], [8_000, 3], [10_000, 3], [12_000, 3]]]
    assert sums == [[[at, 10 * lag] for at, lag in queues[0]]]


def test_a_sum_is_exact_where_a_named_queue_has_ten_messages_or_is_unknown(modules: Modules) -> None:
    queue = [[0, 2], [1_000, 4], [2_000, 10], [3_000, None], [4_000, 4]]
    total = [[0, 12], [1_000, 14], [2_000, 20], [3_000, None], [4_000, 14], [5_000, 16]]
    queues, sums = modules("history_lines", CALMED, {"queues": [queue], "sums": [total]})
    assert queues == [[[0, 2], [1_000, 3], [2_000, 10], [3_000, None], [4_000, 4]]]
    assert sums == [[[0, 12], [1_000, 13], [2_000, 20], [3_000, None], [4_000, 14], [5_000, 16]]]


def test_points_more_than_ten_seconds_apart_are_exact(modules: Modules) -> None:
    points = [[0, 1], [10_000, 5], [20_000, 3]]
    assert modules("history_lines", CALMED, {"queues": [points], "sums": []}) == [[points], []]
