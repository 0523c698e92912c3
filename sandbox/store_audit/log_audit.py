"""Audit of log files: checksums of bodies, and the queue entry of each record (spec store-format 2, 4, 8)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sandbox.message import properties as names
from sandbox.message.sys_flag import OUT_OF_QUEUE
from sandbox.message.topic_names import SCHEDULE_TOPIC
from sandbox.store.config import MessageStoreConfig
from sandbox.store.reader_files import OpenFiles
from sandbox.store.results import QueueUnit
from sandbox.store_audit.findings import Finding, missing_unit_text, two_records_text, wrong_unit_text
from sandbox.store_audit.piece_results import Notes, Part, Times
from sandbox.store_columns.log_columns import LogFile, Records
from sandbox.store_columns.property_texts import Texts
from sandbox.store_columns.queue_positions import UNIT, Log, Longs, queues_of
from sandbox.store_columns.queue_units import QueueUnits
from sandbox.store_columns.store_log import Stopped, StoreLog
from sandbox.store_columns.topics import named, topics_in

MAX_OPEN_QUEUES = 256
NO_TOPIC = "its topic is not UTF-8"
TIME_GOES_BACK = "time_goes_back"


class Place(NamedTuple):
    """A store with the list of its log files at the time when the audit was divided into pieces.

    `open`: the store was not closed, so its end may be incomplete.  `delay_levels_ms`: None if unknown; then a due
    time is valid if it is whole seconds after the store time.  `index_slots`: None to read the number from the
    files.  `around`: findings that names and sizes of files alone give.  `queue_file_bytes`: the commonest length of
    queue files.
    """

    name: str
    root: Path
    logs: tuple[Log, ...]
    open: bool
    delay_levels_ms: tuple[int, ...] | None
    index_slots: int | None
    around: tuple[Finding, ...]
    queue_file_bytes: int = 0


def audit_log(store: Place, logs: Sequence[Log]) -> Part:
    """Audit these consecutive files of the store's log and return the findings and counts."""
    return _LogAudit(store).run(logs)


class _LogAudit:
    """The audit of some consecutive log files."""

    def __init__(self, store: Place) -> None:
        self._place = store
        self._log = StoreLog(store.root, store.logs)
        self._notes = Notes()
        self._opened = OpenFiles(MAX_OPEN_QUEUES)
        self._known = set(queues_of(store.root))
        self._queues: dict[tuple[str, int], QueueUnits] = {}
        self._begins: dict[tuple[str, int], int] = {}
        self._stops: list[Stopped] = []
        self._times: Times | None = None

    def run(self, logs: Sequence[Log]) -> Part:
        with self._opened:
            # before the log is read: a writer adds the unit after its record
            newest = self._newest() if logs[-1] == self._log.logs[-1] or self._may_end(logs) else np.zeros(0, np.int64)
            for item in self._log.walk(logs):
                if isinstance(item, Stopped):
                    self._stops.append(item)
                else:
                    self._check(*item)
            ends = [stop for stop in self._stops if stop.resume is None]
            pointed = bool(ends) and bool(((newest >= ends[0].position) & (newest < self._reach(ends[0]))).any())
            self._notes.counts["blanks"] += self._log.blanks
            return self._notes.part(self._place.name, stops=self._stops, pointed_at=pointed, times=self._times)

    def _may_end(self, logs: Sequence[Log]) -> bool:
        """Return True if the log may end in `logs`: all later files are missing or hold no record at their start.

        A broker creates files before it needs them, so later files may exist and be empty.
        """
        after = [log for log in self._log.logs if log.start >= logs[-1].end]
        return not any((file := self._log.file(log)) is not None and file.holds(0) for log in after)

    def _reach(self, stop: Stopped) -> int:
        """Return the end position of the log file in which the walk stopped."""
        log = self._log.log_before(stop.position) or self._log.logs[-1]
        return log.start + self._log.file_bytes

    def _newest(self) -> Longs:
        """Return the log positions in the last units of all queues."""
        units = [self._queue(name).newest()["physical"] for name in sorted(self._known)]
        return np.concatenate(units).astype(np.int64) if units else np.zeros(0, np.int64)

    def _check(self, file: LogFile, records: Records) -> None:
        counts = self._notes.counts
        topics, topic_of = topics_in(file, records)
        is_named = named(topics, topic_of)
        if not is_named.all():
            self._stop_at(file, records.part(~is_named))
            records, topic_of = records.part(is_named), topic_of[is_named]
        if not len(records):
            return
        counts["records"] += len(records)
        counts["newest_ms"] = max(counts["newest_ms"], int(records.store_ms.max()))
        counts["record_bytes"] += int(records.size.sum())
        counts["log_end"] = max(counts["log_end"], int(file.log.start + records.at[-1] + records.size[-1]))
        self._check_times(file, records)
        self._check_bodies(file, records)
        is_queued = (records.sys_flag & OUT_OF_QUEUE) == 0
        queued, topic_of = records.part(is_queued), topic_of[is_queued]
        counts["not_for_queues"] += len(records) - len(queued)
        texts = Texts(file.texts(queued))
        codes = texts.tags_codes()
        levels = self._place.delay_levels_ms or MessageStoreConfig.delay_levels_ms
        for number, topic in enumerate(topics):
            if topic == SCHEDULE_TOPIC:
                for row, level in texts.texts_of(names.DELAY).items():
                    due_ms = _due_after_ms(level, levels) if topic_of[row] == number else None
                    codes[row] = codes[row] if due_ms is None else queued.store_ms[row] + due_ms
        pairs = topic_of << 32 | queued.queue_id & 0xFFFF_FFFF
        order = np.argsort(pairs, kind="stable")
        cuts = np.flatnonzero(np.diff(pairs[order])) + 1
        for rows in np.split(order, cuts):
            if len(rows):
                name = topics[int(topic_of[rows[0]])] or "", int(queued.queue_id[rows[0]])
                self._check_units(name, file.log.start, queued.part(rows), codes[rows])

    def _stop_at(self, file: LogFile, records: Records) -> None:
        """Add a stop for each record without a topic: the log continues after it."""
        start = file.log.start
        for at, size in zip(records.at.tolist(), records.size.tolist(), strict=True):
            self._stops.append(Stopped(start + at, file.log.path, NO_TOPIC, start + at + size, untouched=False))

    def _check_times(self, file: LogFile, records: Records) -> None:
        """Count records that were stored earlier than the record before them."""
        first_ms, last_ms = int(records.store_ms[0]), int(records.store_ms[-1])
        times = self._times or Times(file.log.start + int(records.at[0]), first_ms, first_ms)
        earlier = int((np.diff(records.store_ms) < 0).sum()) + (first_ms < times.last_ms)
        self._notes.counts[TIME_GOES_BACK] += earlier
        self._times = times._replace(last_ms=last_ms)

    def _check_bodies(self, file: LogFile, records: Records) -> None:
        view = file.view
        ends = records.body_at + records.body_bytes
        computed = np.fromiter(
            (crc32(view[begin:end]) for begin, end in zip(records.body_at.tolist(), ends.tolist(), strict=True)),
            np.int64,
            len(records),
        )
        self._notes.counts["bodies"] += len(records)
        for row in np.flatnonzero(((computed & 0x7FFF_FFFF) != records.crc) & (records.body_bytes > 0)):
            at = int(records.at[row])
            topic = str(
                view[records.topic_at[row] : records.topic_at[row] + records.topic_bytes[row]], "utf-8", "replace"
            )
            self._notes.add(
                Finding(
                    "crc",
                    f"commitlog/{file.log.start:020}",
                    at,
                    f"body CRC is {int(computed[row]) & 0x7FFF_FFFF:08X}, the record says {int(records.crc[row]):08X}",
                    topic,
                    int(records.queue_id[row]),
                    int(records.queue_offset[row]),
                )
            )

    def _check_units(self, name: tuple[str, int], base: int, records: Records, codes: Longs) -> None:
        """Compare the records of one queue with its consume queue units and add findings."""
        if name not in self._known:
            self._notes.counts["without_queue"] += len(records)
            return
        expected = np.zeros(len(records), UNIT)
        expected["physical"], expected["size"], expected["tags"] = base + records.at, records.size, codes
        order = np.argsort(records.queue_offset, kind="stable")
        offsets, expected = records.queue_offset[order], expected[order]
        queue = self._queue(name)
        actual = queue.at(offsets)
        different = actual != expected
        if not different.any():
            self._notes.counts["units"] += len(records)
            return
        # a queue drops a file when the log has dropped all its records; in an open store, meanwhile
        before = offsets < queue.first
        gone = (before & self._place.open) | (~before & (expected["physical"] < self._begin(name)))
        self._notes.counts["before_queue"] += int(gone.sum())
        self._notes.counts["units"] += int((~gone & ~different).sum())
        rows = np.flatnonzero(different & ~gone)
        settled = self._settled(queue, records.store_ms[order], expected, actual, rows)
        home = self._log.leads_home(actual[rows], offsets[rows], *name)
        for row, at_home in zip(rows.tolist(), home.tolist(), strict=True):
            offset, unit, should = int(offsets[row]), _unit(actual[row]), _unit(expected[row])
            path, position = queue.file_of(offset)
            if row in settled:
                self._notes.counts["units"] += 1
            elif unit.store_bytes <= 0:
                if self._place.open and offset >= queue.end:
                    self._notes.counts["not_dispatched"] += 1
                elif self._place.open and queue.has_dropped(offset):
                    self._notes.counts["before_queue"] += 1
                else:
                    self._notes.add(
                        Finding(
                            "missing_unit",
                            path,
                            position,
                            missing_unit_text(offset, should.physical_offset),
                            *name,
                            offset,
                        )
                    )
            elif at_home and unit.physical_offset != should.physical_offset:
                self._notes.add(
                    Finding(
                        "two_records",
                        path,
                        position,
                        two_records_text(max(unit.physical_offset, should.physical_offset)),
                        *name,
                        offset,
                    )
                )
            else:
                self._notes.add(
                    Finding("wrong_unit", path, position, wrong_unit_text(offset, unit, should), *name, offset)
                )

    def _settled(
        self, queue: QueueUnits, store_ms: Longs, expected: NDArray[Any], actual: NDArray[Any], rows: Longs
    ) -> set[int]:
        """Return the rows where only the tags code differs and the difference is valid.

        It is valid if the code is an address in the queue's extension, or if the broker has other delay levels.
        """
        alike = (actual["physical"] == expected["physical"]) & (actual["size"] == expected["size"])
        same = [row for row in rows.tolist() if alike[row]]
        settled = {row for row in same if queue.leads_to(int(actual[row]["tags"]), int(expected[row]["tags"]))}
        if queue.topic == SCHEDULE_TOPIC and self._place.delay_levels_ms is None:
            waits_ms = {row: int(actual[row]["tags"]) - int(store_ms[row]) for row in same}
            settled.update(row for row, wait_ms in waits_ms.items() if wait_ms > 0 and wait_ms % 1_000 == 0)
        return settled

    def _queue(self, name: tuple[str, int]) -> QueueUnits:
        if name not in self._queues:
            self._queues[name] = QueueUnits(self._place.root, *name, self._opened, self._place.queue_file_bytes)
        return self._queues[name]

    def _begin(self, name: tuple[str, int]) -> int:
        """Return the log position of the record of the queue's first unit.

        Older records belong to deleted files or to a deleted topic of the same name.
        """
        if name not in self._begins:
            queue = self._queue(name)
            first = queue.first_real()
            units = queue.stretch(first, first + 1)
            gone = len(units) > 0 and 0 <= units["physical"][0] < self._log.start
            home = gone or (len(units) > 0 and self._log.leads_home(units, np.array([first], np.int64), *name)[0])
            self._begins[name] = int(units["physical"][0]) if home and units["size"][0] > 0 else 0
        return self._begins[name]


def _unit(value: Any) -> QueueUnit:
    return QueueUnit(int(value["physical"]), int(value["size"]), int(value["tags"]))


def _due_after_ms(level: str, delay_levels_ms: tuple[int, ...]) -> int | None:
    """Return the delay in ms of a message of SCHEDULE_TOPIC_XXXX, or None if it is not delayed."""
    if not level.isdecimal() or int(level) <= 0:
        return None
    return delay_levels_ms[min(int(level), len(delay_levels_ms)) - 1]
