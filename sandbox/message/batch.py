"""Many messages as one body, the body of SEND_BATCH_MESSAGE (spec store-format 2.8).

Each item is `size, magic 0, crc 0, flag, body length, body, properties length, properties`.  RocketMQ:
`MessageDecoder.encodeMessages`, `MessageBatch`.
"""

from collections.abc import Iterable
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from sandbox.kernel.errors import CorruptRecord

_ITEM = Struct(">iiiii")  # size magic crc flag body_bytes
_SHORT = Struct(">h")

ITEM_FIXED_BYTES = 22
_PAIR_END = b"\x02"


class BatchItem(NamedTuple):
    """One message of a batch.  `properties` is the encoded text."""

    flag: int
    body: bytes
    properties: bytes


def encode(items: Iterable[BatchItem]) -> bytes:
    parts: list[bytes] = []
    for flag, body, properties in items:
        size = ITEM_FIXED_BYTES + len(body) + len(properties)
        parts += (_ITEM.pack(size, 0, 0, flag, len(body)), body, _SHORT.pack(len(properties)), properties)
    return b"".join(parts)


def decode(data: bytes, most: int) -> list[BatchItem]:
    """Return the items of a batch body; of too many, one more than `most`.  Raises CorruptRecord if it is no batch."""
    items: list[BatchItem] = []
    at, end = 0, len(data)
    try:
        while at < end and len(items) <= most:
            size, _, _, flag, body_bytes = _ITEM.unpack_from(data, at)
            body_end = at + _ITEM.size + body_bytes
            properties_at = body_end + _SHORT.size
            properties_bytes = _SHORT.unpack_from(data, body_end)[0]
            stop = properties_at + properties_bytes
            if body_bytes < 0 or properties_bytes < 0 or stop > end or stop - at != size:
                raise CorruptRecord(f"batch item at byte {at} says {size} bytes, its fields take {stop - at}")
            items.append(BatchItem(flag, data[at + _ITEM.size : body_end], data[properties_at:stop]))
            at = stop
    except StructError as error:
        raise CorruptRecord(f"batch item at byte {at} ends within a field") from error
    return items


def join_properties(item: bytes, shared: bytes) -> bytes:
    """Return the property text to store for an item: its own properties, then those of the batch."""
    if item and shared and not item.endswith(_PAIR_END):
        return item + _PAIR_END + shared
    return item + shared
