"""The records of one log file as columns, checked together (spec store-format 2.1).

The reader finds records by following their lengths.  NumPy gathers the fields of their heads from a view that has an
integer at every byte of the mapped file.
"""

import mmap
from collections.abc import Iterator
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from sandbox.message import record
from sandbox.message.record import Blank, Broken, Layout
from sandbox.message.sys_flag import BORN_HOST_V6, STORE_HOST_V6
from sandbox.store_columns.queue_positions import Log, Longs

RECORDS_AT_ONCE = 65_536
BYTES_AT_ONCE = 16 * 1024 * 1024

_SIZE = Struct(">i")
_HEAD_BYTES = record.FIXED_BYTES - 3  # up to and with BODYLEN


class Records(NamedTuple):
    """Fields of records as columns, one value per record; `at` and every `…_at` are byte positions in the file."""

    at: Longs
    size: Longs
    crc: Longs
    queue_id: Longs
    queue_offset: Longs
    sys_flag: Longs
    store_ms: Longs
    body_at: Longs
    body_bytes: Longs
    topic_at: Longs
    topic_bytes: Longs
    text_at: Longs
    text_bytes: Longs

    def __len__(self) -> int:
        return len(self.at)

    def part(self, chosen: Any) -> "Records":
        """Return the records of a slice, or those that a mask selects."""
        return Records(*(column[chosen] for column in self))


class Stop(NamedTuple):
    """The byte of a file where its records end, and the reason; `Blank` is a normal end."""

    at: int
    found: Blank | Broken


class LogFile:
    """One log file, memory-mapped as long as the object is referenced."""

    def __init__(self, log: Log) -> None:
        """Map the file.  Raises FileNotFoundError if it was deleted."""
        self.log = log
        with open(log.path, "rb") as file:
            held: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if log.end > log.start else b""
        self._held = held
        self.view = memoryview(held)[: log.end - log.start]
        self.bytes = np.frombuffer(self.view, np.uint8)

    def records(self, at: int) -> Iterator[Records | Stop]:
        """Yield the records from byte `at` on, where a record begins, in batches; the last item is the `Stop`."""
        while True:
            places = self._chain(at)
            records, sound = self.columns(places)
            count = len(places) if sound.all() else int(np.argmin(sound))
            if count and self._is_torn(records, count - 1):
                count -= 1
            if count:
                yield records.part(slice(0, count))
                at = int(places[count - 1] + records.size[count - 1])
                self.release()
            if count < len(places) or not count:
                yield Stop(at, self.stop_at(at))
                return

    def release(self) -> None:
        """Return the pages read so far to the system; a later read maps them again."""
        if len(self.view):
            self._held.madvise(mmap.MADV_DONTNEED)

    def stop_at(self, at: int) -> Blank | Broken:
        """Return the reason why no record begins at a position."""
        layout = self.examined(at)
        if isinstance(layout, Blank) and at + layout.size != len(self.view):
            return Broken(None, f"a blank of {layout.size} bytes does not end its file")
        if isinstance(layout, Layout):
            torn = layout.physical_offset == at + self.log.start
            return Broken(
                layout.size,
                "its last bytes were never written"
                if torn
                else f"the record says it stands at {layout.physical_offset}",
            )
        return Blank(0) if at == len(self.view) else layout

    def examined(self, at: int) -> Layout | Blank | Broken:
        """Return the result of `record.examine` for byte `at`, without the checksum.

        A length beyond the file is invalid.
        """
        return record.examine(self.view, at, len(self.view), check_crc=False)

    def holds(self, at: int) -> bool:
        """Return True if a valid record begins at byte `at`."""
        layout = self.examined(at)
        return isinstance(layout, Layout) and layout.physical_offset == self.log.start + at

    def columns(self, at: Longs) -> tuple[Records, NDArray[np.bool_]]:
        """Return the fields at these positions, and a mask of the positions that are records.

        The columns of the other positions are meaningless.
        """
        length = len(self.view)
        begin = np.minimum(np.maximum(at, 0), max(0, length - _HEAD_BYTES - 2 * record.V6_EXTRA_BYTES - 4))
        if not len(at) or length < _HEAD_BYTES + 2 * record.V6_EXTRA_BYTES + 4:
            return Records(*(np.zeros(len(at), np.int64) for _ in Records._fields)), np.zeros(len(at), bool)
        size, magic = self._ints(begin), self._ints(begin + record.MAGIC_AT)
        flags = self._ints(begin + record.SYS_FLAG_AT)
        born = record.V6_EXTRA_BYTES * ((flags & BORN_HOST_V6) != 0)
        head_end = begin + _HEAD_BYTES + born + record.V6_EXTRA_BYTES * ((flags & STORE_HOST_V6) != 0)
        end = begin + size
        sound = (begin == at) & (end <= length) & ((magic == record.MAGIC) | (magic == record.MAGIC_V2))
        sound &= self._longs(begin + record.PHYSICAL_OFFSET_AT) == at + self.log.start
        body_bytes = self._ints(head_end - 4)
        wide = magic == record.MAGIC_V2
        sound &= (body_bytes >= 0) & (head_end + body_bytes + 3 + wide <= end)
        field = np.where(sound, head_end + body_bytes, 0)
        topic_bytes = self.bytes[field].astype(np.int64)
        topic_bytes = np.where(wide, topic_bytes << 8 | self.bytes[field + 1], topic_bytes)
        topic_at = field + 1 + wide
        sound &= topic_at + topic_bytes + 2 <= end
        field = np.where(sound, topic_at + topic_bytes, 0)
        text_bytes = self.bytes[field].astype(np.int64) << 8 | self.bytes[field + 1]
        sound &= (text_bytes <= record.MAX_PROPERTIES_BYTES) & (field + 2 + text_bytes == end)
        store_ms = self._longs(begin + record.STORE_MS_AT + born)
        return Records(
            at,
            size,
            self._ints(begin + record.BODY_CRC_AT),
            self._ints(begin + record.QUEUE_ID_AT),
            self._longs(begin + record.QUEUE_OFFSET_AT),
            flags,
            store_ms,
            head_end,
            body_bytes,
            topic_at,
            topic_bytes,
            field + 2,
            text_bytes,
        ), sound

    def texts(self, records: Records) -> list[bytes]:
        """Return the encoded properties of the records.

        They are copies, because many views at once slow down the garbage collector.
        """
        held, ends = self._held, records.text_at + records.text_bytes
        return [held[begin:end] for begin, end in zip(records.text_at.tolist(), ends.tolist(), strict=True)]

    def same_text(self, at: Longs, text: bytes) -> NDArray[np.bool_]:
        """Return a mask of the positions in `at` where exactly these bytes are."""
        inside = at + len(text) <= len(self.view)
        windows = sliding_window_view(self.bytes, len(text))[np.where(inside, at, 0)]
        same: NDArray[np.bool_] = inside & (windows == np.frombuffer(text, np.uint8)).all(axis=1)
        return same

    def _is_torn(self, records: Records, row: int) -> bool:
        """Return True if this is the log's last record and the end of its properties was never written.

        Neither length nor checksum shows that.
        """
        end = int(records.text_at[row] + records.text_bytes[row])
        return bool(records.text_bytes[row]) and not self.bytes[end - 1 : end + record.BLANK_BYTES].any()

    def _chain(self, at: int) -> Longs:
        """Return the positions of records from `at` on, found by their lengths alone."""
        view, unpack, last = self.view, _SIZE.unpack_from, len(self.view) - record.FIXED_BYTES
        places: list[int] = []
        end = at + BYTES_AT_ONCE
        while at <= last and at < end and len(places) < RECORDS_AT_ONCE:
            size = unpack(view, at)[0]
            if size < record.FIXED_BYTES:
                break
            places.append(at)
            at += size
        return np.array(places, np.int64)

    def _ints(self, at: Longs) -> Longs:
        return self._gathered(at, ">i4", 4)

    def _longs(self, at: Longs) -> Longs:
        return self._gathered(at, ">i8", 8)

    def _gathered(self, at: Longs, kind: str, width: int) -> Longs:
        everywhere = np.ndarray((len(self.view) - width + 1,), kind, buffer=self.view, strides=(1,))
        return everywhere[at].astype(np.int64)
