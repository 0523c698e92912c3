"""Registrations as brokers with `compressedRegister` send them."""

import struct
import zlib

import pytest

from sandbox.remoting.bodies import DataVersion, RegisterBrokerBody, TopicConfig, TopicConfigTable, packed_registration
from sandbox.remoting.bodies.packed_registration import pack, unpack
from sandbox.remoting.fields import Malformed


def counted(*pieces: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(piece)) + piece for piece in pieces)


def test_a_stream_as_rocketmq_writes_it_is_read() -> None:
    plain = counted(b'{"counter":7,"timestamp":1700000000000}') + struct.pack(">i", 2)
    plain += counted(b"orders 4 8 6 SINGLE_TAG", b"news 1 1 4 MULTI_TAG", b"[]")
    table = unpack(zlib.compress(plain)).table
    assert table.version == DataVersion(7, 1_700_000_000_000)
    assert table.topics == {"orders": TopicConfig("orders", 4, 8, 6), "news": TopicConfig("news", 1, 1, 4, "MULTI_TAG")}


def test_what_is_packed_is_unpacked() -> None:
    body = RegisterBrokerBody(TopicConfigTable(DataVersion(1, 2), {"T": TopicConfig("T", 4, 4, 6)}))
    assert unpack(pack(body)) == body


@pytest.mark.parametrize(
    "data",
    [
        b"no zlib",
        zlib.compress(b""),
        zlib.compress(b"\x00\x00\x00\x05{}"),
        zlib.compress(b"\xff\xff\xff\xff"),
        zlib.compress(counted(b"{}") + struct.pack(">i", 2**31 - 1)),
        zlib.compress(b"x" * 100)[:-5],
        zlib.compress(counted(b"{}") + struct.pack(">i", 1) + counted(b"T x 4 6 SINGLE_TAG")),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        unpack(data)


def test_a_small_body_cannot_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_registration, "MAX_PLAIN_BYTES", 1_000)
    with pytest.raises(Malformed, match=r"grows over 1000 bytes"):
        unpack(zlib.compress(b"\x00" * 10_000))
