"""The bytes between master and slave."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.kernel.errors import ProtocolViolation
from sandbox.store.ha_wire import Block, BlockDecoder, OffsetDecoder, encode_block, encode_offset
from tests.unit.store.replicas import Pair, RawSlave

HEARTBEAT_BYTES = 12


def test_a_block_is_where_it_belongs_how_long_it_is_and_the_bytes() -> None:
    assert encode_block(4096, b"abc") == struct.pack(">qi", 4096, 3) + b"abc"


def test_a_heartbeat_has_twelve_bytes() -> None:
    assert encode_block(1 << 40, b"") == struct.pack(">qi", 1 << 40, 0)


def test_a_slave_speaks_in_longs() -> None:
    assert encode_offset(7) == b"\0\0\0\0\0\0\0\x07"


def test_of_several_offsets_the_last_whole_one_counts() -> None:
    decoder = OffsetDecoder()
    assert decoder.feed(encode_offset(1) + encode_offset(2) + b"\0\0\0") == 2
    assert decoder.feed(b"\0\0\0") is None
    assert decoder.feed(b"\0\x09") == 9


@given(st.lists(st.tuples(st.integers(0, 1 << 62), st.binary(max_size=40)), max_size=6), st.randoms())
def test_blocks_arrive_whole_however_the_stream_is_cut(blocks: list[tuple[int, bytes]], chance: object) -> None:
    stream = b"".join(encode_block(offset, data) for offset, data in blocks)
    decoder, found, at = BlockDecoder(), [], 0
    while at < len(stream):
        size = chance.randint(1, 17)  # type: ignore[attr-defined]
        found += decoder.feed(stream[at : at + size])
        at += size
    assert found == [Block(offset, data) for offset, data in blocks]


@pytest.mark.parametrize("head", [struct.pack(">qi", 0, -1), struct.pack(">qi", 0, 1 << 30), struct.pack(">qi", -1, 0)])
def test_what_no_master_sends_ends_the_connection(head: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        BlockDecoder().feed(head)


def test_a_new_slave_is_sent_the_master_s_last_file_after_a_heartbeat() -> None:
    pair = Pair()
    pair.put(40)  # more than two files of 4096 bytes
    assert len(pair.master.log.files.files) == 3
    slave = RawSlave(pair)
    pair.pass_s(5.1)
    slave.say(encode_offset(0))
    [beat, *blocks] = BlockDecoder().feed(slave.bytes)
    last = pair.master.log.files.files[-1]
    assert beat == Block(last.base, b"")
    assert len(slave.heard[0][1]) == HEARTBEAT_BYTES
    assert [block.physical_offset for block in blocks] == [last.base]
    assert len(blocks[0].data) == last.wrote


def test_no_block_has_more_than_32_kib_nor_crosses_a_file() -> None:
    pair = Pair(commit_log_file_bytes=100_000, max_message_bytes=20_000)
    slave = RawSlave(pair)
    slave.say(encode_offset(0))
    pair.put(11, body=b"x" * 19_000)
    for _ in range(20):
        pair.pass_s(0.1)
        slave.say(encode_offset(sum(len(block.data) for block in BlockDecoder().feed(slave.bytes))))
    blocks = [block for block in BlockDecoder().feed(slave.bytes) if block.data]
    assert max(len(block.data) for block in blocks) == 32_768
    assert all(
        block.physical_offset // 100_000 == (block.physical_offset + len(block.data) - 1) // 100_000 for block in blocks
    )
    sent = b"".join(block.data for block in blocks)
    assert len(sent) == pair.master.max_physical_offset
    assert 100_000 in {block.physical_offset for block in blocks}, "the blank tail of the first file was sent too"


def test_the_master_beats_after_five_seconds_without_a_write() -> None:
    pair = Pair()
    slave = RawSlave(pair)
    pair.put()
    slave.say(encode_offset(0))
    pair.pass_s(0.2)
    sent_at, _ = slave.heard[-1]
    pair.pass_s(5.2)
    beat_at, beat = slave.heard[-1]
    assert len(beat) == HEARTBEAT_BYTES
    assert 5.0 < beat_at - sent_at < 5.1
    assert BlockDecoder().feed(beat) == [Block(pair.master.max_physical_offset, b"")]


def test_the_master_leaves_a_slave_that_is_silent_for_twenty_seconds() -> None:
    pair = Pair()
    slave = RawSlave(pair)
    slave.say(encode_offset(0))
    pair.pass_s(19.9)
    assert slave.closed_at is None
    pair.pass_s(0.2)
    assert slave.closed_at is not None


def test_the_master_leaves_a_slave_that_claims_more_than_there_is_but_never_at_the_first_word() -> None:
    pair = Pair()
    pair.put()
    slave = RawSlave(pair)
    slave.say(encode_offset(1_000_000))
    assert slave.closed_at is None
    slave.say(encode_offset(1_000_000))
    assert slave.closed_at is not None


def test_no_more_is_under_way_than_socket_buffers_hold() -> None:
    pair = Pair(commit_log_file_bytes=1 << 20, max_message_bytes=20_000)
    slave = RawSlave(pair)
    pair.put(20, body=b"x" * 19_000)
    slave.say(encode_offset(0))
    pair.pass_s(1)
    assert sum(len(block.data) for block in BlockDecoder().feed(slave.bytes)) == 128 * 1024
