"""The reader of fastjson's almost-JSON."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.kernel.loose_json import MAX_DEPTH, MAX_REFERENCES, LooseJsonError, canonical, loads

TEXTS = st.text(max_size=20).filter(lambda text: text != "$ref")
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=15,
)


def fastjson(value: Any, *, bare_numbers: bool) -> str:
    """Write as fastjson's pretty printer does: tabs, line breaks before string keys, numbers as keys unquoted."""
    if isinstance(value, dict):
        pairs = []
        for key, inner in value.items():
            bare = bare_numbers and key.isascii() and key.isdigit()
            pairs.append((key if bare else "\n\t" + json.dumps(key)) + ":" + fastjson(inner, bare_numbers=bare_numbers))
        return "{" + ",".join(pairs) + "\n}\t "
    if isinstance(value, list):
        return "[" + ",\n".join(fastjson(inner, bare_numbers=bare_numbers) for inner in value) + " ]"
    return json.dumps(value)


@given(VALUES)
def test_strict_json_is_read_as_the_standard_library_reads_it(value: Any) -> None:
    assert loads(json.dumps(value)) == value
    assert loads(json.dumps(value, ensure_ascii=False).encode()) == value


@given(VALUES)
def test_what_fastjson_writes_for_a_value_is_read_back_as_that_value(value: Any) -> None:
    assert loads(fastjson(value, bare_numbers=True) + " \t\n") == value


@given(st.dictionaries(st.integers(-(2**31), 2**31), st.integers(0, 2**62), min_size=1))
def test_unquoted_numbers_as_keys_become_text(offsets: dict[int, int]) -> None:
    text = '{"offsetTable":{"T@G":{' + ",".join(f"{k}:{v}" for k, v in offsets.items()) + "\n\t\t}}}"
    assert loads(text)["offsetTable"]["T@G"] == {str(k): v for k, v in offsets.items()}


@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=3), VALUES)
def test_an_object_as_key_becomes_its_canonical_text(key: dict[str, Any], value: Any) -> None:
    text = "{" + fastjson(key, bare_numbers=True) + ":" + fastjson(value, bare_numbers=True) + ",7:1}"
    assert loads(text) == {canonical(key): value, "7": 1}


def test_the_order_of_fields_in_an_object_key_does_not_matter() -> None:
    one, other = loads('{{"queueId":2,"topic":"T"}:1,0:0}'), loads('{{"topic":"T" , "queueId":2}:1,0:0}')
    assert list(one) == list(other) == ['{"queueId":2,"topic":"T"}', "0"]


@given(st.text(max_size=60) | st.text(alphabet='{}[]":,0123456789 \t-truefalsn$.\\', max_size=60))
def test_any_text_is_a_value_or_a_clear_error(text: str) -> None:
    with suppress(LooseJsonError):  # and nothing else
        loads(text)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_a_clear_error(data: bytes) -> None:
    with suppress(LooseJsonError):
        loads(data)


def test_a_reference_yields_the_value_it_names() -> None:
    refs = '"b":{"$ref":"$.a[1]"},"c":[{"$ref":"$.a"}],"d":{"$ref":"$[\'a\'][0]"}'
    value = loads('{"a":[{"topic":"T"},{"topic":"U"}],' + refs + "}")
    assert value["b"] is value["a"][1]
    assert value["c"] == [value["a"]]
    assert value["d"] == {"topic": "T"}


PATHS = ["$", "..", "@", "$.b", "$.list", "$.nothing", "$.list[9]", "$.text.x", "a.b", "$..a", ""]


@pytest.mark.parametrize("path", PATHS)
def test_a_reference_that_is_circular_or_names_nothing_is_refused(path: str) -> None:
    with pytest.raises(LooseJsonError, match="reference"):
        loads(json.dumps({"a": {"$ref": path}, "b": {"$ref": "$.text"}, "list": [{"$ref": "$.text"}], "text": "t"}))


def test_references_cannot_be_piled_up() -> None:
    pile = {"a0": ["x"] * 10} | {f"a{i}": [{"$ref": f"$.a{i - 1}"}] * 10 for i in range(1, 20)}
    with pytest.raises(LooseJsonError, match="references in it"):
        loads(json.dumps(pile))
    with pytest.raises(LooseJsonError, match="more than"):
        loads(json.dumps({"a": "x", "b": [{"$ref": "$.a"}] * (MAX_REFERENCES + 1)}))


@pytest.mark.parametrize(("open_", "close"), [("[", "]"), ('{"a":', "}"), ("{0:", "}"), ("[1,", "]")])
def test_nesting_has_the_same_limit_for_strict_and_loose_text(open_: str, close: str) -> None:
    depth = MAX_DEPTH
    assert loads(open_ * depth + "1" + close * depth)
    with pytest.raises(LooseJsonError, match="nested deeper"):
        loads(open_ * (depth + 1) + "1" + close * (depth + 1))


BROKEN = [
    "",
    " ",
    "{",
    '{"a"',
    "{0 1}",
    "[1,]",
    "{0:1,}",
    "NaN",
    "-Infinity",
    "nul",
    '"abc',
    "[1] x",
    "{:1}",
    "1" * 5000,
    b"\xff\xfe",
    '{"a":1}}',
]


@pytest.mark.parametrize("text", BROKEN)
def test_broken_text_is_refused(text: str | bytes) -> None:
    with pytest.raises(LooseJsonError):
        loads(text)


def test_a_text_over_the_limit_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.kernel.loose_json.MAX_BYTES", 8)
    assert loads(b"[1,2,3]") == [1, 2, 3]
    with pytest.raises(LooseJsonError, match="too many"):
        loads(b"[1,2,3,4]")
