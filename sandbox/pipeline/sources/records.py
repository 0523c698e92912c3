"""Records of the commit log as Arrow columns, without a Python step per message (spec store-format 2).

Fixed fields: one NumPy gather through a structured type that begins "at every byte" of the mapped file.  Body and
properties: one Arrow array over the mapped file itself; `take` leaves out its slots between the wanted pieces.
"""

import mmap
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from sandbox.kernel.errors import CorruptRecord
from sandbox.message.compression import MAX_PLAIN_BYTES
from sandbox.message.msg_id import host_text
from sandbox.message.record import FIXED_BYTES, MAGIC, MAGIC_V2, V6_EXTRA_BYTES
from sandbox.message.sys_flag import BORN_HOST_V6, COMPRESSED, HOSTS_V6, STORE_HOST_V6
from sandbox.pipeline.sources.property_columns import Properties
from sandbox.pipeline.sources.source_columns import (
    HEADER_LIST,
    HEADERS,
    TIMESTAMP,
    headers_of,
    instants,
    with_timestamp,
)
from sandbox.store_columns.queue_positions import EVERYTHING, Log, Longs, Places, log_files, places

BATCH_ROWS = 8_192
UNPACKED_BYTES = 16 << 20  # of the bodies of a batch where some are compressed; one alone may be larger
BODY = "body"
STORE = "store"  # the first column when several stores are read: the name of the message's store
HEAD_BYTES = 88  # up to and with BODYLEN
_HEAD = np.dtype(
    [
        ("size", ">i4"),
        ("magic", ">i4"),
        ("crc", ">i4"),
        ("queue_id", ">i4"),
        ("flag", ">i4"),
        ("queue_offset", ">i8"),
        ("physical", ">i8"),
        ("sys_flag", ">i4"),
        ("born_ms", ">i8"),
        ("born_host", "V8"),
        ("store_ms", ">i8"),
        ("store_host", "V8"),
        ("reconsume_times", ">i4"),
        ("prepared_offset", ">i8"),
        ("body_bytes", ">i4"),
    ]
)
assert _HEAD.itemsize == HEAD_BYTES
_HEAD_AS_BYTES = np.dtype(f"V{HEAD_BYTES}")

SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("queueId", pa.int32()),
        ("queueOffset", pa.int64()),
        ("physicalOffset", pa.int64()),
        ("keys", pa.string()),
        ("tags", pa.string()),
        ("tagsCode", pa.int64()),
        ("body", pa.binary()),
        ("properties", pa.map_(pa.string(), pa.string())),
        ("bornTimestamp", pa.int64()),
        ("storeTimestamp", pa.int64()),
        ("bornHost", pa.string()),
        ("storeHost", pa.string()),
        ("reconsumeTimes", pa.int32()),
        ("sysFlag", pa.int32()),
    ]
)
"""The stored columns, one row per message; times in ms, `body` is the original one."""

SOURCE_SCHEMA = with_timestamp(SCHEMA, "storeTimestamp").append(pa.field(HEADERS, HEADER_LIST))
"""All columns of a source, also the computed ones."""


def batches(log: Log, places: Places, columns: Sequence[str], *, rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """Yield the messages of one log file as Arrow batches, in the order of the log.

    A position without its record (truncated, overwritten, of another queue) has no row.  A broker would not serve
    that record either; `store_audit` reports it.
    """
    if not len(places):
        return
    with open(log.path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    for start in range(0, len(places), rows):
        part = places.part(slice(start, start + rows))
        piece = _Piece(data, part.physical - log.start, part)
        if len(piece.found):
            yield from _made(piece, columns)


def batches_at(data: bytes, at: Longs, places: Places, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the records in a broker's answers as Arrow batches.  `at`: the bytes where they begin.

    Raises CorruptRecord if one differs from its entry in `places`.
    """
    piece = _Piece(data, at, places)
    if len(piece.found) != len(places):
        wrong = int(np.setdiff1d(places.queue_offset, piece.found.queue_offset)[0])
        raise CorruptRecord(f"a broker's response for offset {wrong} is not a record of that queue")
    yield from _made(piece, columns)


def _made(piece: "_Piece", columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the columns of a piece as one batch, or as more if bodies become large."""
    schema = pa.schema([SOURCE_SCHEMA.field(name) for name in columns])
    arrays = {name: _COLUMNS[name](piece) for name in columns if name != BODY}
    bodies = piece.bodies() if BODY in columns else iter([None])
    start = 0
    for part in bodies:
        count = len(piece.found) if part is None else len(part)
        yield pa.RecordBatch.from_arrays(
            [part if name == BODY else arrays[name].slice(start, count) for name in columns], schema=schema
        )
        start += count


def with_store(name: str | None, batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """Return the batch with only these columns, including the name of the store if they name it."""
    if STORE in columns:
        batch = batch.add_column(0, STORE, pa.repeat(pa.scalar(name), len(batch)))
    return batch.select(columns)


def of_message(columns: Sequence[str]) -> list[str]:
    """Return the columns without `store`, and at least one, because the number of rows is needed."""
    return [name for name in columns if name != STORE] or ["physicalOffset"]


class _Piece:
    """Records of one batch, which begin at the bytes `at`: their heads, and the positions of their parts."""

    def __init__(self, data: mmap.mmap | bytes, at: Longs, places: Places) -> None:
        self.data = data
        length = len(data)
        inside = (at >= 0) & (places.size > 0) & (at + places.size <= length) & (at + HEAD_BYTES <= length)
        if not inside.all():
            places, at = places.part(inside), at[inside]
        # As plain bytes: NumPy copies a structure field by field.
        everywhere = np.ndarray((max(0, length - HEAD_BYTES + 1),), _HEAD_AS_BYTES, buffer=data, strides=(1,))
        head = (everywhere[at] if len(at) else np.empty(0, _HEAD_AS_BYTES)).view(_HEAD)
        magic = head["magic"]
        fits = (
            (head["size"] == places.size)
            & (head["physical"] == places.physical)
            & ((magic == MAGIC) | (magic == MAGIC_V2))
            & (head["queue_offset"] == places.queue_offset)
        )
        fits &= head["queue_id"] == np.array([queue_id for _, queue_id in places.queues], np.int64)[places.queue]
        if not fits.all():
            places, head, at = places.part(fits), head[fits], at[fits]
        self.found, self.head, self.at = places, head, at
        self._read_lengths()

    def _read_lengths(self) -> None:
        """Compute the positions of body, topic and properties; an IPv6 host makes the head longer."""
        head, at = self.head, self.at
        flags = head["sys_flag"].astype(np.int64)
        extra = V6_EXTRA_BYTES * (((flags & BORN_HOST_V6) != 0).astype(np.int64) + ((flags & STORE_HOST_V6) != 0))
        self.sys_flag = flags.astype(np.int32)
        self.long_hosts = np.flatnonzero(extra)
        self.store_ms = head["store_ms"].astype(np.int64)
        body_bytes = head["body_bytes"].astype(np.int64)
        for row in self.long_hosts:  # few or none
            shift = V6_EXTRA_BYTES if flags[row] & BORN_HOST_V6 else 0
            self.store_ms[row] = self._int(int(at[row]) + 56 + shift, 8)
            body_bytes[row] = self._int(int(at[row]) + 84 + int(extra[row]), 4)
        every = np.frombuffer(self.data, np.uint8)
        self.body_at = at + HEAD_BYTES + extra
        topic_field = self.body_at + body_bytes
        wide = head["magic"] == MAGIC_V2
        sound = (body_bytes >= 0) & (topic_field + 2 < at + self.found.size)
        topic_field = np.where(sound, topic_field, 0)
        topic_bytes = every[topic_field].astype(np.int64)
        topic_bytes = np.where(wide, (topic_bytes << 8) | every[topic_field + 1], topic_bytes)
        self.topic_at = topic_field + 1 + wide
        self.topic_end = self.topic_at + topic_bytes
        room = self.topic_end + 2 <= at + self.found.size
        field = np.where(sound & room, self.topic_end, 0)
        properties_bytes = (every[field].astype(np.int64) << 8) | every[field + 1]
        self.properties_at = self.topic_end + 2
        self.properties_end = self.properties_at + properties_bytes
        self.body_end = self.body_at + body_bytes
        self._keep(sound & room & (self.properties_end == at + self.found.size))
        self._keep(self._is_of_its_topic(every))

    def _is_of_its_topic(self, every: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return a mask of the records that have the topic of their queue."""
        numbers = {topic: number for number, (topic, _) in enumerate(self.found.queues)}
        topics = np.array([numbers[topic] for topic, _ in self.found.queues], np.int64)[self.found.queue]
        same = np.zeros(len(topics), np.bool_)
        for number in np.unique(topics):
            name = np.frombuffer(self.found.queues[number][0].encode(), np.uint8)
            rows = np.flatnonzero((topics == number) & (self.topic_end - self.topic_at == len(name)))
            if len(rows):
                same[rows] = (sliding_window_view(every, len(name))[self.topic_at[rows]] == name).all(axis=1)
        return same

    def _keep(self, chosen: NDArray[np.bool_]) -> None:
        if chosen.all():
            return
        before = np.flatnonzero(chosen)
        self.found = self.found.part(chosen)
        for name in (
            "head",
            "at",
            "sys_flag",
            "store_ms",
            "body_at",
            "body_end",
            "topic_at",
            "topic_end",
            "properties_at",
            "properties_end",
        ):
            setattr(self, name, getattr(self, name)[chosen])
        self.long_hosts = np.flatnonzero(np.isin(before, self.long_hosts))

    def column(self, name: str, kind: Any) -> pa.Array:
        return pa.array(self.head[name].astype(kind))

    def pieces(self, start: NDArray[np.int64], end: NDArray[np.int64]) -> pa.Array:
        """Return the bytes between each start and end of the file as binary values."""
        count = len(start)
        small = len(self.data) < 1 << 31
        offsets = np.empty(2 * count + 1, np.int32 if small else np.int64)
        offsets[0:-1:2], offsets[1::2] = start, end
        offsets[-1] = end[-1] if count else 0
        whole = pa.Array.from_buffers(
            pa.binary() if small else pa.large_binary(),
            2 * count,
            [None, pa.py_buffer(offsets), pa.py_buffer(self.data)],
        )
        taken = whole.take(pa.array(np.arange(0, 2 * count, 2)))
        return taken if small else taken.cast(pa.binary())

    @cached_property
    def properties(self) -> Properties:
        """The properties; bytes that are not UTF-8 are replaced, as in Java."""
        return Properties(_text(self.pieces(self.properties_at, self.properties_end)))

    def bodies(self) -> Iterator[pa.Array]:
        """Yield the decompressed bodies in parts of limited size, because decompression may make them large."""
        packed = self.pieces(self.body_at, self.body_end)
        if not (self.sys_flag & COMPRESSED).any():
            yield packed
            return
        values: list[bytes] = []
        room = UNPACKED_BYTES
        for body, flags in zip(packed, self.sys_flag.tolist(), strict=True):
            values.append(_unpacked(body.as_py()) if flags & COMPRESSED else body.as_py())
            room -= len(values[-1])
            if room <= 0:
                yield pa.array(values, pa.binary())
                values, room = [], UNPACKED_BYTES
        if values:
            yield pa.array(values, pa.binary())

    def host(self, name: str, at: int, v6: int) -> pa.Array:
        """Return a column of hosts as `ip:port`.

        `at`: byte of the host in the head.  `v6`: the flag for a longer IPv6 host.  Few hosts are distinct, often one.
        """
        values = np.ascontiguousarray(self.head[name]).view(np.int64)
        if not len(self.long_hosts) and len(values) and (values == values[0]).all():
            return pa.repeat(pa.scalar(host_text(values[0].tobytes())), len(values))
        encoded = pa.array(values).dictionary_encode()
        texts = pa.array([host_text(value.tobytes()) for value in encoded.dictionary.to_numpy()], pa.string())
        hosts = texts.take(encoded.indices)
        if not len(self.long_hosts):
            return hosts
        listed = hosts.to_pylist()
        for row in self.long_hosts:
            flags, begin = int(self.sys_flag[row]), int(self.at[row]) + at
            if name == "store_host" and flags & BORN_HOST_V6:
                begin += V6_EXTRA_BYTES
            listed[row] = host_text(self.data[begin : begin + (20 if flags & v6 else 8)])
        return pa.array(listed, pa.string())

    def topics(self) -> pa.Array:
        names = pa.array([topic for topic, _ in self.found.queues], pa.string())
        return names.take(pa.array(self.found.queue))

    def _int(self, at: int, length: int) -> int:
        return int.from_bytes(self.data[at : at + length], "big", signed=True)


_COLUMNS: dict[str, Callable[[_Piece], pa.Array]] = {
    "topic": lambda piece: piece.topics(),
    "queueId": lambda piece: piece.column("queue_id", np.int32),
    "queueOffset": lambda piece: piece.column("queue_offset", np.int64),
    "physicalOffset": lambda piece: piece.column("physical", np.int64),
    "keys": lambda piece: piece.properties.value("KEYS"),
    "tags": lambda piece: piece.properties.value("TAGS"),
    "tagsCode": lambda piece: pa.array(piece.found.tags),
    "properties": lambda piece: piece.properties.column(),
    "bornTimestamp": lambda piece: piece.column("born_ms", np.int64),
    "storeTimestamp": lambda piece: pa.array(piece.store_ms),
    TIMESTAMP: lambda piece: instants(piece.store_ms),
    "bornHost": lambda piece: piece.host("born_host", 48, BORN_HOST_V6),
    "storeHost": lambda piece: piece.host("store_host", 64, STORE_HOST_V6),
    "reconsumeTimes": lambda piece: piece.column("reconsume_times", np.int32),
    "sysFlag": lambda piece: pa.array(piece.sys_flag),
    HEADERS: lambda piece: headers_of(piece.properties.column()),
}
assert {*_COLUMNS, BODY} == {*SOURCE_SCHEMA.names}
assert FIXED_BYTES == HEAD_BYTES + 3
assert HOSTS_V6 == BORN_HOST_V6 | STORE_HOST_V6


def _text(values: pa.Array) -> pa.Array:
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([value.decode("utf-8", "replace") for value in values.to_pylist()], pa.string())


def _unpacked(body: bytes) -> bytes:
    """Return the decompressed body; a body that is not compressed or is beyond the limit stays unchanged."""
    inflate = zlib.decompressobj()
    try:
        plain = inflate.decompress(body, MAX_PLAIN_BYTES)
    except zlib.error:
        return body
    return plain if inflate.eof else body


def rows_of(root: Path, columns: Sequence[str] = SCHEMA.names) -> Iterator[pa.RecordBatch]:
    """Yield all messages of a store as Arrow batches, without Spark."""
    for log in log_files(root):
        yield from batches(log, places(root, EVERYTHING, log.start, log.end), columns)
