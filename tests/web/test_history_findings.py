"""Findings on the History page: bands of the group's findings from the journal, and their table."""

import re
from typing import Any

import pytest
from django.test import Client

from queueviz.boards.history_findings import bands_of
from sandbox.kernel.errors import EngineBusy
from tests.web.fake_port import SNAPSHOT, FakePort
from tests.web.test_history_page import drawn, page

pytestmark = pytest.mark.usefixtures("jobs")
NOW_MS = int(SNAPSHOT["at_ms"])
SLOW = {"code": "consumers_too_slow", "kind": "group", "subject": "order-svc", "group": "order-svc", "topic": "orders"}


def opened(seq: int, since_ms: int, **more: Any) -> dict[str, Any]:
    fact = {"type": "FindingOpened", "seq": str(seq), "at_ms": since_ms + 20_000, "since_ms": str(since_ms)}
    return {**fact, "severity": "warning", "because_of": "", **SLOW, **more}


def closed(seq: int, at_ms: int, lasted_ms: int, **more: Any) -> dict[str, Any]:
    return {
        "type": "FindingClosed",
        "seq": str(seq),
        "at_ms": at_ms,
        "lasted_ms": lasted_ms,
        "how": "ended",
        **SLOW,
        **more,
    }


def spans(*facts: dict[str, Any]) -> list[tuple[str, int, int | None]]:
    bands = bands_of(facts, "order-svc", {"broker-a:2": "q2"})
    return [(band.word, band.since_ms, band.until_ms) for band in bands]


def test_a_band_lasts_from_its_condition_to_the_close() -> None:
    assert spans(opened(1, 5_000), closed(2, 90_000, 65_000), opened(3, 200_000)) == [
        ("members too slow", 5_000, 90_000),
        ("members too slow", 200_000, None),
    ]


def test_a_finding_of_a_queue_says_which() -> None:
    pinned = {"code": "offset_pinned", "kind": "queue", "subject": "broker-a:2"}
    assert spans(opened(1, 5_000, **pinned)) == [("q2: unfinished message holds the committed offset", 5_000, None)]


def test_a_close_without_its_begin_counts_back() -> None:
    assert spans(closed(2, 90_000, 65_000)) == [("members too slow", 25_000, 90_000)]


def test_a_finding_that_never_closed_ends_with_the_next_of_its_kind() -> None:
    assert spans(opened(1, 5_000), opened(9, 80_000)) == [
        ("members too slow", 5_000, 80_000),
        ("members too slow", 80_000, None),
    ]


def test_explained_findings_notes_and_other_groups_have_no_band() -> None:
    note = {"code": "uneven_assignment", "severity": "info"}
    late = {"code": "retrying", "because_of": "consumers_too_slow"}
    other = {"group": "other", "subject": "other"}
    down = {"code": "broker_down", "kind": "broker", "subject": "broker-a", "group": "", "topic": ""}
    facts = [opened(1, 1, **note), closed(2, 9, 8, **note), opened(3, 2, **late), opened(4, 3, **other)]
    assert spans(*facts, opened(5, 4, **down)) == [("broker-a: no master", 4, None)]


def test_the_page_draws_the_findings_of_its_time_and_lists_them(visitor: Client, mine: str, port: FakePort) -> None:
    old = NOW_MS - 40 * 60_000
    port.rows = [
        opened(10, old),
        closed(11, old + 60_000, 40_000),
        opened(12, NOW_MS - 120_000),
        closed(13, NOW_MS - 60_000, 40_000),
    ]
    assert [band["seq"] for band in drawn(visitor, mine, "?group=order-svc&span=15")["bands"]] == ["12"]
    assert [band["seq"] for band in drawn(visitor, mine, "?group=order-svc&span=60")["bands"]] == ["10", "12"]
    table = page(visitor, mine, "?group=order-svc&span=15").split('id="twin"')[1]
    assert re.search(r"Findings.*members too slow", table, re.S)
    assert "journal/?at=12" in table


def test_a_journal_that_cannot_be_read_leaves_findings_unknown(visitor: Client, mine: str, port: FakePort) -> None:
    port.refuse["look_back"] = EngineBusy("The engine did not answer in time.")
    assert "Findings: unknown, because the journal could not be read." in page(visitor, mine)
