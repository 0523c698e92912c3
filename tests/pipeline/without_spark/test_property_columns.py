"""Property texts as columns are what the engine reads of each text by itself, however odd the texts are."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.message import properties
from sandbox.pipeline.sources.property_columns import MAX_PAIRS, Properties

NAMES = st.sampled_from(["KEYS", "TAGS", "KEYZ", "KEYS2", "attribute1", "attribute2", "é", "x"])
VALUES = st.text(st.characters(min_codepoint=3, codec="utf-8"), min_size=1, max_size=6)
PAIRS = st.dictionaries(NAMES, VALUES, max_size=5).map(
    lambda pairs: "".join(f"{name}\x01{value}\x02" for name, value in pairs.items())
)
ODD = st.lists(st.sampled_from(["\x01", "\x02", "a", "KEYS", "\x00", "é"]), max_size=12).map("".join)


def check(texts: list[str]) -> None:
    read = Properties(pa.array(texts, pa.string()))
    reported = [properties.decode(text) for text in texts]
    assert [dict(row) for row in read.column().to_pylist()] == reported
    assert read.column().type == pa.map_(pa.string(), pa.string())
    assert [len(row) for row in read.column().to_pylist()] == [len(row) for row in reported], "a name stands once"
    for name in ("KEYS", "TAGS", "x"):
        assert read.value(name).to_pylist() == [row.get(name) for row in reported]
        assert read.value(name).type == pa.string()


@settings(deadline=None)  # machines are shared
@given(st.lists(PAIRS, max_size=8))
def test_texts_as_producers_write_them(texts: list[str]) -> None:
    check(texts)


@settings(deadline=None)
@given(st.lists(PAIRS | PAIRS.map(lambda text: text[:-1]), max_size=8))
def test_texts_without_the_last_end_of_a_pair_as_release_5_writes_them(texts: list[str]) -> None:
    check(texts)


@settings(deadline=None)
@given(st.lists(PAIRS | ODD, max_size=6))
def test_texts_of_any_kind(texts: list[str]) -> None:
    check(texts)


def test_a_name_met_twice_keeps_its_last_value() -> None:
    check(["KEYS\x01a\x02TAGS\x01t\x02KEYS\x01b\x02", "KEYS\x01c\x02"])


def test_more_pairs_than_are_compared_with_each_other() -> None:
    check(["".join(f"n{n}\x01v\x02" for n in range(MAX_PAIRS + 5)), "KEYS\x01c\x02"])
