"""The Messages pages: the list that moves, four ways to find one, and one message with its bytes and its life."""

import random
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from queueviz.boards.messages import channel
from queueviz.boards.page import Place
from sandbox.control.actions import ConsumeOnce, ResendMessage
from sandbox.control.limits import MIB
from sandbox.control.questions import FindMessages
from sandbox.control.readings import Reading
from sandbox.kernel.errors import ActionRefused
from sandbox.live.channel import slug_of
from sandbox.message import msg_id, record
from sandbox.message.compression import ZLIB_FLAGS, compress, decompress_start
from sandbox.message.message import InboundMessage
from sandbox.queries.rows.messages import (
    AT_ONCE_BYTES,
    LOOKED_AT_BYTES,
    PACKED,
    finish,
    full_row,
    message_row,
    record_fields,
    record_parts,
    unfinished,
)
from tests.web.fake_port import FakePort
from tests.web.markup import compact
from tests.web.patience import until

pytestmark = pytest.mark.django_db

HOST = msg_id.host_bytes("127.0.0.1", 10911)
ID = msg_id.encode(HOST, 1024)
BORN_MS = 1_795_142_537_000


def raw(body: bytes = b'{"id": 9007199254740993}', *, sys_flag: int = 0) -> bytes:
    inbound = InboundMessage("orders", 3, body, b"KEYS\x01k-<1>\x02TAGS\x01paid", 0, sys_flag, 0, BORN_MS, HOST)
    return record.encode(inbound, 2**60, 1024, BORN_MS + 20, HOST)


def answer(data: bytes | None = None, **more: Any) -> dict[str, Any]:
    """Return the response of `read-record` if only the record is known."""
    data = raw() if data is None else data
    message = record.decode(data)
    return {
        "broker": "broker-a",
        "physical_offset": "1024",
        "bytes": len(data),
        "hex": data.hex(),
        "message": full_row(message, "broker-a"),
        "fields": record_fields(message),
        "parts": record_parts(data),
        "position": None,
        "entry": None,
        "index": None,
        "life": {
            "chain": None,
            "linked": False,
            "groups": None,
            "known_from_ms": None,
            "known_from_seq": None,
            "complete": False,
            "skipped": False,
        },
    } | more


def life(**group: Any) -> dict[str, Any]:
    """A life in which one group has been given the message once."""
    step = {
        **full_row(record.decode(raw()), "broker-a"),
        "what": "stored",
        "group": None,
        "here": True,
        "delay_level": None,
        "due_ms": None,
        "delivered": None,
        "to": None,
        "seq": "31",
    }
    delivery = {
        "seq": "40",
        "step": 0,
        "client_id": "10.0.0.11@4001#1",
        "actor": "A",
        "started_ms": BORN_MS + 100,
        "ended_ms": BORN_MS + 300,
        "outcome": "LATER",
        "reconsume_times": 0,
        "thread": 2,
        "handler": "work",
        "batch": 1,
        "once": False,
    }
    place = {
        "step": 0,
        "member": None,
        "state": "committed",
        "committed": str(2**60 + 1),
        "in_memory": None,
        "next_pull": None,
        "owner": None,
        "since_ms": None,
    }
    row = {
        "group": "order-svc",
        "model": "CLUSTERING",
        "expression": "*",
        "subscribed": True,
        "state": "committed",
        "given": True,
        "places": [place],
        "deliveries": [delivery],
        "pulls": [],
    } | group
    return {
        "chain": [step],
        "linked": True,
        "groups": [row],
        "known_from_ms": BORN_MS,
        "known_from_seq": "1",
        "complete": True,
        "skipped": False,
    }


def show(port: FakePort, slug: str, data: dict[str, Any], query: str = f"id={ID}") -> None:
    port.boards[f"messages/{slug}?{query}" if query else f"messages/{slug}"] = Reading(
        5, BORN_MS + 1_000, 1, "7f3a", data
    )


def one(client: Client, slug: str, message: str = ID) -> str:
    return unescape(compact(client.get(f"/s/{slug}/messages/{message}/").content.decode()))


def said(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


# The list.


def test_what_arrives_is_a_table_with_the_newest_first(visitor: Client, port: FakePort, mine: str) -> None:
    row = full_row(record.decode(raw()), "broker-a")
    rows = {str(number): {**row, "keys": f"k-{number}"} for number in (9, 10)}
    show(port, mine, {"wanted": {}, "seen": 30, "rest": 12, "unseen": 0, "rows": rows}, "")
    page = visitor.get(f"/s/{mine}/messages/").content.decode()
    assert page.index("k-10") < page.index("k-9")
    assert f'href="/s/{mine}/messages/{ID}/"' in page
    assert 'data-n="rest">12' in page
    assert "1\u2009152\u2009921\u2009504\u2009606\u2009846\u2009976" in page, "beyond what a float holds"


BIG = b"a" * 6_000


@pytest.mark.parametrize(
    ("body", "sys_flag", "shown"),
    [
        (b'{"id": 7}\n{"id": 8}', 0, '{"id": 7}'),
        (b"\n  two words\r\nmore", 0, "two words"),
        (b"", 0, "empty"),
        ("消".encode() * 300, 0, "消" * 80 + "…"),
        (compress(BIG), ZLIB_FLAGS, "a" * 80 + "…"),
        (b"\x00\xff\x10" * 500, 0, "binary, 1.5 KiB"),
        (b"caf\xc3", 0, "binary, 4 B"),
        (compress(BIG)[:9] + b"torn", ZLIB_FLAGS, "binary, 13 B"),
    ],
)
def test_a_row_shows_the_first_line_of_a_text_and_the_size_of_what_is_none(
    visitor: Client, port: FakePort, mine: str, body: bytes, sys_flag: int, shown: str
) -> None:
    row = message_row(record.decode(raw(body, sys_flag=sys_flag)), "broker-a")
    show(port, mine, {"wanted": {}, "seen": 1, "rest": 0, "unseen": 0, "rows": {"1": row}}, "")
    page = unescape(visitor.get(f"/s/{mine}/messages/").content.decode())
    assert f'<span data-f="line" data-as="body">{shown}</span>' in page


def test_a_row_unpacks_no_more_of_a_body_than_its_first_line_needs() -> None:
    bomb = compress(bytes(b"x" * 60_000_000))
    assert len(decompress_start(bomb, ZLIB_FLAGS, LOOKED_AT_BYTES)) == LOOKED_AT_BYTES


BOMB = compress(bytes(60_000_000))


def test_the_engine_s_turn_unpacks_64_kib_of_a_body_and_a_worker_no_more_than_the_limit() -> None:
    row = full_row(record.decode(raw(BOMB, sys_flag=ZLIB_FLAGS)), "broker-a")
    assert (row["body_bytes"], row["body_over"]) == (None, AT_ONCE_BYTES)
    finish(unfinished({"message": row}), 4 * MIB)
    assert (row["body_bytes"], row["body_over"], len(row["body"])) == (None, 4 * MIB, 4_096)
    assert PACKED not in row


@pytest.mark.parametrize("size", [0, 1, 4_095, 65_535, 65_536, 65_537, 200_000, 4 * MIB])
def test_a_body_within_the_limit_has_its_length(size: int) -> None:
    body = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    row = full_row(record.decode(raw(compress(body), sys_flag=ZLIB_FLAGS)), "broker-a")
    finish(unfinished({"rows": [row]}), 4 * MIB)
    assert (row["body_bytes"], row["body_over"], row["body"].encode()) == (size, None, body[:4_096])


def test_a_body_that_ends_too_early_is_shown_as_it_is_stored() -> None:
    torn = compress(random.Random(1).randbytes(300_000))[:-1]
    row = full_row(record.decode(raw(torn, sys_flag=ZLIB_FLAGS)), "broker-a")
    finish(unfinished({"rows": [row]}), 4 * MIB)
    assert (row["body_bytes"], row["body_over"], row["body_hex"]) == (None, None, torn[:4_096].hex())


def test_a_bomb_shows_its_first_bytes_and_says_so(visitor: Client, port: FakePort, mine: str) -> None:
    data = {"id": ID, "record": answer(raw(BOMB, sys_flag=ZLIB_FLAGS)), "others": [], "why": None}
    finish(unfinished(data), 4 * MIB)
    show(port, mine, data)
    page = said(one(visitor, mine))
    assert "more than 4.0 MiB" in page
    assert "The decompressed body exceeds the limit of 4.0 MiB" in page


def test_filters_are_in_the_address_and_in_the_channel(visitor: Client, port: FakePort, mine: str) -> None:
    query = "topic=orders&queue=broker-a%3A3&key=a%26b"
    show(port, mine, {"wanted": {}, "seen": 0, "rest": 0, "unseen": 3, "rows": {}}, query)
    page = visitor.get(f"/s/{mine}/messages/?{query}")
    assert page.context["live"]["channels"] == {"messages": f"messages/{mine}?{query}"}
    text = page.content.decode()
    assert "<option selected>broker-a:3</option>" in text
    assert 'value="a&amp;b"' in text
    assert "No matching message yet." in text


def test_a_sandbox_no_one_can_be_asked_about_says_so(visitor: Client, port: FakePort, mine: str) -> None:
    assert "No query possible" in visitor.get(f"/s/{mine}/messages/").content.decode()


def test_a_search_stands_in_the_address(visitor: Client, port: FakePort, mine: str) -> None:
    page = visitor.get(f"/s/{mine}/messages/?s-by=key&s-topic=orders&s-key=k-1").content.decode()
    assert re.search(r'value="key" checked', page)
    assert 'name="key" value="k-1"' in page
    page = visitor.get(f"/s/{mine}/messages/?s-by=nonsense").content.decode()
    assert re.search(r'value="id" checked', page)


# Finding.


def find(client: Client, slug: str, **fields: str) -> str:
    return client.get(f"/s/{slug}/ask/find-messages/", fields).content.decode()


def found(rows: int, *, by: str = "time", cursor: str | None = None, scanned: int = 40_000) -> dict[str, Any]:
    row = full_row(record.decode(raw()), "broker-a")
    return {
        "by": by,
        "rows": [row] * rows,
        "scanned": scanned,
        "scanned_in_all": scanned,
        "found_in_all": rows,
        "of": 1_200_000,
        "cursor": cursor,
        "more": False,
    }


def test_a_search_says_how_far_it_has_come_and_goes_on_from_there(visitor: Client, port: FakePort, mine: str) -> None:
    port.answers = found(2, cursor="1:7:40000:2")
    text = find(visitor, mine, topic="orders", tag="paid & more")
    assert "scanned 40\u2009000 of 1\u2009200\u2009000, found 2" in text
    going_on = re.search(r'hx-get="([^"]+)"', text)
    assert going_on is not None
    assert unescape(going_on[1]) == (
        f"/s/{mine}/ask/find-messages/?topic=orders&tag=paid+%26+more&cursor=1%3A7%3A40000%3A2"
    )
    port.answers = found(1)
    more = visitor.get(unescape(going_on[1])).content.decode()
    assert more.count("<tbody") == 2
    assert "<table" not in more
    assert port.asked[-1] == FindMessages(topic="orders", tag="paid & more", cursor="1:7:40000:2")


@pytest.mark.parametrize(
    ("by", "fields", "sentence", "link"),
    [
        ("id", {"id": "00 ff"}, "No message has this ID here.", "messages/00%20ff/"),
        (
            "key",
            {"topic": "orders", "key": "a&b"},
            "The index has no entry for this key.",
            "index/?topic=orders&amp;key=a%26b",
        ),
        ("time", {"topic": "orders"}, "None of 40\u2009000 messages matches.", ""),
    ],
)
def test_a_search_that_finds_nothing_says_where_to_look_on(
    visitor: Client, port: FakePort, mine: str, by: str, fields: dict[str, str], sentence: str, link: str
) -> None:
    port.answers = found(0, by=by)
    text = find(visitor, mine, **fields)
    assert sentence in text
    assert link in text


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"topic": "orders", "queue": "broker-a:0", "offset": "x"}, "offset", "must be a whole number"),
        ({"topic": "orders", "from_ms": "yesterday"}, "from_ms", "must be a whole number"),
        ({"id": "a" * 300}, "id", "characters; at most 255 fit"),
        ({"topic": "orders", "colour": "red"}, "colour", "has no field colour"),
    ],
)
def test_bad_input_gets_a_sentence_beside_its_field(
    visitor: Client, port: FakePort, mine: str, fields: dict[str, str], field: str, sentence: str
) -> None:
    refused = visitor.get(f"/s/{mine}/ask/find-messages/", fields)
    assert refused.status_code == 422
    assert f'data-field="{field}"' in refused.content.decode()
    assert sentence in refused.content.decode()


# One message.


def test_a_message_is_shown_with_every_field_and_every_byte(visitor: Client, port: FakePort, mine: str) -> None:
    show(port, mine, {"id": ID, "record": answer(), "others": [], "why": None})
    page = one(visitor, mine)
    fields = page.split('id="record"')[1]
    assert fields.count('data-part="') == len(answer()["parts"])
    columns = re.findall(r'<span\s+class="h">(.*?)</span><span\s+class="t">', fields, re.S)
    dump = re.sub(r"<[^>]+>", "", "".join(columns))
    assert bytes.fromhex(dump) == raw()
    assert "9007199254740993" in page, "long numbers keep every digit"
    assert "k-<1>" in page, "once unescaped"
    assert "k-<1>" not in visitor.get(f"/s/{mine}/messages/{ID}/").content.decode()


def test_what_no_one_reports_is_not_made_up(visitor: Client, port: FakePort, mine: str) -> None:
    show(port, mine, {"id": ID, "record": answer(), "others": [], "why": None})
    text = said(one(visitor, mine))
    for sentence in (
        "Groups that read this topic: unknown (not reported).",
        "File size: unknown (not reported by the broker).",
        "Not reported.",
        "created by its producer",
        "stored",
    ):
        assert sentence in text
    nothing_heard = life(deliveries=None, pulls=None, given=None) | {"complete": False, "known_from_ms": None}
    show(port, mine, {"id": ID, "record": answer(life=nothing_heard), "others": [], "why": None})
    text = said(one(visitor, mine))
    assert "Listener results: unknown (not reported)." in text
    assert "delivered to a listener" not in text


def test_a_life_is_reported_in_the_order_of_time(visitor: Client, port: FakePort, mine: str) -> None:
    show(port, mine, {"id": ID, "record": answer(life=life()), "others": [], "why": None})
    page = one(visitor, mine)
    line = said(page.split('class="lifeline"')[1].split("</ol>")[0])
    order = ["created by its producer", "stored", "#31", "delivered to a listener", "A", "retry later", "200 ms", "#40"]
    at = [line.index(text) for text in order]
    assert at == sorted(at)
    assert "offset committed past the message" in said(page)
    assert "no longer in the journal's memory" not in page


def test_what_the_memory_no_longer_holds_is_said(visitor: Client, port: FakePort, mine: str) -> None:
    reported = life(deliveries=[]) | {"complete": False, "skipped": True, "linked": False}
    show(port, mine, {"id": ID, "record": answer(life=reported), "others": [], "why": None})
    text = said(one(visitor, mine))
    assert "are recorded from 02:42:17.000 (event #1)" in text
    assert "The journal omits details of busy seconds" in text
    assert "Without a unique key, the retry copies of this message cannot be found." in text


def test_the_life_is_a_panel_of_its_own(visitor: Client, port: FakePort, mine: str) -> None:
    show(port, mine, {"id": ID, "record": answer(life=life()), "others": [], "why": None})
    part = visitor.get(f"/s/{mine}/part/life/", {"id": ID}).content.decode()
    assert 'class="lifeline"' in part
    assert "<html" not in part
    assert "No query possible" in visitor.get(f"/s/{mine}/part/life/").content.decode()


@pytest.mark.parametrize(
    ("why", "sentence"),
    [
        ({"code": "not_indexed"}, "It is not an offset ID"),
        ({"code": "other_broker", "address": "1.2.3.4:5", "known": "127.0.0.1:1"}, "points to a broker at 1.2.3.4:5"),
        (
            {"code": "deleted", "broker": "broker-a", "physical_offset": "1024", "low": "4096", "high": "9999"},
            "Its log now begins at 4\u2009096",
        ),
        ({"code": "something_new"}, "something_new"),
    ],
)
def test_a_message_that_is_not_there_says_why(
    visitor: Client, port: FakePort, mine: str, why: dict[str, Any], sentence: str
) -> None:
    show(port, mine, {"id": "x y", "record": None, "others": [], "why": why}, "id=x%20y")
    page = visitor.get(f"/s/{mine}/messages/x%20y/")
    assert page.status_code == 200
    assert sentence in unescape(page.content.decode())


def test_a_compressed_body_no_one_here_unpacks_is_said(visitor: Client, port: FakePort, mine: str) -> None:
    data = raw(b"\x28\xb5\x2f\xfd", sys_flag=0x201)  # ZSTD, as RocketMQ 5 may write it
    show(port, mine, {"id": ID, "record": answer(data), "others": [], "why": None})
    assert "The body is compressed with ZSTD; decompression is not supported here." in one(visitor, mine)


def test_the_form_of_a_search_keeps_the_field(visitor: Client, mine: str) -> None:
    page = visitor.get(f"/s/{mine}/messages/?s-by=time&s-topic=orders&s-field=/who/id&s-value=42").content.decode()
    assert re.search(r'name="field" value="/who/id"', page)
    assert re.search(r'name="value" value="42"', page)


def test_a_search_says_how_many_bodies_it_did_not_compare(visitor: Client, port: FakePort, mine: str) -> None:
    counts = {"scanned": 9, "scanned_in_all": 9, "found_in_all": 0, "of": 9, "cursor": None, "more": False}
    port.answers = {"by": "time", "rows": [], "not_compared": 2, **counts}
    page = visitor.get(f"/s/{mine}/ask/find-messages/?topic=orders&field=/a").content.decode()
    assert "2 bodies were not compared: over 64 KiB, nested too deep, or damaged." in page


# Doing something with it.


def test_a_copy_and_one_more_consumption_are_asked_for_by_its_place(visitor: Client, port: FakePort, mine: str) -> None:
    show(port, mine, {"id": ID, "record": answer(), "others": [], "why": None})
    page = one(visitor, mine)
    forms = [
        dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))
        for form in re.findall(r"<form.*?</form>", page, re.S)
        if 'name="offset"' in form
    ]
    assert [form["action"] for form in forms] == ["ResendMessage", "ConsumeOnce"]
    for form in forms:
        assert (
            visitor.post(
                f"/s/{mine}/actions/", {**form, "client_id": "A"} if form["action"] == "ConsumeOnce" else form
            ).status_code
            == 204
        )
    place = {"topic": "orders", "broker": "broker-a", "queue_id": 3, "offset": 2**60}
    assert [action for _, action, _ in port.acted] == [ResendMessage(**place), ConsumeOnce(**place, client_id="A")]


def test_a_refused_action_stands_beside_its_button(visitor: Client, port: FakePort, mine: str) -> None:
    port.refuse["act"] = ActionRefused(
        409,
        "{broker} has no member {client} now.",
        "Choose a running member.",
        field="client_id",
        broker="broker-a",
        client="B",
    )
    fields = {
        "action": "ConsumeOnce",
        "topic": "orders",
        "broker": "broker-a",
        "queue_id": "3",
        "offset": "1",
        "client_id": "B",
    }
    refused = visitor.post(f"/s/{mine}/actions/", fields)
    assert refused.status_code == 409
    assert "broker-a has no member B now." in refused.content.decode()


def test_who_may_only_watch_is_informed(anonymous: Client, port: FakePort, mine: str) -> None:
    show(port, mine, {"id": ID, "record": answer(), "others": [], "why": None})
    page = one(anonymous, mine)
    assert page.count("You can watch this sandbox, but not change it") >= 2


def test_the_pages_are_chinese_too(visitor: Client, port: FakePort, mine: str) -> None:
    show(port, mine, {"id": ID, "record": answer(life=life()), "others": [], "why": None})
    page = visitor.get(f"/s/{mine}/messages/{ID}/", headers={"accept-language": "zh-hans"}).content.decode()
    assert "提交位点已越过这条消息" in page
    assert "Storage location" not in page


@pytest.mark.django_db(transaction=True)
def test_the_engine_answers_for_a_real_message(real_engine: Any, client: Client) -> None:
    slug = str(client.post("/new/", {"template": "index"})["Location"]).split("/")[2]
    until(lambda: len(client.get(f"/s/{slug}/messages/?topic=orders&queue=broker-a%3A0").context["rows"]) >= 20)
    place = "topic=orders&queue=broker-a:0&offset=0"
    row = client.get(f"/api/sandboxes/{slug}/ask/find-messages?{place}").json()["rows"][0]
    page = client.get(f"/s/{slug}/messages/{row['msg_id']}/")
    assert page.context["record"]["message"]["keys"] == row["keys"]
    assert page.context["entry"]["position"] == "0"
    by_key = client.get(f"/s/{slug}/messages/{row['unique_key']}/")
    assert by_key.context["record"]["physical_offset"] == row["physical_offset"]
    text = client.get(f"/s/{slug}/ask/find-messages/", {"topic": "orders", "key": row["keys"]}).content.decode()
    assert row["msg_id"] in text
    refused = client.get(f"/s/{slug}/ask/find-messages/", {"topic": "orders", "queue": "broker-a:0", "offset": "9999"})
    assert refused.status_code == 422
    assert "has no entry 9999" in refused.content.decode()


def test_a_channel_with_filters_belongs_to_its_sandbox() -> None:
    assert slug_of("messages/demo?topic=orders&key=a%2Fb") == "demo"
    assert slug_of("messages/demo") == "demo"
    assert slug_of("message/demo?id=1") is None


def test_the_same_filters_are_one_channel_however_they_are_written() -> None:
    queries = ({"key": "k", "topic": "orders"}, {"topic": "orders", "key": " k ", "tag": "", "colour": "red"})
    assert {channel(Place("demo", {}, query)) for query in queries} == {"messages/demo?topic=orders&key=k"}
