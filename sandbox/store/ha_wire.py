"""The replication protocol (spec broker-behaviour 12), independent of a transport.

Slave to master: a long, the slave's end of log; the first is a request, all of them acknowledge.  Master to slave: a
long (log offset), an int (size), the bytes; without bytes it is a heartbeat.
"""

from struct import Struct
from typing import NamedTuple

from sandbox.kernel.errors import ProtocolViolation

_HEAD = Struct(">qi")  # physical_offset size
_LONG = Struct(">q")

HEARTBEAT_BYTES = _HEAD.size
TRANSFER_BYTES = 32 * 1024  # of the log in one block; RocketMQ: haTransferBatchSize
MAX_BLOCK_BYTES = 4 * 1024 * 1024 - HEARTBEAT_BYTES  # receive buffer of RocketMQ's slave


class Block(NamedTuple):
    """A part of the master's log; without `data`, a heartbeat."""

    physical_offset: int
    data: bytes


def encode_block(physical_offset: int, data: bytes) -> bytes:
    return _HEAD.pack(physical_offset, len(data)) + data


def encode_offset(offset: int) -> bytes:
    """Return the bytes of a slave's request or acknowledgement."""
    return _LONG.pack(offset)


class BlockDecoder:
    """Decoder of a master's bytes into blocks.  It takes pieces of any size."""

    __slots__ = ("_tail",)

    def __init__(self) -> None:
        self._tail = b""

    def feed(self, data: bytes) -> list[Block]:
        """Return the blocks completed by these bytes.  Raises ProtocolViolation for an invalid size."""
        buffer = self._tail + data if self._tail else data
        blocks: list[Block] = []
        at, end = 0, len(buffer)
        while end - at >= HEARTBEAT_BYTES:
            physical_offset, size = _HEAD.unpack_from(buffer, at)
            if not 0 <= size <= MAX_BLOCK_BYTES or physical_offset < 0:
                raise ProtocolViolation(f"block of {size} bytes at {physical_offset}")
            stop = at + HEARTBEAT_BYTES + size
            if stop > end:
                break
            blocks.append(Block(physical_offset, bytes(buffer[at + HEARTBEAT_BYTES : stop])))
            at = stop
        self._tail = buffer[at:]
        return blocks


class OffsetDecoder:
    """Decoder of a slave's bytes into offsets.  Only the last complete one counts, as in RocketMQ."""

    __slots__ = ("_tail",)

    def __init__(self) -> None:
        self._tail = b""

    def feed(self, data: bytes) -> int | None:
        buffer = self._tail + data if self._tail else data
        whole = len(buffer) - len(buffer) % _LONG.size
        self._tail = buffer[whole:]
        offset: int | None = _LONG.unpack_from(buffer, whole - _LONG.size)[0] if whole else None
        return offset
