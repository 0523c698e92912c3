"""The record of the commit log, byte by byte (spec store-format 2); only this module has the layout.

    offset length field            with IPv4 hosts; an IPv6 host takes 12 bytes more
         0      4 TOTALSIZE        the whole record
         4      4 MAGICCODE        DAA320A7; DAA320AB: two bytes of topic length (5.x); CBD43194: blank
         8      4 BODYCRC          CRC32 of the body as stored, 31 bits
        12      4 QUEUEID
        16      4 FLAG             the application's
        20      8 QUEUEOFFSET
        28      8 PHYSICALOFFSET   where this record begins
        36      4 SYSFLAG          message/sys_flag.py
        40      8 BORNTIMESTAMP    ms
        48      8 BORNHOST         address, port
        56      8 STORETIMESTAMP   ms
        64      8 STOREHOST
        72      4 RECONSUMETIMES
        76      8 PREPAREDOFFSET   of the half message, for a committed one
        84      4 BODYLEN
        88      b BODY
                1 TOPICLEN         at most 127
                t TOPIC            UTF-8
                2 PROPLEN          at most 32,767
                p PROPERTIES       UTF-8, message/properties.py

All integers are big-endian.  RocketMQ: `CommitLog.DefaultAppendMessageCallback`, `MessageDecoder`.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, count, repeat
from struct import Struct
from struct import error as StructError
from typing import NamedTuple
from zlib import crc32

from sandbox.kernel.errors import CorruptRecord
from sandbox.message import properties
from sandbox.message.message import InboundBatch, InboundMessage, StoredMessage
from sandbox.message.msg_id import host_text
from sandbox.message.sys_flag import BORN_HOST_V6, HOSTS_V6, STORE_HOST_V6

MAGIC = -626_843_481
MAGIC_V2 = -626_843_477
BLANK_MAGIC = -875_286_124
BLANK_BYTES = 8  # a blank needs its length and magic; the rest of the file is not meaningful

FIXED_BYTES = 91  # everything but body, topic and properties
V6_EXTRA_BYTES = 12  # per IPv6 host
MAX_TOPIC_BYTES = 127
MAX_PROPERTIES_BYTES = 32_767

MAGIC_AT = 4
BODY_CRC_AT = 8
QUEUE_ID_AT = 12
QUEUE_OFFSET_AT = 20
PHYSICAL_OFFSET_AT = 28
SYS_FLAG_AT = 36
STORE_MS_AT = 56  # 12 further on with an IPv6 born host


def _head(born_host_bytes: int, store_host_bytes: int) -> Struct:
    # size magic crc queue flag | queue_offset physical | sys born born_host | store_ms store_host | times prepared body
    return Struct(f">iiIii qq iq{born_host_bytes}s q{store_host_bytes}s iqi")


@lru_cache(maxsize=4)
def _start(same_bytes: int) -> Struct:
    """Return the format of a record's head in a batch.

    The fields between PHYSICALOFFSET and BODYLEN are the same for all records.
    """
    return Struct(f">iiIii qq {same_bytes}s i")


@lru_cache(maxsize=64)
def _whole(same_bytes: int, body_bytes: int, middle_bytes: int, text_bytes: int) -> Struct:
    """Return the format of a whole record in a batch: the fields between body and properties are one piece."""
    return Struct(f">iiIii qq {same_bytes}s i {body_bytes}s {middle_bytes}s {text_bytes}s")


_HEAD = _head(8, 8)
_HEADS = {0: _HEAD, BORN_HOST_V6: _head(20, 8), STORE_HOST_V6: _head(8, 20), HOSTS_V6: _head(20, 20)}
_HEAD_BYTES, _PACK_HEAD = _HEAD.size, _HEAD.pack_into  # used for nearly every record: looked up once
_BLANK = Struct(">ii")
_INT = Struct(">i")
_LONG = Struct(">q")
_SHORT = Struct(">h")
_pack_short = _SHORT.pack

_FIELD_BYTES = (
    ("TOTALSIZE", 4),
    ("MAGICCODE", 4),
    ("BODYCRC", 4),
    ("QUEUEID", 4),
    ("FLAG", 4),
    ("QUEUEOFFSET", 8),
    ("PHYSICALOFFSET", 8),
    ("SYSFLAG", 4),
    ("BORNTIMESTAMP", 8),
    ("BORNHOST", 8),
    ("STORETIMESTAMP", 8),
    ("STOREHOST", 8),
    ("RECONSUMETIMES", 4),
    ("PREPAREDOFFSET", 8),
    ("BODYLEN", 4),
)

Buffer = bytes | bytearray | memoryview


class Layout(NamedTuple):
    """One record, parsed without copies: its fixed fields, and the positions of the others in the buffer."""

    size: int
    magic: int
    body_crc: int
    queue_id: int
    flag: int
    queue_offset: int
    physical_offset: int
    sys_flag: int
    born_ms: int
    born_host: bytes
    store_ms: int
    store_host: bytes
    reconsume_times: int
    prepared_offset: int
    body_bytes: int
    body_at: int
    topic_at: int
    topic_bytes: int
    properties_at: int
    properties_bytes: int


class Blank(NamedTuple):
    """The filler at the end of a file; `size` extends to the file's end."""

    size: int


class Broken(NamedTuple):
    """The reason why a position has no valid record.

    `size` is known if head and length can be read but the rest does not fit.
    """

    size: int | None
    why: str


class FieldSpan(NamedTuple):
    """The position of one field of a record, from the record's first byte."""

    name: str
    at: int
    length: int


def body_crc(body: Buffer) -> int:
    """Return the checksum of a body: 31 bits of CRC32, 0 for an empty body."""
    return crc32(body) & 0x7FFF_FFFF


def topic_part(topic: str) -> bytes:
    """Return the bytes of TOPICLEN and TOPIC.  Raises ValueError if the name is longer than its length byte allows."""
    name = topic.encode()
    if len(name) > MAX_TOPIC_BYTES:
        raise ValueError(f"topic of {len(name)} bytes; at most {MAX_TOPIC_BYTES} fit")
    return bytes((len(name),)) + name


def size_of(body_bytes: int, topic_bytes: int, properties_bytes: int, sys_flag: int = 0) -> int:
    """Return the length of a record; `topic_bytes` is without its length byte."""
    size = FIXED_BYTES + body_bytes + topic_bytes + properties_bytes
    if sys_flag & HOSTS_V6:
        size += V6_EXTRA_BYTES * ((sys_flag & HOSTS_V6).bit_count())
    return size


def write(
    view: memoryview,
    at: int,
    m: InboundMessage,
    size: int,
    topic: bytes,
    queue_offset: int,
    physical_offset: int,
    store_ms: int,
    store_host: bytes,
) -> None:
    """Write one record of `size` bytes at `at`.  `topic` is its `topic_part`.

    Nothing is checked here: the caller has used `size_of` and the limits.
    """
    _, queue_id, body, props, _, sys_flag, flag, born_ms, born_host, times, prepared, _ = m
    pack_head, body_at = _PACK_HEAD, at + _HEAD_BYTES
    if sys_flag & HOSTS_V6:
        head = _HEADS[sys_flag & HOSTS_V6]
        pack_head, body_at = head.pack_into, at + head.size
    pack_head(
        view,
        at,
        size,
        MAGIC,
        crc32(body) & 0x7FFF_FFFF,
        queue_id,
        flag,
        queue_offset,
        physical_offset,
        sys_flag,
        born_ms,
        born_host,
        store_ms,
        store_host,
        times,
        prepared,
        len(body),
    )
    view[body_at : at + size] = b"".join((body, topic, _pack_short(len(props)), props))


def encode(m: InboundMessage, queue_offset: int, physical_offset: int, store_ms: int, store_host: bytes) -> bytes:
    """Return one whole record, as `write` would have written it."""
    topic = topic_part(m.topic)
    size = size_of(len(m.body), len(topic) - 1, len(m.properties), m.sys_flag)
    buf = bytearray(size)
    write(memoryview(buf), 0, m, size, topic, queue_offset, physical_offset, store_ms, store_host)
    return bytes(buf)


def encode_batch(
    batch: InboundBatch,
    sizes: list[int],
    topic: bytes,
    queue_offset: int,
    physicals: list[int],
    store_ms: int,
    store_host: bytes,
) -> bytes:
    """Return the records of one batch, joined; `sizes` and `physicals` have one value for each.

    Columns are packed one by one: `map` packs a head in a third of the time that a loop in Python takes, and
    messages of one size are packed whole.
    """
    _, queue_id, bodies, texts, flags, sys_flag, born_ms, born_host, times, prepared = batch
    head = _HEADS[sys_flag & HOSTS_V6]
    shared = head.pack(0, 0, 0, 0, 0, 0, 0, sys_flag, born_ms, born_host, store_ms, store_host, times, prepared, 0)
    same = shared[SYS_FLAG_AT : head.size - 4]
    crcs = [crc & 0x7FFF_FFFF for crc in map(crc32, bodies)]
    body_sizes, text_sizes = list(map(len, bodies)), list(map(len, texts))
    body_bytes, text_bytes = body_sizes[0], text_sizes[0]
    values = (
        sizes,
        repeat(MAGIC),
        crcs,
        repeat(queue_id),
        flags,
        count(queue_offset),
        physicals,
        repeat(same),
        body_sizes,
    )
    middle = topic + _pack_short(text_bytes)
    if text_sizes.count(text_bytes) == body_sizes.count(body_bytes) == len(sizes):
        pack = _whole(len(same), body_bytes, len(middle), text_bytes).pack
        return b"".join(map(pack, *values, bodies, repeat(middle), texts))
    middles = [topic + _pack_short(size) for size in text_sizes]
    heads = map(_start(len(same)).pack, *values)
    return b"".join(chain.from_iterable(zip(heads, bodies, middles, texts, strict=False)))


def write_blank(view: memoryview, at: int, size: int) -> None:
    """Write a blank over the rest of a file: `size` bytes, of which 8 are meaningful."""
    _BLANK.pack_into(view, at, size, BLANK_MAGIC)


def examine(buf: Buffer, at: int, limit: int, *, check_crc: bool) -> Layout | Blank | Broken:
    """Return the record, blank or fault at `at`; no byte at or beyond `limit` is used.

    RocketMQ: `checkMessageAndReturnSize`.
    """
    if limit - at < BLANK_BYTES:
        return Broken(None, "fewer than 8 bytes left")
    size, magic = _BLANK.unpack_from(buf, at)
    if magic == BLANK_MAGIC:
        return Blank(size)
    if magic != MAGIC and magic != MAGIC_V2:
        return Broken(None, f"magic {magic & 0xFFFF_FFFF:08X} is no record's")
    if size < FIXED_BYTES or at + size > limit:
        return Broken(None, f"length {size} does not fit")
    layout = _layout(buf, at, at + size)
    if isinstance(layout, Layout) and check_crc and layout.body_bytes:
        crc = crc32(buf[layout.body_at : layout.body_at + layout.body_bytes]) & 0x7FFF_FFFF
        if crc != layout.body_crc:
            return Broken(None, f"body CRC is {crc:08X}, the record says {layout.body_crc:08X}")
    return layout


def _layout(buf: Buffer, at: int, end: int) -> Layout | Broken:
    size = end - at
    try:
        sys_flag = _INT.unpack_from(buf, at + SYS_FLAG_AT)[0]
        head = _HEADS[sys_flag & HOSTS_V6]
        fixed = head.unpack_from(buf, at)
        body_at = at + head.size
        topic_at = body_at + fixed[-1] + 1
        if fixed[-1] < 0 or topic_at + 2 > end:
            return Broken(size, f"body of {fixed[-1]} bytes in a record of {size}")
        topic_bytes = buf[topic_at - 1]
        if fixed[1] == MAGIC_V2:
            topic_bytes = topic_bytes << 8 | buf[topic_at]
            topic_at += 1
        properties_at = topic_at + topic_bytes + 2
        if properties_at > end:
            return Broken(size, f"topic of {topic_bytes} bytes in a record of {size}")
        properties_bytes = _SHORT.unpack_from(buf, properties_at - 2)[0]
    except (StructError, IndexError):
        return Broken(size, "the record ends within a field")
    if properties_bytes < 0 or properties_at + properties_bytes != end:
        return Broken(size, f"the fields take {properties_at + properties_bytes - at} bytes, the record says {size}")
    return Layout._make((*fixed, body_at, topic_at, topic_bytes, properties_at, properties_bytes))


def decode(buf: Buffer, at: int = 0, *, check_crc: bool = False) -> StoredMessage:
    """Return the record at `at` as a value.  Raises CorruptRecord if none is there."""
    layout = examine(buf, at, len(buf), check_crc=check_crc)
    if isinstance(layout, Broken):
        raise CorruptRecord(f"no record at byte {at}: {layout.why}")
    if isinstance(layout, Blank):
        raise CorruptRecord(f"a blank of {layout.size} bytes stands at byte {at}")
    try:
        topic = str(buf[layout.topic_at : layout.topic_at + layout.topic_bytes], "utf-8")
    except UnicodeDecodeError as error:
        raise CorruptRecord(f"the topic of the record at byte {at} is not UTF-8") from error
    return StoredMessage(
        topic,
        layout.queue_id,
        layout.queue_offset,
        layout.physical_offset,
        layout.size,
        layout.body_crc,
        layout.flag,
        layout.sys_flag,
        layout.born_ms,
        host_text(layout.born_host),
        layout.store_ms,
        host_text(layout.store_host),
        layout.reconsume_times,
        layout.prepared_offset,
        bytes(buf[layout.body_at : layout.body_at + layout.body_bytes]),
        properties.decode(properties_text(buf, layout)),
    )


def decode_all(buf: Buffer) -> Iterator[StoredMessage]:
    """Yield the records of a pulled batch, in order.  Raises CorruptRecord at the first invalid one."""
    at = 0
    while at < len(buf):
        message = decode(buf, at)
        yield message
        at += message.store_bytes


def properties_text(buf: Buffer, layout: Layout) -> str:
    """Return the property string of a record.  Bytes that are not UTF-8 are replaced, as in Java."""
    return str(buf[layout.properties_at : layout.properties_at + layout.properties_bytes], "utf-8", "replace")


def fields(buf: Buffer, at: int = 0) -> list[FieldSpan]:
    """Return every field of the record at `at` with its position.  Raises CorruptRecord if none is there."""
    layout = examine(buf, at, len(buf), check_crc=False)
    if not isinstance(layout, Layout):
        raise CorruptRecord(f"no record at byte {at}")
    wide = {"BORNHOST": len(layout.born_host), "STOREHOST": len(layout.store_host)}
    topic_length = 2 if layout.magic == MAGIC_V2 else 1
    variable = (
        ("BODY", layout.body_bytes),
        ("TOPICLEN", topic_length),
        ("TOPIC", layout.topic_bytes),
        ("PROPLEN", 2),
        ("PROPERTIES", layout.properties_bytes),
    )
    spans: list[FieldSpan] = []
    position = 0
    for name, length in (*_FIELD_BYTES, *variable):
        length = wide.get(name, length)
        spans.append(FieldSpan(name, position, length))
        position += length
    return spans
