"""The JSON of a browser's interpreter is that of a server's: the same bytes, the same values, the same refusals."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sandbox.kernel import json_msgspec

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
OPTIONS = (
    (orjson.OPT_INDENT_2, json_msgspec.OPT_INDENT_2),
    (orjson.OPT_SORT_KEYS, json_msgspec.OPT_SORT_KEYS),
    (orjson.OPT_APPEND_NEWLINE, json_msgspec.OPT_APPEND_NEWLINE),
)


class Word(StrEnum):
    READ = "read"


class Place(NamedTuple):
    turn: int
    ms: int


@dataclass(frozen=True)
class Row:
    at_ms: int
    share: float


def plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    raise TypeError(type(value).__name__)


@given(VALUES, st.lists(st.sampled_from(OPTIONS), unique=True))
@example({"far": 1e16, "text": "1e5", "deep": [6.5e300, -2e21]}, [])
def test_a_value_is_written_in_the_same_bytes(value: Any, options: list[tuple[int, int]]) -> None:
    theirs = orjson.dumps(value, option=sum(one for one, _ in options))
    assert json_msgspec.dumps(value, option=sum(one for _, one in options)) == theirs


@pytest.mark.parametrize(
    "value", [Word.READ, Row(3, 1e18), {"rows": [Row(1, 0.1)]}, [Place(1, 2), {"at": Place(3, 4)}]]
)
def test_a_value_of_the_engine_is_written_in_the_same_bytes(value: Any) -> None:
    assert json_msgspec.dumps(value, default=plain) == orjson.dumps(value, default=plain)


@given(st.dictionaries(st.integers(0, 2**31), st.integers()))
def test_a_number_as_a_key_becomes_text(value: dict[int, int]) -> None:
    small = {key: one % 2**60 for key, one in value.items()}
    theirs = orjson.dumps(small, option=orjson.OPT_NON_STR_KEYS)
    assert json_msgspec.dumps(small, option=json_msgspec.OPT_NON_STR_KEYS) == theirs


@given(VALUES)
def test_what_is_written_is_read_as_the_same_value(value: Any) -> None:
    text = orjson.dumps(value)
    assert repr(json_msgspec.loads(text)) == repr(orjson.loads(text))


@pytest.mark.parametrize(
    "text", [b"18446744073709551616", b'{"n":[-9223372036854775809]}', b'"1234567890123456789012"']
)
def test_an_integer_of_more_than_64_bits_is_read_as_a_float(text: bytes) -> None:
    assert repr(json_msgspec.loads(text)) == repr(orjson.loads(text))


@pytest.mark.parametrize(
    "text",
    [b"", b"NaN", b"[1,]", b'"\xff"', '"\\ud800"', b"\xef\xbb\xbf1", b"1e400", b"1" * 400, b"[1]x", b"[" * 5000, None],
)
def test_what_one_refuses_the_other_refuses(text: Any) -> None:
    for read in (orjson.loads, json_msgspec.loads):
        with pytest.raises(ValueError):
            read(text)


@pytest.mark.parametrize("value", ["\ud800", {None: 1}, object(), [Place]])
def test_what_has_no_form_in_json_is_refused(value: Any) -> None:
    for write in (orjson.dumps, json_msgspec.dumps):
        with pytest.raises(TypeError):
            write(value)
