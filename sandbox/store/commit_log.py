"""The commit log: every message of the broker, in arrival order, in one continuous sequence of files."""

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from struct import Struct

from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import CorruptRecord
from sandbox.message import record
from sandbox.message.message import InboundBatch, InboundMessage, StoredMessage
from sandbox.message.sys_flag import BORN_HOST_V6
from sandbox.store.config import ASYNC_FLUSH, MessageStoreConfig
from sandbox.store.mapped_file import MappedFile
from sandbox.store.mapped_file_queue import MappedFileQueue

DIRECTORY = "commitlog"
_LARGE_FILE_BYTES = 64 << 20

_INT = Struct(">i")
_LONG = Struct(">q")
_BLANK_BYTES, _write = record.BLANK_BYTES, record.write  # for every message: module names are found faster

Appended = tuple[int, int]  # physical offset, store time
Step = tuple[MappedFile | None, memoryview | None, record.Layout | None, int | None]


def use_large_pages(config: MessageStoreConfig) -> bool:
    """Return True if the log's memory uses huge pages: a quarter of the page faults' cost, 0.1 µs of every record.

    Not used for a small file, which must take no more space than it needs.  Not used if every put is flushed: a
    flush writes whole pages, and would take twice as long.
    """
    return config.flush == ASYNC_FLUSH and config.commit_log_file_bytes >= _LARGE_FILE_BYTES


class CommitLog:
    """The log, split into MappedFiles on disk.  RocketMQ: `CommitLog`.

    A record never crosses files: if it does not fit with 8 more bytes, a blank record fills the rest of the file.
    `rolled` is called with every new file after the first.
    """

    def __init__(
        self, files: MappedFileQueue, *, clock: Clock, store_host: bytes, rolled: Callable[[MappedFile], None]
    ) -> None:
        self.files = files
        self._all = files.files
        self._clock = clock
        self._host = store_host
        self._rolled = rolled
        self._turn_ms = 0  # 0: not read yet

    @property
    def min_offset(self) -> int:
        return self.files.min_offset

    @property
    def max_offset(self) -> int:
        if not self._all:
            return 0
        last = self._all[-1]
        return last.base + last.wrote

    def end_turn(self) -> None:
        """End the turn: the next append reads the clock again."""
        self._turn_ms = 0

    def _now_ms(self) -> int:
        """Return the store time, read once per turn: all messages of a turn have the same."""
        self._turn_ms = now_ms = self._clock.now_ms()
        return now_ms

    def append(self, m: InboundMessage, size: int, topic: bytes, queue_offset: int) -> Appended:
        """Write one record of `size` bytes; return its position and store time.  Raises StoreFull without space."""
        files = self._all
        if not files or (at := (file := files[-1]).wrote) + size + _BLANK_BYTES > file.reserved:
            file = self._file_for(size)
            at = file.wrote
        now_ms = self._turn_ms or self._now_ms()
        view = file.view
        if view is None:
            view = self.files.pool.view(file)
        physical = file.base + at
        _write(view, at, m, size, topic, queue_offset, physical, now_ms, self._host)
        file.store_ms = now_ms
        file.used = True
        file.wrote = at + size  # last: until here the record does not exist
        return physical, now_ms

    def append_batch(
        self, batch: InboundBatch, sizes: list[int], topic: bytes, queue_offset: int
    ) -> tuple[list[int], int]:
        """Write the records of one batch in sequence in one file.

        Return the start of each and their store time.  Raises StoreFull.
        """
        size = sum(sizes)
        file = self._file_for(size)
        at = file.wrote
        now_ms = self._turn_ms or self._now_ms()
        physicals = list(accumulate(sizes[:-1], initial=file.base + at))
        data = record.encode_batch(batch, sizes, topic, queue_offset, physicals, now_ms, self._host)
        self.files.pool.view(file)[at : at + size] = data
        file.store_ms = now_ms
        file.wrote = at + size
        return physicals, now_ms

    def append_raw(self, physical_offset: int, data: bytes, store_ms: int) -> bool:
        """Write a master's bytes, which never cross a file; return False if they are not the next ones.

        An empty log begins at the master's offset.  Raises StoreFull.
        """
        if self.files.files and physical_offset != self.max_offset:
            return False
        file = self.files.find(physical_offset) or self._replica_file(physical_offset, len(data))
        at = physical_offset - file.base
        if at + len(data) > file.size:
            return False
        self.files.pool.reserve(file, at, at + len(data))
        self.files.pool.view(file)[at : at + len(data)] = data
        file.store_ms = store_ms
        file.wrote = at + len(data)
        return True

    def _replica_file(self, physical_offset: int, room: int) -> MappedFile:
        """Create and return the next file of a slave; the master's bytes have filled the last one."""
        last = self._all[-1] if self._all else None
        file = self.files.create(physical_offset, room)
        if last is not None:
            self.files.seal(last, self._clock.now_ms())
            self._rolled(file)
        return file

    def _file_for(self, size: int) -> MappedFile:
        """Return the file for the next `size` bytes; start a new file if they do not fit."""
        files, pool = self.files.files, self.files.pool
        room = size + record.BLANK_BYTES
        if not files:
            return self.files.create(0, room)
        file = files[-1]
        if file.wrote + room <= file.size:
            pool.reserve(file, file.wrote, file.wrote + room)
            return file
        pool.reserve(file, file.wrote, min(file.size, file.wrote + record.BLANK_BYTES))
        following = self.files.create(file.base + file.size, room)  # first: without room nothing may change
        if file.wrote < file.size:
            record.write_blank(pool.view(file), file.wrote, file.size - file.wrote)
            file.wrote = file.size
        self.files.seal(file, self._clock.now_ms())
        self._rolled(following)
        return following

    def roll_next(self, physical_offset: int) -> int:
        """Return the start of the file after that of `physical_offset`."""
        size = self.files.file_bytes
        return physical_offset + size - physical_offset % size

    def read(self, physical_offset: int, size: int) -> bytes | None:
        return self.files.read(physical_offset, size)

    def read_records(self, physical_offsets: Iterable[int], most_bytes: int) -> list[bytes]:
        """Return the records at these offsets that exist: the first in any case, others up to `most_bytes` in total."""
        records: list[bytes] = []
        for physical_offset in physical_offsets:
            raw = self.read_record(physical_offset)
            if raw is not None:
                most_bytes -= len(raw)
                if most_bytes < 0 and records:
                    break
                records.append(raw)
        return records

    def read_record(self, physical_offset: int) -> bytes | None:
        """Return the whole record that begins at `physical_offset`; None if it is deleted or none begins there."""
        file = self.files.find(physical_offset)
        if file is None or physical_offset >= file.end:
            return None
        view = self.files.pool.view(file)
        result = record.examine(view, physical_offset - file.base, file.wrote, check_crc=False)
        if not isinstance(result, record.Layout) or result.physical_offset != physical_offset:
            return None
        at = physical_offset - file.base
        return bytes(view[at : at + result.size])

    def read_message(self, physical_offset: int) -> StoredMessage | None:
        """Return the message at `physical_offset`; None if there is none, or it cannot be decoded."""
        raw = self.read_record(physical_offset)
        try:
            return record.decode(raw) if raw is not None else None
        except CorruptRecord:
            return None

    def store_time(self, physical_offset: int, size: int) -> int | None:
        """Return the store time of the record at `physical_offset`, or None if it is deleted."""
        file = self.files.find(physical_offset)
        if file is None or physical_offset < self.min_offset:
            return None
        at = physical_offset - file.base
        if size < record.FIXED_BYTES or at + size > file.wrote:
            return None
        view = self.files.pool.view(file)
        wide = _INT.unpack_from(view, at + record.SYS_FLAG_AT)[0] & BORN_HOST_V6
        stored_at = at + record.STORE_MS_AT + (record.V6_EXTRA_BYTES if wide else 0)
        store_ms: int = _LONG.unpack_from(view, stored_at)[0]
        return store_ms

    def walk(self, from_offset: int, *, check_crc: bool) -> Iterator[tuple[MappedFile, memoryview, record.Layout]]:
        """Yield the records from `from_offset` on, each with its file and view.

        Use the view before requesting the next record.
        """
        offset: int | None = from_offset
        while offset is not None:
            file, view, layout, offset = self.step(offset, check_crc=check_crc)
            if file is not None and view is not None and layout is not None:
                yield file, view, layout

    def step(self, offset: int, *, check_crc: bool) -> Step:
        """Return the record at `offset`, and the next offset; None: no record yet.

        A blank leads to the next file.  A broken record with a known length is skipped; one without skips the rest
        of its file, unless the log ends there: then the rest of it may still come from a master.
        """
        file = self.files.find(offset)
        if file is None or offset >= file.end:
            return None, None, None, None
        view = self.files.pool.view(file)
        result = record.examine(view, offset - file.base, file.wrote, check_crc=check_crc)
        if isinstance(result, record.Layout):
            return file, view, result, offset + result.size
        if isinstance(result, record.Broken) and result.size:
            return file, view, None, offset + result.size
        if isinstance(result, record.Broken) and file is self.files.files[-1]:
            return file, view, None, None
        return file, view, None, file.base + file.size
