"""The consume queue: 20 bytes per message that point into the log."""

import logging
from collections.abc import Iterator
from struct import Struct

from sandbox.kernel.errors import StoreFull
from sandbox.store.config import CONSUME_QUEUE_UNIT_BYTES as UNIT_BYTES
from sandbox.store.config import FILLER_BYTES
from sandbox.store.mapped_file import MappedFile
from sandbox.store.mapped_file_queue import MappedFileQueue
from sandbox.store.results import QueueUnit

log = logging.getLogger(__name__)

DIRECTORY = "consumequeue"

_UNIT = Struct(">qiq")  # physical_offset store_bytes tags_code
_FILLER = _UNIT.pack(0, FILLER_BYTES, 0)


def has_a_place(topic: str) -> bool:
    """Return True if a directory inside the store can have this topic's name.

    Clients use letters, digits and `%|_-` only; RocketMQ's brokers do not check the topics of groups.
    """
    return topic not in ("", ".", "..") and "/" not in topic and "\0" not in topic


def pack_units(physicals: list[int], sizes: list[int], codes: list[int]) -> bytes:
    """Return entries in the format of a queue file."""
    if len(sizes) == 1:
        return _UNIT.pack(physicals[0], sizes[0], codes[0])
    return b"".join(map(_UNIT.pack, physicals, sizes, codes))


class ConsumeQueue:
    """The log positions of a queue's messages, by queue offset.  RocketMQ: `ConsumeQueue` (spec store-format 4).

    `max_offset` is the offset of the next message, `min_offset` that of the first whose record still exists.
    `max_physical` is the end of the newest record to which the queue points.
    """

    def __init__(self, topic: str, queue_id: int, files: MappedFileQueue) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.files = files
        self.max_offset = 0
        self.min_offset = 0
        self.max_physical = -1

    def put_run(self, queue_offset: int, units: bytes, physical_end: int, store_ms: int) -> None:
        """Append entries with consecutive offsets.

        `store_ms` becomes the file's time for a search by time.  Existing entries are skipped, so that a record may
        be dispatched twice.  A gap is only logged, as in RocketMQ. Raises StoreFull.
        """
        if queue_offset != self.max_offset and self.files.files:
            if queue_offset < self.max_offset:
                log.warning("queue %s/%d has offset %d already", self.topic, self.queue_id, queue_offset)
                return
            log.warning(
                "queue %s/%d: offset %d leaves a gap after %d", self.topic, self.queue_id, queue_offset, self.max_offset
            )
        done, end = 0, len(units)
        try:
            while done < end:
                file = self._file_for(queue_offset + done // UNIT_BYTES)
                at = file.wrote
                fit = min(end - done, file.size - at)
                if at + fit > file.reserved:
                    self.files.pool.reserve(file, at, at + fit)
                view = file.view
                if view is None:
                    view = self.files.pool.view(file)
                view[at : at + fit] = units if fit == end else units[done : done + fit]
                file.used = True
                file.modified_ms = store_ms
                file.wrote = at + fit
                done += fit
        except StoreFull:
            self.files.truncate(self.max_offset * UNIT_BYTES)  # all or nothing: the run comes again
            raise
        self.max_physical = physical_end
        self.max_offset = (file.base + file.wrote) // UNIT_BYTES

    def _file_for(self, queue_offset: int) -> MappedFile:
        files = self.files
        if files.files and files.files[-1].wrote < files.files[-1].size:
            return files.files[-1]
        if files.files:
            full = files.files[-1]
            files.seal(full, full.modified_ms)
            return files.create(full.base + full.size, UNIT_BYTES)
        return self._begin_at(queue_offset)

    def _begin_at(self, queue_offset: int) -> MappedFile:
        """Create and return the first file of the queue; if the queue begins in its middle, filler entries precede."""
        begin = queue_offset * UNIT_BYTES
        filled = begin % self.files.file_bytes
        file = self.files.create(begin - filled, filled + UNIT_BYTES)
        file.wrote = filled
        if queue_offset:
            self.files.pool.view(file)[: file.wrote] = _FILLER * (file.wrote // UNIT_BYTES)
            self.min_offset = queue_offset
        return file

    def unit(self, queue_offset: int) -> QueueUnit | None:
        raw = self.files.read(queue_offset * UNIT_BYTES, UNIT_BYTES) if queue_offset >= self.min_offset else None
        return QueueUnit(*_UNIT.unpack(raw)) if raw else None

    def units_from(self, queue_offset: int, max_bytes: int) -> bytes | None:
        """Return entries from `queue_offset` to the end of its file, at most `max_bytes`; None without entries."""
        if queue_offset < self.min_offset:
            return None
        file = self.files.find(queue_offset * UNIT_BYTES)
        if file is None:
            return None
        at = queue_offset * UNIT_BYTES - file.base
        stop = min(file.wrote, at + max_bytes)
        return bytes(self.files.pool.view(file)[at:stop]) if at < file.wrote else None

    def next_file_offset(self, queue_offset: int) -> int:
        """Return the queue offset of the first entry in the file after that of `queue_offset`."""
        units = self.files.file_bytes // UNIT_BYTES
        return queue_offset + units - queue_offset % units

    def correct_min_offset(self, log_min_offset: int) -> bool:
        """Move `min_offset` to the first entry of the first file whose record still exists; return True if it moved.

        Without such an entry the value stays, as in RocketMQ, also for a queue that lost all records.
        """
        if not self.files.files:
            return False
        file = self.files.files[0]
        base = file.base // UNIT_BYTES
        for i, (physical, _, _) in enumerate(iter_units(self.files.pool.view(file)[: file.wrote])):
            if physical >= log_min_offset:
                moved = self.min_offset != base + i
                self.min_offset = base + i
                return moved
        return False

    def delete_expired(self, log_min_offset: int) -> list[MappedFile]:
        """Delete files whose newest entry points below the log's first byte, but never the last file; return them."""
        deleted: list[MappedFile] = []
        while len(self.files.files) > 1:
            file = self.files.files[0]
            newest = _UNIT.unpack_from(self.files.pool.view(file), file.size - UNIT_BYTES)[0]
            if newest >= log_min_offset:
                break
            self.files.delete(file)
            deleted.append(file)
        return deleted


def iter_units(raw: bytes | memoryview) -> Iterator[tuple[int, int, int]]:
    """Yield the entries in a part of a queue file."""
    return _UNIT.iter_unpack(raw)
