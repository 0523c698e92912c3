"""Time in drawings: rings that run down, bars of how late a round was."""

import pytest

from tests.drawings.modules import Modules

NOW_MS = 1_795_142_537_350
LIVES = {"expiry_ms": 120_000, "scan_ms": 10_000, "register_ms": 30_000}
RING = """({ ringOf }, heard, lives, now) =>
    ringOf("ns-1", "broker-a", { last_update_ms: heard }, lives, now + 6000, now, 5000)"""
WAVES = "({ View }, data, now) => new View(data, 'orders', now).waves()"


@pytest.mark.parametrize(
    ("age_ms", "tone"), [(4_000, "ok"), (30_200, "ok"), (36_000, "late"), (119_900, "late"), (123_000, "late")]
)
def test_a_ring_is_the_share_of_its_time_that_is_left(modules: Modules, age_ms: int, tone: str) -> None:
    drawn = modules("topology", RING, NOW_MS - age_ms, LIVES, NOW_MS)
    assert drawn["share"] == pytest.approx(max(0, 1 - age_ms / 120_000))
    assert drawn["tone"] == tone


def test_a_broker_no_one_registered_has_no_ring(modules: Modules) -> None:
    drawn = modules("topology", RING, None, LIVES, NOW_MS)
    assert (drawn["share"], drawn["label"], drawn["tone"]) == (0, "–", "none")


def test_more_queues_are_found_in_two_waits_the_routes_and_the_clocks(modules: Modules) -> None:
    route = {"seq": "90", "at_ms": NOW_MS + 21_000, "what": "route", "who": "ns-1", "topic_changed_ms": NOW_MS}
    found = {
        "at_ms": NOW_MS + 28_000,
        "client_id": "10.0.0.11@4001#1",
        "topic": "orders",
        "trigger": "timer",
        "added": [],
        "dropped": [],
        "because": route,
    }
    [wave] = modules("rebalance_views", WAVES, {"rounds": {"95": found}}, NOW_MS)
    [one] = wave["rounds"]
    assert (one["route_ms"], one["late_ms"]) == (21_000, 28_000)
    assert (one["route_share"], one["rest_share"]) == ("75.0", "25.0")


HEAR = """({ SandboxClock }, frames) => {
    const clock = new SandboxClock();
    for (const [at_ms, rate, seq] of frames) clock.hear(at_ms, rate, seq);
    return clock.rate;
}"""


AFTER_A_SECOND = """({ SandboxClock }, [frames, ms]) => {
    const clock = new SandboxClock(), real = performance.now;
    performance.now = () => 0;
    for (const [at_ms, ...rest] of frames) clock.hear(at_ms, ...rest.map((value) => value ?? undefined));
    performance.now = () => ms;
    const now = clock.now();
    performance.now = real;
    return [now, clock.rate, clock.reached];
}"""


def test_behind_its_rate_the_clock_runs_as_fast_as_the_machine_carries(modules: Modules) -> None:
    behind, no_news, carried = (1_000, 20, "1", 7), (1_000, None, "2"), (1_000, 20, "3")
    assert modules("clock", AFTER_A_SECOND, [[behind], 1_000]) == [8_000, 20, 7]
    assert modules("clock", AFTER_A_SECOND, [[behind, no_news], 1_000]) == [8_000, 20, 7]
    assert modules("clock", AFTER_A_SECOND, [[behind, carried], 1_000]) == [21_000, 20, None]


def test_a_frame_read_before_the_newest_one_does_not_turn_the_clock_back(modules: Modules) -> None:
    """The board said that the world is paused; another channel was read a moment before, and comes later."""
    stopped = [(1000, 1, "40"), (2000, 0, "41")]
    assert modules("clock", HEAR, [*stopped, (1990, 1, "40")]) == 0
    assert modules("clock", HEAR, [*stopped, (2000, 1, "42")]) == 1
