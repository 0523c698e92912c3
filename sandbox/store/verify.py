"""Verification of a store: queues and index are derived from the log again and compared.

Spec store-format 2, 4, 5, 8.  Nothing is changed.  A store in use may be verified: undispatched records are a note,
not an error.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from sandbox.kernel.errors import CorruptRecord
from sandbox.message import properties as names
from sandbox.message import record, sys_flag
from sandbox.message.message import StoredMessage
from sandbox.message.record import Blank, Broken, Layout
from sandbox.message.string_hash import tags_code
from sandbox.store.config import CONSUME_QUEUE_UNIT_BYTES as UNIT_BYTES
from sandbox.store.findings import (
    LOG_ENDS,
    Findings,
    VerifyReport,
    file_sizes_text,
    missing_unit_text,
    orphan_unit_text,
    stop_of_log,
    torn_tail_text,
    two_records_text,
    wrong_unit_text,
)
from sandbox.store.reader import StoreReader
from sandbox.store.reader_log import Item
from sandbox.store.reader_queue import ConsumeQueueReader, is_filler
from sandbox.store.results import QueueUnit
from sandbox.store.verify_around import around, checkpoint_ahead, length_of
from sandbox.store.verify_index import IndexCheck

SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
DELAY_LEVELS_MS = tuple(
    seconds * 1000
    for seconds in (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
)


def verify(reader: StoreReader, *, delay_levels_ms: tuple[int, ...] = DELAY_LEVELS_MS) -> VerifyReport:
    """Read the whole log, compare queues and index with it, and return the report."""
    return _Verification(reader, delay_levels_ms).run()


def expected_unit(message: StoredMessage, delay_levels_ms: tuple[int, ...] = DELAY_LEVELS_MS) -> QueueUnit | None:
    """Return the queue entry that a record must have; None for a half or rolled-back message."""
    if sys_flag.transaction(message.sys_flag) in (sys_flag.TRANSACTION_PREPARED, sys_flag.TRANSACTION_ROLLBACK):
        return None
    code = tags_code(message.properties.get(names.TAGS, ""))
    if message.topic == SCHEDULE_TOPIC:
        due_ms = due_after_ms(message.properties.get(names.DELAY, ""), delay_levels_ms)
        code = code if due_ms is None else message.store_ms + due_ms
    return QueueUnit(message.physical_offset, message.store_bytes, code)


def due_after_ms(level: str, delay_levels_ms: tuple[int, ...] = DELAY_LEVELS_MS) -> int | None:
    """Return the delay in ms of a message of SCHEDULE_TOPIC_XXXX, or None if it is not delayed."""
    if not level.isdecimal() or int(level) <= 0:
        return None
    return delay_levels_ms[min(int(level), len(delay_levels_ms)) - 1]


class _Queue:
    """One queue during the walk, and which of its entries have a record."""

    def __init__(self, reader: ConsumeQueueReader) -> None:
        self.reader = reader
        self.first = reader.first_place
        self.end = max((n + 1 for n, _ in reader.units(self.first, reader.unbroken_end)), default=self.first)
        self.claimed = bytearray(self.end - self.first)
        self.where = f"consumequeue/{reader.topic}/{reader.queue_id}"
        first = reader.unit(self.first)
        self.begin_physical = first.physical_offset if first is not None and reader.leads_home(self.first) else 0


class _Verification:
    """One verification of one store."""

    def __init__(self, reader: StoreReader, delay_levels_ms: tuple[int, ...]) -> None:
        self._reader = reader
        self._delay_levels_ms = delay_levels_ms
        self._found = Findings()
        self._queues = {name: _Queue(reader.queue(*name)) for name in reader.queues()}
        self._in_use = reader.aborted or bool(reader.lock().holder)
        self._index = IndexCheck(reader, self._found, in_use=self._in_use)
        self._missing_queues: set[tuple[str, int]] = set()
        self._positions: list[int] | None = None
        self._records = self._blanks = self._end = self._last_ms = self._newest_ms = 0

    def run(self) -> VerifyReport:
        self._reader.log.run.refresh()
        for finding in around(self._reader.root, is_open=self._in_use):
            self._found.add(*finding[1:])
        self._check_files()
        for item in self._items():
            if isinstance(item.found, Blank):
                self._blanks += 1
                self._end = item.at + item.found.size
            elif isinstance(item.found, Layout):
                self._check_record(item, item.found)
        for queue in self._queues.values():
            self._check_unclaimed(queue)
        self._index.finish(self._end)
        if not self._in_use and not self._found.has_any(LOG_ENDS, "commitlog"):
            for ahead in checkpoint_ahead(self._reader.root, self._newest_ms):
                self._found.add(*ahead[1:])
        units = sum(len(queue.claimed) for queue in self._queues.values())
        return VerifyReport(
            self._records,
            self._blanks,
            self._end,
            len(self._queues),
            units,
            self._index.entries,
            self._found.items,
            self._found.omitted,
        )

    def _check_files(self) -> None:
        files = self._reader.log.run.files
        size = length_of(files)
        for file, following in pairwise(files):
            if file.end != following.start:
                self._found.add("gap", "commitlog", file.end, f"the next file begins at {following.start}")
        for file in files:
            if file.size_bytes < size:
                self._found.add(
                    "file_sizes",
                    "commitlog",
                    file.start + file.size_bytes,
                    file_sizes_text(file.size_bytes, is_last=file is files[-1]),
                )

    def _items(self) -> Iterator[Item]:
        """Yield everything in the log; unreadable parts are reported and skipped if a valid record follows."""
        log = self._reader.log
        at: int | None = log.min_offset
        while at is not None:
            start = end = at
            for item in log.walk(start):
                if not isinstance(item.found, Broken):
                    yield item
                    end = item.at + item.found.size
                    continue
                whole = record.examine(item.data, item.data_at, len(item.data), check_crc=False)
                if isinstance(whole, Layout) and whole.physical_offset == item.at:  # only the body is damaged
                    self._found.add("crc", "commitlog", item.at, item.found.why)
                    yield item._replace(found=whole)
                    at = item.at + whole.size
                else:
                    at = self._step_over(item, item.found)
                break
            else:  # a file may be missing, or its end
                at = next((file.start for file in log.run.files if file.start > end), None)

    def _step_over(self, item: Item, broken: Broken) -> int | None:
        """Report a position without a record and return the offset of the next one, or None at the end of the log."""
        positions = self._unit_positions()
        following = bisect_right(positions, item.at - 1)
        pointed_at = following < len(positions) and positions[following] == item.at
        beyond = self._next_sound(item.at, positions[following + pointed_at :])
        stop = stop_of_log(
            broken.why, None if beyond is None else beyond - item.at, pointed_at=pointed_at, untouched=item.untouched
        )
        if stop is not None:
            code, text = stop
            self._found.add(code, "commitlog", item.at, text)
        if beyond is None and not self._in_use:
            self._check_behind(item.at)
        return beyond

    def _check_behind(self, end: int) -> None:
        """Report files after the end of a closed store's log that are not empty."""
        log = self._reader.log
        for start in (file.start for file in log.run.files if file.start > end):
            for item in log.walk(start):
                if isinstance(item.found, Broken) and item.at == start and not item.untouched:
                    self._found.add("torn_tail", "commitlog", start, torn_tail_text(item.found.why))
                break

    def _next_sound(self, at: int, candidates: list[int]) -> int | None:
        log = self._reader.log
        starts = [file.start for file in log.run.files if file.start > at]
        return next((position for position in sorted({*candidates, *starts}) if log.layout(position) is not None), None)

    def _unit_positions(self) -> list[int]:
        """Return the log positions in all queue entries, ascending; read once, and only if something is broken."""
        if self._positions is None:
            self._positions = sorted(
                {
                    unit.physical_offset
                    for queue in self._queues.values()
                    for _, unit in queue.reader.units(queue.first, queue.end)
                    if not is_filler(unit)
                }
            )
        return self._positions

    def _check_record(self, item: Item, layout: Layout) -> None:
        try:
            message = item.message()
        except CorruptRecord as error:
            self._found.add("unreadable", "commitlog", item.at, str(error))
            return
        self._records += 1
        self._end = item.at + layout.size
        if message.store_ms < self._last_ms:
            self._found.add(
                "time_goes_back",
                "commitlog",
                item.at,
                f"stored at {message.store_ms}, the record before at {self._last_ms}",
            )
        self._last_ms = message.store_ms
        self._newest_ms = max(self._newest_ms, message.store_ms)
        unit = expected_unit(message, self._delay_levels_ms)
        if unit is not None:
            self._check_unit(message, unit)
        self._index.expect(message)

    def _check_unit(self, message: StoredMessage, expected: QueueUnit) -> None:
        name = message.topic, message.queue_id
        queue = self._queues.get(name)
        if queue is None:
            if name not in self._missing_queues:
                self._missing_queues.add(name)
                self._found.add(
                    "no_queue",
                    f"consumequeue/{name[0]}/{name[1]}",
                    0,
                    f"the log has messages from {message.physical_offset} on, the queue has no files",
                )
            return
        index = message.queue_offset - queue.first
        if index < 0:
            if not self._in_use:  # otherwise deleted meanwhile, with the log file of its record
                self._report_missing(queue, message)
            return
        if message.physical_offset < queue.begin_physical:
            return  # of a topic deleted and created again
        actual = queue.reader.unit(message.queue_offset)
        if actual is None:
            self._report_missing(queue, message)
            return
        position = message.queue_offset * UNIT_BYTES
        if index < len(queue.claimed):
            if queue.claimed[index]:
                self._found.add("two_records", queue.where, position, two_records_text(message.physical_offset))
                return
            queue.claimed[index] = 1
        if actual != expected:
            self._found.add(
                "wrong_unit", queue.where, position, wrong_unit_text(message.queue_offset, actual, expected)
            )

    def _report_missing(self, queue: _Queue, message: StoredMessage) -> None:
        text = missing_unit_text(message.queue_offset, message.physical_offset)
        behind = self._in_use and message.queue_offset >= queue.end
        self._found.add("behind" if behind else "missing_unit", queue.where, message.queue_offset * UNIT_BYTES, text)

    def _check_unclaimed(self, queue: _Queue) -> None:
        """Report entries without a record, unless the log's part was deleted or the queue began in its middle."""
        index = queue.claimed.find(0)
        while index >= 0:
            number = queue.first + index
            unit = queue.reader.unit(number)
            if unit is not None and not is_filler(unit) and unit.physical_offset >= self._reader.log.min_offset:
                self._found.add(
                    "orphan_unit", queue.where, number * UNIT_BYTES, orphan_unit_text(number, unit.physical_offset)
                )
            index = queue.claimed.find(0, index + 1)
