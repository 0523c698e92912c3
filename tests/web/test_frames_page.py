"""The page of frames: links, the list, a frame's fields beside its bytes."""

import re
from typing import Any

import pytest
from django.test import Client

from queueviz.boards.frames import HEX_BYTES, lines_of
from sandbox.control.readings import Reading
from tests.web.fake_port import FakePort

LINK = "A~broker-a"
FIELDS = [
    {"name": "length", "start": 0, "end": 4, "value": "20", "depth": 0, "means": None},
    {"name": "header", "start": 4, "end": 24, "value": "", "depth": 0, "means": None},
    {"name": "code", "start": 5, "end": 9, "value": "11", "depth": 1, "means": None},
]
ROW = {
    "at_ms": 1_795_142_537_350,
    "from": "A",
    "to": "broker-a",
    "there": True,
    "kind": "request",
    "request_code": 11,
    "name": "PULL_MESSAGE",
    "opaque": 52,
    "bytes": 351,
    "code": None,
    "status": None,
    "remark": None,
    "took_ms": None,
    "pair": None,
}


def frame(data: bytes, **more: Any) -> dict[str, Any]:
    return {
        "no": 7,
        **ROW,
        "bytes": len(data),
        "kept": len(data),
        "hex": data.hex(),
        "fields": FIELDS,
        "body": None,
        **more,
    }


def test_every_byte_stands_in_the_dump_with_the_fields_it_lies_in() -> None:
    lines = lines_of(frame(bytes(range(0x20, 0x38))))
    assert [line["at"] for line in lines] == ["000000", "000010"]
    runs = [(run.fields, run.text) for line in lines for run in line["runs"]]
    assert runs == [("0", ' !"#'), ("1", "$"), ("1 2", "%&'("), ("1", ")*+,-./"), ("1", "01234567")]
    assert " ".join(run.hex for line in lines for run in line["runs"]) == bytes(range(0x20, 0x38)).hex(" ")


def test_a_long_frame_is_drawn_to_a_limit() -> None:
    assert len(lines_of(frame(b"\0" * 3 * HEX_BYTES))) == HEX_BYTES // 16


@pytest.fixture
def watched(visitor: Client, mine: str, port: FakePort) -> tuple[Client, str, FakePort]:
    """A link with one frame on it."""
    links = {LINK: {"a": "A", "b": "broker-a", "connections": 1, "seen": 1}}
    data = {
        "links": links,
        "link": {"name": LINK, "a": "A", "b": "broker-a", "seen": 1, "rest": 0},
        "frames": {"7": ROW},
    }
    port.boards[f"wire/{mine}/A~broker-a"] = Reading(5, 1_000, 1, "7f3a", data)
    port.boards[f"wire/{mine}"] = Reading(5, 1_000, 1, "7f3a", {"links": links, "link": None, "frames": {}})
    return visitor, mine, port


def test_without_a_link_there_are_the_links_to_choose_from(watched: tuple[Client, str, FakePort]) -> None:
    client, slug, _ = watched
    text = client.get(f"/s/{slug}/wire/").content.decode()
    assert 'href="?link=A~broker-a"' in text
    assert "Select a network link" in text
    assert 'id="frames"' not in text


def test_with_a_link_its_commands_are_a_table(watched: tuple[Client, str, FakePort]) -> None:
    client, slug, _ = watched
    text = client.get(f"/s/{slug}/wire/", {"link": LINK}).content.decode()
    body = text.split('data-list="frames"')[1].split("</tbody>")[0]
    said = re.sub(r"<[^>]+>", " ", body).split()
    assert {"02:42:17.350", "PULL_MESSAGE", "11", "52", "351", "request", "broker-a"} <= set(said)


def test_a_link_no_one_has_gets_a_sentence(watched: tuple[Client, str, FakePort]) -> None:
    client, slug, _ = watched
    page = client.get(f"/s/{slug}/wire/", {"link": "A~nowhere"})
    assert page.status_code == 200
    assert "A~nowhere is not an open network link" in page.content.decode()


def test_a_frame_is_answered_with_its_fields_and_its_bytes(watched: tuple[Client, str, FakePort]) -> None:
    client, slug, port = watched
    body = {"bytes": 3, "whole": True, "kind": "text", "text": "<b>", "records": []}
    port.answers = {"link": {}, "frame": frame(b"\0" * 24, body=body), "pair": {"no": 8, **ROW, "kind": "answer"}}
    text = client.get(f"/s/{slug}/ask/frames/", {"link": LINK, "no": "7"}).content.decode()
    assert text.count('data-part="') == len(FIELDS)
    assert 'data-in="1 2"' in text
    assert 'data-no="8"' in text
    assert "&lt;b&gt;" in text
    assert (port.asked[-1].link, port.asked[-1].no) == (LINK, 7)  # type: ignore[union-attr]


def test_the_engine_answers_for_a_real_link(real_engine: Any, client: Client) -> None:
    slug = str(client.post("/new/", {"template": "payments"})["Location"]).split("/")[2]
    page = client.get(f"/s/{slug}/wire/")
    assert "broker-a~ns-1" in page.context["links"]
    watched = client.get(f"/s/{slug}/wire/", {"link": "broker-a~ns-1"})
    assert watched.context["link"]["name"] == "broker-a~ns-1"
    gone = client.get(f"/s/{slug}/ask/frames/", {"link": "broker-a~ns-1", "no": "999"})
    assert gone.status_code == 422
    assert "Frame 999 is no longer stored." in gone.content.decode()
