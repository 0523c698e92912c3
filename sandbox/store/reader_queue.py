"""A reader of one consume queue that it does not own (spec store-format 4)."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from struct import Struct

from sandbox.message.record import Layout
from sandbox.store.config import CONSUME_QUEUE_UNIT_BYTES as UNIT_BYTES
from sandbox.store.config import FILLER_BYTES
from sandbox.store.reader_files import FileRun
from sandbox.store.reader_listing import StoreFile
from sandbox.store.reader_log import LogReader
from sandbox.store.results import QueueUnit

_UNIT = Struct(">qiq")
_UNITS_AT_ONCE = 2048
_NOTHING = bytes(_UNITS_AT_ONCE * UNIT_BYTES)  # most of a new queue's files, and quickly compared
_BLOCK = 256
_HOLE_BLOCKS = 7  # this many blocks of zeros may precede more entries
_WITNESSES = 32  # entries checked together: most of them are valid


def is_filler(unit: QueueUnit) -> bool:
    """Return True if the entry has no message."""
    return unit.store_bytes == FILLER_BYTES


def _is_written(unit: QueueUnit) -> bool:
    return unit.physical_offset >= 0 and unit.store_bytes > 0


class ConsumeQueueReader:
    """The entries of one queue.  The end is the last entry whose record exists and belongs to this queue."""

    def __init__(self, run: FileRun, log: LogReader, topic: str, queue_id: int) -> None:
        self.run = run
        self.topic = topic
        self.queue_id = queue_id
        self._log = log

    def unit(self, queue_offset: int) -> QueueUnit | None:
        """Return the entry in the file, valid or not; None if nothing was written."""
        data = self.run.read(queue_offset * UNIT_BYTES, UNIT_BYTES)
        if len(data) < UNIT_BYTES:
            return None
        unit = QueueUnit._make(_UNIT.unpack(data))
        return unit if _is_written(unit) else None

    def units(self, start: int, stop: int) -> Iterator[tuple[int, QueueUnit]]:
        """Yield entries from `start` up to `stop`, valid or not, without those never written."""
        while start < stop:
            file = self.run.find(start * UNIT_BYTES)
            if file is None:  # a file may be missing
                later = (-(-file.start // UNIT_BYTES) for file in self.run.files)
                start = next((position for position in later if position > start), stop)
                continue
            count = min(stop - start, _UNITS_AT_ONCE, (file.end - start * UNIT_BYTES) // UNIT_BYTES)
            if count == 0:  # it ends within an entry
                start += 1
                continue
            data = self.run.read(start * UNIT_BYTES, count * UNIT_BYTES)
            whole = len(data) // UNIT_BYTES
            if whole == 0:
                return
            if data == _NOTHING[: len(data)]:
                start += whole
                continue
            for fields in _UNIT.iter_unpack(data[: whole * UNIT_BYTES]):
                unit = QueueUnit._make(fields)
                if _is_written(unit):
                    yield start, unit
                start += 1

    @property
    def first_place(self) -> int:
        """The first queue offset of the files."""
        return self.run.start // UNIT_BYTES

    def written_end(self) -> int:
        """Return the queue offset after the last written entry; a few zeros before it are allowed."""
        ends = (self._written_end(file) for file in reversed(self.run.files))
        return next((end for end in ends if end is not None), self.first_place)

    def _written_end(self, file: StoreFile) -> int | None:
        """Return the queue offset after the last entry written in the file; None if nothing is written in it."""
        first, end = file.start // UNIT_BYTES, file.end // UNIT_BYTES

        def is_over(start: int) -> bool:
            return next(self.units(start, min(end, start + (1 + _HOLE_BLOCKS) * _BLOCK)), None) is None

        blocks = range(first, end, _BLOCK)
        over = bisect_left(blocks, True, key=is_over)
        if not over:
            return None
        begin = blocks[over - 1]
        data = self.run.read(begin * UNIT_BYTES, _BLOCK * UNIT_BYTES).rstrip(b"\0")
        filled = range(begin, min(end, begin + -(-len(data) // UNIT_BYTES)))
        return next((position + 1 for position in reversed(filled) if self.unit(position) is not None), None)

    def max_offset(self) -> int:
        """Return the queue offset after the last valid entry, after listing the files again."""
        self.run.refresh()
        for file in reversed(self.run.files):
            places = range(file.start // UNIT_BYTES, self._written_end(file) or 0)
            trusted = next((position for position in reversed(places) if self.leads_home(position)), None)
            if trusted is not None:
                return trusted + 1
        return self.first_place

    def min_offset(self) -> int:
        """Return the offset of the first entry whose record still exists.

        0 without one, as in RocketMQ (spec observed 1.2.8).
        """
        end = self.max_offset()
        first = self.first_there(end)
        return first if first < end else 0

    def first_there(self, end: int) -> int:
        """Return the offset of the first entry below `end` whose record still exists, or `end` without one."""
        log_min = self._log.min_offset

        def is_there(_place: int, unit: QueueUnit) -> bool:
            return not is_filler(unit) and unit.physical_offset >= log_min

        return self._first_such(self.first_place, end, is_there)

    def first_stored_from(self, at_ms: int, start: int, end: int) -> int:
        """Return the first offset in `[start, end)` whose message was stored at `at_ms` or later, or `end`.

        Messages are assumed to be in the order of their store times, as RocketMQ assumes.
        """

        def is_late(position: int, unit: QueueUnit) -> bool | None:
            record = self._record(position, unit)
            return None if record is None else record.store_ms >= at_ms

        return self._first_such(start, end, is_late)

    def _first_such(self, first: int, end: int, is_such: Callable[[int, QueueUnit], bool | None]) -> int:
        """Return the first offset in `[first, end)` from which on `is_such` is true for all, or `end`.

        Single wrong answers do not move it; None is no answer.
        """

        def asked(start: int, stop: int, most: int) -> list[tuple[int, bool]]:
            answers = ((position, is_such(position, unit)) for position, unit in self.units(start, stop))
            return list(islice(((position, such) for position, such in answers if such is not None), most))

        def most_are_such(start: int) -> bool:
            near = asked(start, min(end, start + _WITNESSES), _WITNESSES) or asked(start, end, _WITNESSES)
            return 2 * sum(such for _, such in near) >= len(near)

        # Asked first: it is the answer where nothing was deleted yet.
        first = first if most_are_such(first) else _first(first, end, most_are_such)
        near = asked(first, end, 2 * _WITNESSES)
        cut = _cut([such for _, such in near])
        return near[cut][0] if cut < len(near) else end

    def leads_home(self, queue_offset: int) -> bool:
        """Return True if the entry points to a record with this queue and offset, or to one deleted by retention."""
        unit = self.unit(queue_offset)
        if unit is None:
            return False
        if is_filler(unit) or unit.physical_offset < self._log.min_offset:
            return True  # its record was deleted by retention: valid
        return self._record(queue_offset, unit) is not None

    def _record(self, queue_offset: int, unit: QueueUnit) -> Layout | None:
        """Return the record to which the entry points; None if it is no record with this queue and offset."""
        item = self._log.layout(unit.physical_offset, unit.store_bytes)
        if item is None or not isinstance(item.found, Layout):
            return None
        named = item.found.queue_id, item.found.queue_offset, item.topic
        return item.found if named == (self.queue_id, queue_offset, self.topic) else None


def _cut(presence: Sequence[bool]) -> int:
    """Return the index of the first True such that the fewest values are on the wrong side.

    Single wrong values do not move it.
    """
    best = wrong = presence.count(False)
    cut = 0
    for number, is_present in enumerate(presence, 1):
        wrong += 1 if is_present else -1
        if wrong < best:
            best, cut = wrong, number
    return cut


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first number in `[low, high)` for which `holds`, which then stays true; `high` without one."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
