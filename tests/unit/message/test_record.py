"""The record: what is written is read, and what is no record is not taken for one."""

import pytest

from sandbox.kernel.errors import CorruptRecord
from sandbox.message import record, sys_flag
from sandbox.message.message import InboundBatch, InboundMessage
from sandbox.message.msg_id import host_bytes

V4, V6 = host_bytes("10.0.0.7", 10911), host_bytes("2001:db8::7", 10911)


def message(
    body: bytes = b"hello", *, flags: int = 0, born_host: bytes = V4, properties: bytes = b"TAGS\x01a"
) -> InboundMessage:
    return InboundMessage("orders", 3, body, properties, 0, flags, 5, 111, born_host, 2, 77)


def test_a_record_reads_back_as_it_was_written() -> None:
    found = record.decode(record.encode(message(), 9, 4096, 222, V4), check_crc=True)
    assert (found.topic, found.queue_id, found.queue_offset, found.physical_offset) == ("orders", 3, 9, 4096)
    assert (found.body, found.properties, found.flag, found.reconsume_times) == (b"hello", {"TAGS": "a"}, 5, 2)
    assert (found.born_ms, found.store_ms, found.prepared_offset) == (111, 222, 77)
    assert found.born_host == found.store_host == "10.0.0.7:10911"
    assert found.store_bytes == record.FIXED_BYTES + 5 + 6 + 6


@pytest.mark.parametrize(
    ("flags", "born", "store"),
    [(sys_flag.BORN_HOST_V6, V6, V4), (sys_flag.STORE_HOST_V6, V4, V6), (sys_flag.HOSTS_V6, V6, V6)],
)
def test_an_ipv6_host_takes_twelve_bytes_more(flags: int, born: bytes, store: bytes) -> None:
    found = record.decode(record.encode(message(flags=flags, born_host=born), 0, 0, 1, store))
    assert ("[" in found.born_host, "[" in found.store_host) == (born is V6, store is V6)
    assert found.store_bytes == record.FIXED_BYTES + 17 + 12 * (len(born) + len(store) - 16) // 12
    assert found.body == b"hello"


@pytest.mark.parametrize("body_sizes", [(0, 5, 300), (7, 7, 7), (0, 0, 0)])
@pytest.mark.parametrize("text", [b"KEYS\x01k%d", b"KEYS\x01k%03d"])
def test_a_batch_is_its_records_side_by_side(body_sizes: tuple[int, ...], text: bytes) -> None:
    batch = [message(b"a" * size, properties=text % size)._replace(flag=n) for n, size in enumerate(body_sizes)]
    topic = record.topic_part("orders")
    sizes = [record.size_of(len(m.body), 6, len(m.properties)) for m in batch]
    starts = [1000, 1000 + sizes[0], 1000 + sizes[0] + sizes[1]]
    joined = record.encode_batch(InboundBatch.of(batch), sizes, topic, 40, starts, 9, V4)
    at = 1000
    for i, (m, size) in enumerate(zip(batch, sizes, strict=True)):
        assert joined[at - 1000 : at - 1000 + size] == record.encode(m, 40 + i, at, 9, V4)
        at += size
    assert [m.queue_offset for m in record.decode_all(joined)] == [40, 41, 42]


@pytest.mark.parametrize(
    ("at", "value", "why"),
    [
        (4, b"\0\0\0\0", "magic"),
        (0, b"\0\0\0\x10", "length"),
        (0, b"\0\0\xff\xff", "length"),
        (84, b"\x7f\xff\xff\xff", "body"),
        (84, b"\xff\xff\xff\xff", "body"),
        (93, b"\x7f", "topic"),
        (100, b"\x7f\xff", "fields"),
        (88, b"HELLO", "CRC"),
    ],
)
def test_a_damaged_record_is_refused_with_the_reason(at: int, value: bytes, why: str) -> None:
    raw = bytearray(record.encode(message(), 0, 0, 1, V4))
    raw[at : at + len(value)] = value
    found = record.examine(bytes(raw), 0, len(raw), check_crc=True)
    assert isinstance(found, record.Broken)
    assert why in found.why
    with pytest.raises(CorruptRecord, match=why):
        record.decode(bytes(raw), check_crc=True)


def test_every_cut_of_a_record_is_refused() -> None:
    raw = record.encode(message(), 0, 0, 1, V4)
    for length in range(len(raw)):
        assert isinstance(record.examine(raw[:length], 0, length, check_crc=False), record.Broken)


def test_a_record_that_knows_its_length_says_it_even_when_broken() -> None:
    raw = bytearray(record.encode(message(), 0, 0, 1, V4))
    raw[93] = 5  # the topic's length
    found = record.examine(bytes(raw), 0, len(raw), check_crc=False)
    assert isinstance(found, record.Broken)
    assert found.size == len(raw)


def test_a_blank_reaches_to_the_end_of_its_file() -> None:
    view = memoryview(bytearray(64))
    record.write_blank(view, 24, 40)
    assert record.examine(view, 24, 64, check_crc=True) == record.Blank(40)
    with pytest.raises(CorruptRecord, match="blank of 40 bytes"):
        record.decode(view, 24)


def test_a_long_topic_name_of_the_second_version_is_read() -> None:
    raw = bytearray(record.encode(message(), 0, 0, 1, V4))
    raw[4:8] = (record.MAGIC_V2 & 0xFFFF_FFFF).to_bytes(4, "big")
    raw[93:94] = b"\0\x06"
    raw[0:4] = len(raw).to_bytes(4, "big")
    found = record.decode(bytes(raw))
    assert (found.topic, found.properties) == ("orders", {"TAGS": "a"})
    assert [(span.at, span.length) for span in record.fields(bytes(raw)) if span.name == "TOPICLEN"] == [(93, 2)]


@pytest.mark.parametrize("flags", [0, sys_flag.HOSTS_V6])
def test_the_fields_of_a_record_cover_every_byte_once(flags: int) -> None:
    host = V6 if flags else V4
    raw = record.encode(message(flags=flags, born_host=host), 0, 0, 1, host)
    spans = record.fields(raw)
    assert [span.at for span in spans] == [sum(s.length for s in spans[:i]) for i in range(len(spans))]
    assert sum(span.length for span in spans) == len(raw)
    body = next(span for span in spans if span.name == "BODY")
    assert raw[body.at : body.at + body.length] == b"hello"


def test_a_topic_name_over_127_bytes_has_no_place() -> None:
    assert len(record.topic_part("t" * 127)) == 128
    with pytest.raises(ValueError, match="128 bytes"):
        record.topic_part("t" * 128)
