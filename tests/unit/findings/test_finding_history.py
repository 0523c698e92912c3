"""Rates and ages from successive views; nothing is computed over a gap."""

import pytest

from sandbox.findings.history import GAP_MS, History


def fed(values: list[tuple[int, int]]) -> History:
    history = History()
    for at_ms, value in values:
        history.begin(at_ms)
        history.add("max", value)
    return history


def test_a_rate_is_the_rise_over_the_window() -> None:
    history = fed([(second * 1000, second * 5) for second in range(0, 41, 2)])
    assert history.per_s("max", window_ms=30_000) == 5
    assert history.mean("max", window_ms=10_000) == 175


def test_a_rate_over_too_little_time_is_unknown() -> None:
    assert fed([(0, 0), (8_000, 40)]).per_s("max") is None
    assert History().per_s("max") is None


def test_the_known_rates_of_several_keys_are_added() -> None:
    history = History()
    for second in range(0, 21, 2):
        history.begin(second * 1000)
        history.add("a", second)
        history.add("b", 2 * second)
    assert history.per_s("a", "b", "unknown") == 3


def test_a_gap_forgets_everything() -> None:
    history = fed([(second * 1000, second) for second in range(0, 21, 2)])
    assert history.begin(20_000 + GAP_MS + 1) is False
    assert history.per_s("max") is None
    assert history.begin(20_000 + GAP_MS + 2_001) is True
    assert history.begin(5_000) is False, "a clock that was set back"


def test_a_value_is_unchanged_since_the_view_in_which_it_was_new() -> None:
    history = History()
    for at_ms, value in ((0, "a"), (2_000, "a"), (4_000, "b"), (6_000, "b"), (8_000, "a")):
        history.begin(at_ms)
        history.note("members", value)
    assert history.unchanged_since_ms("members") == 8_000
    assert history.value("members") == "a"
    assert history.changes("members", within_ms=10_000) == [4_000, 8_000]
    assert history.changes("members", within_ms=2_000) == [8_000]
    history.keep([])
    assert history.unchanged_since_ms("members") is None
    assert history.value("members") is None


def test_an_earlier_value_is_the_newest_of_that_age() -> None:
    history = fed([(second * 1000, second * 5) for second in range(0, 41, 2)])
    assert history.earlier("max", 10_000) == 150
    assert history.earlier("max", 41_000) is None, "older than the first"
    assert history.earlier("min", 0) is None


def test_a_trend_is_that_of_the_newest_view() -> None:
    history = History()
    for second in range(0, 22, 2):
        history.begin(second * 1000)
        history.add("stored", 3 * second)
    assert history.trend_per_s("stored", window_ms=30_000) == pytest.approx(3)
    history.begin(22_000)
    history.add("stored", 1_000)
    rising = history.trend_per_s("stored", window_ms=30_000)
    assert rising is not None
    assert rising > 10
