"""The offset message id: the address of the broker and the position in its log, in hex.

RocketMQ: `MessageDecoder.createMessageId` (spec store-format 3).  32 characters with an IPv4
address, 56 with an IPv6 one.  A host is 8 or 20 bytes everywhere: address, then the port as int.
"""

import ipaddress
from functools import lru_cache
from struct import Struct
from typing import NamedTuple

_PORT = Struct(">i")
_OFFSET = Struct(">q")
_LENGTHS = (32, 56)


class OffsetId(NamedTuple):
    """The parts of an offset message id: the broker's address and the log offset."""

    host: bytes
    physical_offset: int


def host_bytes(ip: str, port: int) -> bytes:
    """Return address and port as in records: 8 bytes, or 20 for IPv6."""
    return ipaddress.ip_address(ip).packed + _PORT.pack(port)


@lru_cache(maxsize=1024)
def host_text(host: bytes) -> str:
    """Return `ip:port`, with an IPv6 address in brackets."""
    address = ipaddress.ip_address(host[:-4])
    port = _PORT.unpack_from(host, len(host) - 4)[0]
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def encode(host: bytes, physical_offset: int) -> str:
    return (host + _OFFSET.pack(physical_offset)).hex().upper()


def decode(msg_id: str) -> OffsetId:
    """Return the parts of an offset message id.  Raises ValueError if the text is none."""
    if len(msg_id) not in _LENGTHS:
        raise ValueError(f"a message id has 32 or 56 characters, this one has {len(msg_id)}")
    raw = bytes.fromhex(msg_id)
    if len(raw) * 2 != len(msg_id):  # fromhex skips blanks
        raise ValueError(f"message id {msg_id!r} is not hex throughout")
    return OffsetId(raw[:-8], _OFFSET.unpack_from(raw, len(raw) - 8)[0])
