"""The bench of a class in browsers counts in the database, and would see an entry that is lost or doubled."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from queueviz.courses.lite_runs import Entry, receipt_of
from tests.bench import lite_class
from tests.bench.lite_class import Stored


def entry(n: int, turn: int) -> Entry:
    return Entry(n, turn, turn, turn, "SetRate", {"rate": 1.0}, "student student")


def stored(*entries: Entry) -> list[Stored]:
    rows, before = [], ""
    for each in entries:
        before = receipt_of(before, each)
        rows.append(Stored(each, before))
    return rows


def counts(came: list[Entry], rows: list[Stored], receipts: dict[int, str] | None = None) -> dict[str, int]:
    sent: list[dict[str, Any]] = [each._asdict() for each in came]
    counted = lite_class.count({"a": (sent, receipts or {})}, {"a": rows})
    return {name: number for name, number in counted.items() if number}


def test_entries_that_are_stored_once_are_neither_lost_nor_doubled() -> None:
    own = [entry(1, 5), entry(2, 9)]
    rows = stored(*own)
    assert counts(own, rows, {2: rows[1].receipt}) == {"entries_sent": 2, "entries_stored": 2}


def test_an_entry_without_a_row_is_lost() -> None:
    own = [entry(1, 5), entry(2, 9)]
    assert counts(own, stored(own[0])) == {"entries_sent": 2, "entries_stored": 1, "entries_lost": 1}


def test_an_entry_with_two_rows_is_doubled_and_moves_those_after_it() -> None:
    rows = stored(entry(1, 5), entry(2, 5))
    assert counts([entry(1, 5)], rows) == {
        "entries_sent": 1,
        "entries_stored": 2,
        "entries_doubled": 1,
        "entries_that_differ": 1,
    }


def test_a_receipt_that_does_not_follow_from_the_rows_is_seen() -> None:
    rows = stored(entry(1, 5))
    received = {1: rows[0].receipt, 2: "a receipt of an entry that was not stored"}
    assert counts([entry(1, 5)], rows, received)["receipts_that_differ"] == 1
    assert counts([entry(1, 5)], [Stored(entry(1, 5), "another")])["receipts_broken"] == 1


@pytest.mark.parametrize(
    "options",
    [("--where", "lite", "--lab", "N0"), ("--where", "lite", "--students", "10,20"), ("--browsers", "2")],
)
def test_a_class_in_browsers_that_cannot_be_is_refused(options: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match="--where lite needs"):
        call_command("bench", "class", *options)


@pytest.mark.wide
def test_a_small_class_with_cuts_and_a_kill_loses_and_doubles_nothing() -> None:
    figures = lite_class.run(3, cut_s=1, part_s=3, settle_s=0.5)
    zero = ("entries_lost", "entries_doubled", "entries_that_differ", "receipts_broken", "receipts_that_differ")
    assert [figures[name] for name in (*zero, "not_back", "entries_without_receipt")] == [0] * 7
    assert figures["entries_stored"] == figures["entries_sent"] >= 6
    assert figures["grid_tiles"] > 0
    assert figures["faults"] == {}
