"""The compressed body of a registration, for brokers with `compressedRegister` (spec remoting 2.5).

RocketMQ: `RegisterBrokerBody`.
"""

import struct
import zlib

from sandbox.remoting.bodies.topics import DataVersion, RegisterBrokerBody, TopicConfig, TopicConfigTable
from sandbox.remoting.fields import Malformed
from sandbox.remoting.json_body import dumps, reading

MAX_PLAIN_BYTES = 1024 * 1024  # limit of a decompressed body: some fifteen thousand topics
_LENGTH = struct.Struct(">i")


def pack(body: RegisterBrokerBody) -> bytes:
    """Encode a registration.  Fields without a place in a topic's line (sys flag, order) are lost, as in RocketMQ."""
    version, topics = body.table
    parts = [_counted(version.encode()), _LENGTH.pack(len(topics))]
    parts += [
        _counted(f"{t.topic} {t.read_queues} {t.write_queues} {t.permission} {t.filter_type}".encode())
        for t in topics.values()
    ]
    return zlib.compress(b"".join([*parts, _counted(dumps(body.filter_servers))]), zlib.Z_BEST_COMPRESSION)


def unpack(data: bytes) -> RegisterBrokerBody:
    """Decode a registration; invalid topic lines are left out.  Raises Malformed."""
    with reading("packed registration"):
        plain = _Plain(_inflated(data))
        version = DataVersion.decode(plain.piece())
        topics = {topic.topic: topic for topic in (_topic(plain.piece()) for _ in range(plain.count())) if topic}
        return RegisterBrokerBody(TopicConfigTable(version, topics))


class _Plain:
    """A reader of strings that each follow their length."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def count(self) -> int:
        number: int = _LENGTH.unpack(self._take(_LENGTH.size))[0]
        return number

    def piece(self) -> bytes:
        return self._take(self.count())

    def _take(self, size: int) -> bytes:
        if not 0 <= size <= len(self._data) - self._at:
            raise ValueError(f"it ends before {size} bytes more")
        self._at += size
        return self._data[self._at - size : self._at]


def _inflated(data: bytes) -> bytes:
    inflate = zlib.decompressobj()
    try:
        plain = inflate.decompress(data, MAX_PLAIN_BYTES)
    except zlib.error as error:
        raise Malformed(f"the body is no packed registration: {error}") from None
    if not inflate.eof:
        raise Malformed(f"a packed registration ends too early, or grows over {MAX_PLAIN_BYTES} bytes")
    return plain


def _topic(line: bytes) -> TopicConfig | None:
    parts = line.decode().split(" ")
    if len(parts) != 5:
        return None
    name, read, write, permission, kind = parts
    return TopicConfig(name, int(read), int(write), int(permission), kind)


def _counted(piece: bytes) -> bytes:
    return _LENGTH.pack(len(piece)) + piece
