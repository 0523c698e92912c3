"""The page Audit: counts lead to their messages, messages to their events, and unknown is drawn as unknown."""

import re
from typing import Any

import pyarrow as pa
import pytest
from django.test import Client
from django.utils import translation

from queueviz.boards.audit_matrix import matrix, strips
from queueviz.boards.audit_sentence import sentence_of
from queueviz.pages import audit
from tests.web.markup import compact
from tests.web.pipeline_results import leave

pytestmark = pytest.mark.usefixtures("jobs")
LINE = {"group": "order-svc", "topic": "orders"}


def summary(verdict: str, messages: int, cause: str | None = None, seq: int | None = None) -> dict[str, Any]:
    return {**LINE, "verdict": verdict, "cause": cause, "messages": messages, "example_seq": seq}


def message(offset: int, verdict: str = "once", queue: str = "broker-a:0", **more: Any) -> dict[str, Any]:
    return {
        **LINE,
        "queue": queue,
        "queue_offset": offset,
        "message_id": f"ID{offset}",
        "keys": f"order-{offset}",
        "verdict": verdict,
        "deliveries": 1,
        **more,
    }


TABLES: dict[str, list[dict[str, Any]]] = {
    "summary": [
        summary("once", 15_000, seq=120),
        summary("duplicate", 7, "crash_before_commit", 130),
        summary("duplicate", 2, "retry", 131),
        summary("unknown", 40),
        summary("lost", 1, seq=140),
    ],
    "messages": [
        message(0, first_seq=2**60, last_seq=2**60, first_ms=1_795_142_537_350, last_ms=1_795_142_537_350),
        message(
            1,
            "duplicate",
            cause="crash_before_commit",
            deliveries=2,
            first_seq=130,
            last_seq=139,
            first_ms=1,
            last_ms=2,
        ),
        message(2, "unknown", deliveries=None),
        message(3, "lost", deliveries=0),
        message(0, "waiting", "broker-a:1", deliveries=0),
    ],
    "order_breaks": [
        {**LINE, "queue": "broker-a:0", "key": "order-1", "queue_offset": 1, "after_offset": 9, "seq": 139},
        {**LINE, "queue": "broker-a:1", "key": None, "queue_offset": 4, "after_offset": 5, "seq": 150},
    ],
}


def page(client: Client, slug: str, query: str = "") -> str:
    answer = client.get(f"/s/{slug}/audit/{query}")
    assert answer.status_code == 200
    return compact(answer.content.decode())


def plain(html: str) -> str:
    """Words only."""
    return re.sub(r"[ \n]+", " ", re.sub(r"<[^>]+>", " ", html))


def test_before_the_first_result_it_says_what_it_would_show_and_offers_the_run(visitor: Client, mine: str) -> None:
    seen = page(visitor, mine)
    assert "The audit shows the outcome of each stored message" in seen
    assert seen.count('name="job" value="delivery_audit"') == 1, "one button"
    assert "Audit now" in seen


def test_a_visitor_without_rights_may_read_it_and_not_start_it(visitor: Client, anonymous: Client, mine: str) -> None:
    leave("delivery_audit", mine, TABLES)
    assert re.search(r"<button[^>]* disabled[^>]*>Audit now", page(anonymous, mine))


def test_every_count_leads_to_its_messages_and_to_an_event(visitor: Client, mine: str) -> None:
    leave("delivery_audit", mine, TABLES)
    seen = page(visitor, mine)
    for verdict, count in (
        ("once", "15\u2009000"),
        ("duplicate", "9"),
        ("lost", "1"),
        ("unknown", "40"),
        ("out_of_order", "2"),
    ):
        link = f'href="?group=order-svc&amp;topic=orders&amp;verdict={verdict}#messages"'
        assert re.search(re.escape(link) + rf"[^>]*>{count}</a>", seen), verdict
    for seq in (120, 130, 140, 139):
        assert f"journal/?at={seq}" in seen
    assert "crash before commit 7" in plain(seen)
    assert "verdict=duplicate&amp;cause=retry#messages" in seen
    assert "15\u2009050" in seen, "and all of them together"


def test_the_last_result_begins_with_one_sentence_and_its_age(visitor: Client, mine: str) -> None:
    leave("delivery_audit", mine, TABLES, true_to=18_390)
    seen = page(visitor, mine)
    sentence = (
        "15\u2009050 messages: 15\u2009009 delivered, 9 of them more than once; 1 lost; 40 unknown; 2 out of order."
    )
    assert sentence in plain(seen)
    assert "computed up to event #18\u2009390" in plain(seen)
    assert re.search(r"From [0-9-]* ?02:42:05 UTC, 12 events ago\.", plain(seen)), "the newest event is 18 402"
    assert seen.index("messages: ") < seen.index('class="table verdicts"')
    leave("delivery_audit", mine, TABLES, true_to=None, run="r2")
    assert "up to event" not in page(visitor, mine)
    assert "events ago" not in page(visitor, mine)


def test_a_line_without_losses_names_the_lines_that_have_some(visitor: Client, mine: str) -> None:
    other = {**summary("lost", 3), "group": "stock-svc"}
    leave("delivery_audit", mine, {**TABLES, "summary": [summary("once", 4), other], "order_breaks": []})
    assert "4 messages: all delivered; none lost. Lost messages of other groups: stock-svc." in plain(
        page(visitor, mine)
    )
    text = plain(page(visitor, mine, "?group=stock-svc"))
    assert "3 messages: 0 delivered; 3 lost." in text
    assert "other groups" not in text


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ({"once": 1_201, "duplicate": 3}, "1\u2009204 messages: all delivered, 3 of them more than once; none lost."),
        ({"once": 1}, "1 message: delivered; not lost."),
        ({"duplicate": 1}, "1 message: delivered more than once; not lost."),
        ({"once": 9, "waiting": 2}, "11 messages: 9 delivered; none lost; 2 wait."),
        ({"handed_over": 4}, "4 messages: all delivered; none lost."),
        ({"once": 9, "unknown": 2}, "11 messages: 9 delivered; 2 unknown."),
        ({"unknown": 5}, "5 messages: 5 unknown."),
        ({"lost": 1, "once": 1}, "2 messages: 1 delivered; 1 lost."),
        ({"waiting": 1}, "1 message: 0 delivered; not lost; 1 waits."),
    ],
)
def test_a_sentence_claims_nothing_that_is_unknown(counts: dict[str, int], sentence: str) -> None:
    [line] = matrix(
        [{**LINE, "verdict": v, "cause": None, "messages": n, "example_seq": None} for v, n in counts.items()], {}
    )
    assert sentence_of(line) == sentence


def test_the_sentence_is_chinese_for_chinese_readers() -> None:
    rows = {"once": 9, "duplicate": 1, "lost": 1, "unknown": 2, "waiting": 3}
    [line] = matrix(
        [{**LINE, "verdict": v, "cause": None, "messages": n, "example_seq": None} for v, n in rows.items()], {}
    )
    with translation.override("zh-hans"):
        assert sentence_of(line) == "16 条消息：已投递 10 条，其中 1 条投递不止一次；丢失 1 条；未知 2 条；等待 3 条。"


def test_messages_of_a_verdict_and_a_cause_are_listed_with_their_events(visitor: Client, mine: str) -> None:
    leave("delivery_audit", mine, TABLES)
    seen = page(visitor, mine, "?verdict=duplicate&cause=crash_before_commit")
    listed = seen[seen.index('id="messages"') :]
    assert "order-1" in listed
    assert "order-0" not in listed
    assert "journal/?at=130" in listed
    assert "journal/?at=139" in listed
    assert f"/s/{mine}/messages/ID1/" in listed
    assert str(2**60) in page(visitor, mine, "?verdict=once"), "a number of 64 bits is not rounded"


def test_messages_of_one_queue_are_listed(visitor: Client, mine: str) -> None:
    leave("delivery_audit", mine, TABLES)
    listed = page(visitor, mine, "?queue=broker-a:1").split('id="messages"')[1]
    assert "waiting" in listed
    assert "order-3" not in listed


def test_order_breaks_name_key_and_both_offsets(visitor: Client, mine: str) -> None:
    leave("delivery_audit", mine, TABLES)
    listed = plain(page(visitor, mine, "?verdict=out_of_order").split('id="messages"')[1])
    assert "broker-a:0 order-1 1 9 #139" in listed
    assert "broker-a:1 the whole queue 4 5 #150" in listed
    of_key = plain(page(visitor, mine, "?verdict=out_of_order&cause=key").split('id="messages"')[1])
    assert "order-1" in of_key
    assert "whole queue" not in of_key
    assert "per queue 1" in plain(page(visitor, mine))


def test_what_no_one_knows_is_a_dash_and_never_a_zero(visitor: Client, mine: str) -> None:
    leave("delivery_audit", mine, TABLES)
    listed = plain(page(visitor, mine, "?verdict=unknown").split('id="messages"')[1])
    assert "order-2 unknown – –" in listed


def test_a_line_that_is_not_there_falls_back_on_the_first(visitor: Client, mine: str) -> None:
    leave("delivery_audit", mine, TABLES)
    assert "15\u2009000" in page(visitor, mine, "?group=nobody&topic=nothing&verdict=nonsense&cause=none")


def test_a_result_without_any_message_says_so(visitor: Client, mine: str) -> None:
    leave("delivery_audit", mine, {"summary": [], "messages": [], "order_breaks": []})
    assert "Nothing to audit" in page(visitor, mine)


def test_no_more_messages_are_read_than_are_shown(visitor: Client, mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    leave("delivery_audit", mine, TABLES)
    monkeypatch.setattr(audit, "SHOWN_MESSAGES", 2)
    seen = page(visitor, mine)
    assert "The first 2 are shown." in seen
    assert "order-2" not in seen.split('id="messages"')[1]


def test_too_many_messages_are_counted_and_not_drawn(
    visitor: Client, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave("delivery_audit", mine, TABLES)
    assert "vstrips" in page(visitor, mine)
    monkeypatch.setattr(audit, "DRAWN_MESSAGES", 15_049)
    seen = page(visitor, mine)
    assert "Too many messages to draw individually" in seen
    assert "vstrips" not in seen


def batch(*rows: tuple[str, int, str]) -> list[pa.RecordBatch]:
    names = ("queue", "queue_offset", "verdict")
    return [pa.RecordBatch.from_pylist([dict(zip(names, row, strict=True)) for row in rows])]


def test_a_strip_joins_neighbours_and_shows_what_is_missing_as_deleted() -> None:
    [strip] = strips(batch(("a:0", 14, "lost"), ("a:0", 10, "once"), ("a:0", 11, "once"), ("a:0", 12, "duplicate")))
    assert (strip.first, strip.last, strip.per_bin) == (10, 14, 1)
    assert [(piece.verdict, piece.x, piece.width) for piece in strip.pieces] == [
        ("once", 0.0, 40.0),
        ("duplicate", 40.0, 20.0),
        ("none", 60.0, 20.0),
        ("lost", 80.0, 20.0),
    ]
    assert [(verdict, n) for verdict, _, n in strip.counts] == [("once", 2), ("duplicate", 1), ("lost", 1)]


def test_of_messages_that_share_a_place_the_worst_is_drawn() -> None:
    rows = [("a:0", offset, "lost" if offset == 700 else "once") for offset in range(1_000)]
    [strip] = strips(batch(*rows))
    assert strip.per_bin == 5
    lost = [piece for piece in strip.pieces if piece.verdict == "lost"]
    assert [(round(piece.x, 1), piece.width) for piece in lost] == [(70.0, 0.5)]


def test_queues_stand_in_the_order_of_brokers_and_ids() -> None:
    drawn = strips(batch(("b:2", 0, "once"), ("a:10", 0, "once"), ("a:2", 0, "a verdict of tomorrow")))
    assert [strip.queue for strip in drawn] == ["a:2", "a:10", "b:2"]
    assert drawn[0].pieces[0].verdict == "unknown"
