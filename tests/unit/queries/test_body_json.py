"""JSON bodies: digits as they were sent, fields by JSON Pointer, and no body that costs more than its limit."""

import pytest

from sandbox.message import sys_flag as bits
from sandbox.message.compression import compress
from sandbox.queries.rows.body_json import MOST_BYTES, has_field, is_pointer, parse, pointer_of

BODY = b'{"id":9007199254740993,"price":1.10,"who":{"na/me~":"B\xc3\xb6b"},"tags":["a","b"],"paid":true,"note":null}'


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/id", "9007199254740993"),
        ("/price", "1.10"),
        ("/who/na~1me~0", "B\u00f6b"),
        ("/tags/1", "b"),
        ("/paid", "true"),
        ("/note", "null"),
        ("/id", None),
        ("/who", None),
    ],
)
def test_a_field_is_compared_as_text(pointer: str, value: str | None) -> None:
    assert has_field(BODY, 0, pointer, value) is True


@pytest.mark.parametrize(
    ("pointer", "value"),
    [("/price", "1.1"), ("/tags/2", None), ("/tags/-1", None), ("/tags/\u00b2", None), ("/who", "x"), ("/no", None)],
)
def test_other_values_and_absent_fields_do_not_match(pointer: str, value: str | None) -> None:
    assert has_field(BODY, 0, pointer, value) is False


def test_of_two_members_with_one_name_either_matches() -> None:
    assert [has_field(b'{"a":1,"a":2}', 0, "/a", value) for value in ("1", "2", "3")] == [True, True, False]


@pytest.mark.parametrize("body", [b"{0:1}", b"plain", b"\xff\xfe", b"", b"[NaN]", b'"text"'])
def test_a_body_that_is_no_json_has_no_field(body: bytes) -> None:
    assert has_field(body, 0, "/0", None) is False


def test_a_long_body_is_not_compared() -> None:
    body = b'{"a":"' + b"x" * MOST_BYTES + b'"}'
    assert has_field(body, 0, "/a", None) is None
    assert has_field(b"[" * MOST_BYTES, 0, "/0", None) is None, "nor one that is too deep"


def test_a_packed_body_is_compared_up_to_the_limit() -> None:
    flag = bits.COMPRESSED | bits.COMPRESSION_ZLIB
    assert has_field(compress(BODY), flag, "/paid", "true") is True
    assert has_field(compress(b"[" + b" " * MOST_BYTES + b"1]"), flag, "/0", None) is None
    assert has_field(b"torn", flag, "/0", None) is None


def test_a_pointer_names_each_part() -> None:
    assert pointer_of(("who", "na/me~", "0")) == "/who/na~1me~0/0"
    assert [is_pointer(text) for text in ("/a", "/", "/a~1b", "", "a", "/a~2")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_numbers_keep_their_digits() -> None:
    assert repr(parse("[1.10,1e400,-0]")) == "['1.10', '1e400', '-0']"
