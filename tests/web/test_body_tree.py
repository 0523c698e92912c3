"""JSON bodies on the page of a message: a tree with the digits that were sent, and text above its limits."""

import json
import re

import pytest
from django.test import Client

from queueviz.boards.message_body import DEEPEST, MOST_NODES, body_of
from tests.web.fake_port import FakePort
from tests.web.test_messages_page import ID, answer, raw, show

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"id":1}', "json"),
        (b"[]", "json"),
        (b"{0:1}", "text"),
        (b"[NaN]", "text"),
        (b'"text"', "text"),
        (b"plain \xe4\xbd\xa0", "text"),
        (b"\x00\x01", "bytes"),
    ],
)
def test_a_body_is_read_as_what_it_is(body: bytes, kind: str) -> None:
    shown = body_of(body, whole=True)
    assert (shown.kind, shown.text) == (kind, "" if kind == "bytes" else body.decode())
    assert not shown.is_over


def test_a_tree_has_every_member_with_the_digits_that_were_sent() -> None:
    tree = body_of(b'{"id":9007199254740993,"p":1.10,"s":"a","e":{},"l":[true,{"x":null}],"id":2}', whole=True).tree
    assert [(node.name, node.kind, node.text) for node in tree] == [
        ("id", "number", "9007199254740993"),
        ("p", "number", "1.10"),
        ("s", "string", '"a"'),
        ("e", "object", ""),
        ("l", "array", ""),
        ("id", "number", "2"),
    ]
    assert [(node.pointer, node.value) for node in tree[4].children] == [("/l/0", "true"), ("/l/1", None)]
    assert [(node.pointer, node.value) for node in tree[4].children[1].children] == [("/l/1/x", "null")]


def test_signs_that_are_not_printable_stay_escaped() -> None:
    [node] = body_of(rb'{"a\u202e":"\ud800 \u0000 \u4f60"}', whole=True).tree
    assert (node.name, node.text) == ("a\\u202e", '"\\ud800 \\u0000 \u4f60"')
    assert node.value is None, "no address can carry it"


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 50_000,
        b"[" * (DEEPEST + 2) + b"]" * (DEEPEST + 2),
        b"[" + b"1," * MOST_NODES + b"1]",
    ],
)
def test_a_body_over_the_limits_of_a_tree_is_text_and_says_so(body: bytes) -> None:
    shown = body_of(body, whole=True)
    assert (shown.kind, shown.tree, shown.is_over) == ("text", (), True)


def test_a_body_that_was_cut_is_not_called_json() -> None:
    shown = body_of('{"a": "\u4f60'.encode()[:-1], whole=False)
    assert (shown.kind, shown.is_over) == ("text", True)
    assert not body_of(b"plain", whole=False).is_over


def test_a_json_body_is_a_tree_whose_fields_lead_to_a_search(visitor: Client, port: FakePort, mine: str) -> None:
    data = raw(b'{"who":{"id":42,"note":"<b>https://example.org</b>","empty":""}}')
    show(port, mine, {"id": ID, "record": answer(data), "others": [], "why": None})
    page = visitor.get(f"/s/{mine}/messages/{ID}/").content.decode()
    assert "s-by=time&amp;s-topic=orders&amp;s-field=%2Fwho%2Fid&amp;s-value=42" in page
    assert "&lt;b&gt;https://example.org&lt;/b&gt;" in page
    assert 'href="https://example.org' not in page
    assert "s-field=%2Fwho%2Fempty" not in page, "a search for nothing is a search for any value"
    assert page.count("<summary>") >= 1


def test_the_text_of_a_body_is_copied_as_it_was_sent(visitor: Client, port: FakePort, mine: str) -> None:
    body = b'{"a":\r\n  1.10, "b": "</script>"}'
    show(port, mine, {"id": ID, "record": answer(raw(body)), "others": [], "why": None})
    page = visitor.get(f"/s/{mine}/messages/{ID}/").content.decode()
    kept = re.search(r'<script id="body-text" type="application/json">(.*?)</script>', page, re.S)
    assert kept is not None
    assert json.loads(kept[1]) == body.decode()
