"""Batch bodies."""

import pytest

from sandbox.kernel.errors import CorruptRecord
from sandbox.message.batch import BatchItem, decode, encode, join_properties

ITEMS = [BatchItem(0, b"one", b"KEYS\x01a"), BatchItem(7, b"", b""), BatchItem(-1, b"three", b"TAGS\x01t")]


def test_a_batch_reads_back_as_it_was_written() -> None:
    data = encode(ITEMS)
    assert decode(data, 3) == ITEMS
    assert len(data) == sum(22 + len(item.body) + len(item.properties) for item in ITEMS)


def test_of_too_many_items_one_more_than_asked_for_is_read() -> None:
    assert decode(encode(ITEMS), 1) == ITEMS[:2]


def test_no_cut_of_a_batch_is_taken_for_a_whole_one() -> None:
    data = encode(ITEMS)
    ends = {len(encode(ITEMS[:n])) for n in range(4)}
    for length in set(range(len(data))) - ends:
        with pytest.raises(CorruptRecord):
            decode(data[:length], 3)


def test_an_item_whose_length_disagrees_is_refused() -> None:
    data = bytearray(encode(ITEMS[:1]))
    data[3] += 1
    with pytest.raises(CorruptRecord, match="says 32 bytes, its fields take 31"):
        decode(bytes(data), 3)


@pytest.mark.parametrize(
    ("item", "shared", "joined"),
    [
        (b"A\x01b", b"C\x01d", b"A\x01b\x02C\x01d"),
        (b"A\x01b\x02", b"C\x01d", b"A\x01b\x02C\x01d"),
        (b"", b"C\x01d", b"C\x01d"),
        (b"A\x01b", b"", b"A\x01b"),
    ],
)
def test_properties_of_item_and_batch_are_joined_with_one_separator(item: bytes, shared: bytes, joined: bytes) -> None:
    assert join_properties(item, shared) == joined
