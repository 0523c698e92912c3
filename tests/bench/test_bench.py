"""The benchmarks measure what they say, on a small scale; their budgets are for `manage.py bench`."""

from tests.bench import calibration, echo


def test_the_echo_measures_all_three_ways() -> None:
    measured = echo.run(2000)
    for way in ("tcp", "wire", "loopback"):
        assert measured[way]["cpu_us"] > 0
        assert measured[way]["per_second"] > 0
    assert measured["calibration_us"] > 0


def test_slowness_is_relative_to_the_quiet_machine() -> None:
    assert calibration.slowness() * calibration.QUIET_US < 100
