"""The benchmarks measure what they say, on a small scale; their budgets are for `manage.py bench`."""

from tests.bench import append, calibration, echo


def test_the_echo_measures_all_three_ways() -> None:
    measured = echo.run(2000)
    for way in ("tcp", "wire", "loopback"):
        assert measured[way]["cpu_us"] > 0
        assert measured[way]["per_second"] > 0
    assert measured["calibration_us"] > 0


def test_the_echo_is_timed_there_and_back() -> None:
    measured = echo.round_trips(200)
    assert 0 < measured["p50_ms"] <= measured["p99_ms"]


def test_slowness_is_relative_to_the_quiet_machine() -> None:
    assert calibration.slowness() * calibration.QUIET_US < 100


def test_appends_are_measured_beside_the_copy_and_the_bare_calls() -> None:
    measured = append.run(512, rounds=1)
    for rows in (measured["body_128"], measured["body_1024"]):
        assert {"copy", "calls_single", "calls_batch_32", "single", "batch_32", "batch_32_two_keys"} <= set(rows)
        assert all(row["per_cpu_second"] > 0 for row in rows.values())
        assert rows["copy"]["of_copy"] == 1
