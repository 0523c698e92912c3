"""What a run leaves to the night, and which part of it CI plays on a day."""

from datetime import date, timedelta

import pytest

from tests import nightly

TESTS = [f"tests/sim/test_x.py::test_a[{number}]" for number in range(200)]


def test_a_run_leaves_out_what_the_night_plays() -> None:
    assert not any(nightly.is_played(test, "none") for test in TESTS)
    assert all(nightly.is_played(test, "all") for test in TESTS)


def test_seven_days_play_every_test_once_each() -> None:
    days = [(date(2026, 11, 22) + timedelta(days=number)).isoformat() for number in range(7)]
    played = [test for day in days for test in TESTS if nightly.is_played(test, day)]
    assert sorted(played) == sorted(TESTS)
    assert all(nightly.is_played(test, days[0]) == nightly.is_played(test, "2026-11-29") for test in TESTS)


def test_three_days_play_every_test_of_a_slow_machine_once_each() -> None:
    days = [date(2026, 11, 22) + timedelta(days=number) for number in range(3)]
    assert sorted(test for day in days for test in TESTS if nightly.is_in_third(test, day)) == sorted(TESTS)
    assert all(nightly.is_in_third(test, None) for test in TESTS)


def test_the_part_of_a_day_is_reported() -> None:
    assert nightly.header("2026-11-22") == "nightly: part 1 of 7, that of 2026-11-22"


def test_what_is_no_date_is_refused() -> None:
    with pytest.raises(pytest.UsageError, match="--nightly takes none, all or a date such as 2026-11-22, not 'friday'"):
        nightly.which("friday")
