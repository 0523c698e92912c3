"""A reader of a commit log that it does not own."""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from sandbox.kernel.errors import CorruptRecord
from sandbox.message import record
from sandbox.message.message import StoredMessage
from sandbox.message.record import Blank, Broken, Layout
from sandbox.store.reader_files import FileRun

BLOCK_BYTES = 256 * 1024  # bytes per read of a walk
MAX_RECORD_BYTES = 64 * 1024 * 1024  # a larger length is invalid

_START = Struct(">ii")


class Item(NamedTuple):
    """The result of examining one position of the log, with its bytes."""

    at: int
    found: Layout | Blank | Broken
    data: bytes
    data_at: int

    @property
    def untouched(self) -> bool:
        """True if nothing was ever written at this position: the normal end of a log."""
        return not any(self.data[self.data_at : self.data_at + record.BLANK_BYTES])

    @property
    def topic(self) -> str:
        """The topic of a valid record from `walk`."""
        assert isinstance(self.found, Layout)
        topic_at = self.found.topic_at
        return str(self.data[topic_at : topic_at + self.found.topic_bytes], "utf-8", "replace")

    def message(self) -> StoredMessage:
        """Return the record as a value.  Raises CorruptRecord if it is none."""
        return record.decode(self.data, self.data_at)


class LogReader:
    """Reader of records by position, or of all in order.  A record is valid only if it contains its own position."""

    def __init__(self, run: FileRun) -> None:
        self.run = run

    @property
    def min_offset(self) -> int:
        return self.run.start

    def layout(self, at: int, size: int | None = None) -> Item | None:
        """Return the record at `at`, not decoded; None unless a valid one of `size` bytes (if given) is there."""
        if size is None:
            size = self._needed(self.run.read(at, _START.size), 0)
        if not _START.size < size <= MAX_RECORD_BYTES:
            return None
        item = self._examine(self.run.read(at, size), 0, at, check_crc=False)
        return item if isinstance(item.found, Layout) and item.found.size == size else None

    def record(self, at: int, size: int | None = None) -> bytes | None:
        """Return the bytes of the record at `at`, or None as in `layout`."""
        item = self.layout(at, size)
        return None if item is None else item.data

    def message(self, at: int, size: int | None = None) -> StoredMessage | None:
        """Return the record at `at` as a value, or None as in `layout`."""
        item = self.layout(at, size)
        try:
            return None if item is None else item.message()
        except CorruptRecord:  # a topic that is not UTF-8
            return None

    def end_after(self, trusted: int) -> int:
        """Return the end of the last complete record.

        The walk starts at `trusted`, where a record begins or the log ends.
        """
        for item in self.walk(trusted):
            if isinstance(item.found, Layout):
                trusted = item.at + item.found.size
        return trusted

    def walk(self, start: int | None = None, *, check_crc: bool = True) -> Iterator[Item]:
        """Yield everything from `start` in order; if a broken record ends the walk, that is the last item."""
        at = self.min_offset if start is None else start
        data, base = b"", at
        while (file := self.run.find(at)) is not None:
            if not base <= at <= base + len(data) - record.BLANK_BYTES:
                data, base = self.run.read(at, BLOCK_BYTES), at
            needed = self._needed(data, at - base)
            if at - base + needed > len(data):
                data, base = self.run.read(at, max(needed, BLOCK_BYTES)), at
            item = self._examine(data, at - base, at, check_crc=check_crc)
            if isinstance(item.found, Blank) and at + item.found.size != file.end:
                item = item._replace(found=Broken(None, f"a blank of {item.found.size} bytes does not end its file"))
            yield item
            if isinstance(item.found, Broken):
                return
            at += item.found.size

    @staticmethod
    def _needed(data: bytes, at: int) -> int:
        """Return the bytes needed to examine a position.

        A length counts only before a record's magic, and within limits.
        """
        if len(data) - at < _START.size:
            return _START.size
        size, magic = _START.unpack_from(data, at)
        is_record = magic in (record.MAGIC, record.MAGIC_V2) and size <= MAX_RECORD_BYTES
        return max(_START.size, size) if is_record else _START.size

    @staticmethod
    def _examine(data: bytes, data_at: int, at: int, *, check_crc: bool) -> Item:
        result = record.examine(data, data_at, len(data), check_crc=check_crc)
        if isinstance(result, Layout) and result.physical_offset != at:
            result = Broken(result.size, f"the record says it stands at {result.physical_offset}")
        return Item(at, result, data, data_at)
