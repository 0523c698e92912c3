"""Property lookup without decoding, tag filters, compression, message ids."""

import pytest

from sandbox.kernel.errors import CorruptRecord
from sandbox.message import compression, msg_id, properties, string_hash, sys_flag
from sandbox.message.filter import EVERYTHING, parse_tags
from sandbox.message.string_hash import KeyHasher, index_key_hash


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"KEYS\x01a\x02X\x01b", b"a"),
        (b"X\x01b\x02KEYS\x01a", b"a"),
        (b"KEYS\x01old\x02X\x01b\x02KEYS\x01new\x02", b"new"),
        (b"KEYS\x01old\x02KEYS\x01", b"old"),
        (b"MYKEYS\x01a\x02X\x01KEYS\x01q", None),
        (b"KEYS\x01", None),
        (b"", None),
    ],
)
def test_a_property_is_found_without_decoding_the_rest(text: bytes, value: bytes | None) -> None:
    assert properties.find(text, b"KEYS") == value
    assert properties.dispatched(text) == (None, None, value)
    assert properties.decode(text.decode()).get("KEYS", "").encode() == (value or b"")


def test_the_three_properties_of_dispatch_are_found_together() -> None:
    text = b"UNIQ_KEY\x01U1\x02WAIT\x01true\x02KEYS\x01a b\x02TAGS\x01t\x02UNIQ_X\x01no"
    assert properties.dispatched(text) == (b"t", b"U1", b"a b")


@pytest.mark.parametrize("key", ["", "a", "ab", "abc", "order-000123", "键", "键abc", "x" * 300, "a\U0001f600b"])
def test_remembered_key_parts_never_change_a_hash(key: str) -> None:
    hasher = KeyHasher("topic")
    raw = key.encode("utf-8", "replace")
    expected = index_key_hash("topic#" + raw.decode())
    assert [hasher.hash(raw) for _ in range(3)] == [expected] * 3


def test_the_memory_of_key_parts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(string_hash, "_HEAD_ENTRIES", 4)
    monkeypatch.setattr(string_hash, "_CACHE_ENTRIES", 4)
    hasher = KeyHasher("topic")
    keys = [f"{n:06}" for n in range(0, 50_000, 997)]
    assert [hasher.hash(key.encode()) for key in keys] == [index_key_hash(f"topic#{key}") for key in keys]
    assert len(hasher._heads) <= 4


def test_a_filter_asks_codes_first_and_text_last() -> None:
    wanted = parse_tags("AaAa || other")
    assert wanted.codes is not None
    assert string_hash.tags_code("BBBB") in wanted.codes  # a collision passes the broker
    assert not wanted.wants({"TAGS": "BBBB"})  # and not the client
    assert wanted.wants({"TAGS": "AaAa"})
    assert EVERYTHING.wants({})


def test_a_compressed_body_comes_back_by_its_flags() -> None:
    body = b"again and again " * 600
    small = compression.compress(body)
    assert len(small) < len(body)
    assert compression.decompress(small, compression.ZLIB_FLAGS) == body
    assert compression.decompress(small, sys_flag.COMPRESSED) == body  # written before the type had bits
    assert compression.decompress(body, 0) is body


def test_a_body_that_cannot_be_decompressed_says_why() -> None:
    with pytest.raises(CorruptRecord, match="LZ4"):
        compression.decompress(b"x", sys_flag.COMPRESSED | sys_flag.COMPRESSION_LZ4)
    with pytest.raises(CorruptRecord, match="of 1 bytes"):
        compression.decompress(b"x", compression.ZLIB_FLAGS)


@pytest.mark.parametrize("text", ["", "7F00", "Z" * 32, "7F 0" * 8])
def test_what_is_no_message_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        msg_id.decode(text)
