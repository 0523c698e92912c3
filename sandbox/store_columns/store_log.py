"""The whole commit log of a store: read from any position, and compared with units."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.message.record import Blank, Broken
from sandbox.message.sys_flag import OUT_OF_QUEUE
from sandbox.store_columns.log_columns import LogFile, Records, Stop
from sandbox.store_columns.queue_positions import EVERYTHING, Log, Longs, places

MAX_MAPPED = 4
SPAN_BYTES = 64 * 1024 * 1024


class Stopped(NamedTuple):
    """A position of the log without a record; `resume` is the position of the next record, None where the log ends."""

    position: int
    file: str
    why: str
    resume: int | None
    untouched: bool


class StoreLog:
    """The log of a store.  `logs`: its files when the audit was divided; those deleted since are skipped."""

    def __init__(self, root: Path, logs: Sequence[Log]) -> None:
        self.root, self.logs = root, logs
        self._starts = np.array([log.start for log in logs], np.int64)
        self._ends = np.array([log.end for log in logs], np.int64)
        self._mapped: OrderedDict[str, LogFile | None] = OrderedDict()
        self._queued: tuple[Log | None, int, Longs] = None, 0, np.zeros(0, np.int64)
        self.blanks = 0  # walked over

    @property
    def start(self) -> int:
        return self.logs[0].start if self.logs else 0

    @property
    def file_bytes(self) -> int:
        """The length of the longest file, which is the normal length."""
        return max((log.end - log.start for log in self.logs), default=0)

    def file(self, log: Log) -> LogFile | None:
        """Return the mapped file, or None if it is deleted.  At most `MAX_MAPPED` files stay mapped."""
        if log.path not in self._mapped:
            while len(self._mapped) >= MAX_MAPPED:
                self._mapped.popitem(last=False)
            try:
                self._mapped[log.path] = LogFile(log)
            except FileNotFoundError:
                self._mapped[log.path] = None
        self._mapped.move_to_end(log.path)
        return self._mapped[log.path]

    def log_at(self, position: int) -> Log | None:
        """Return the log file that contains this position, or None."""
        log = self.log_before(position)
        return log if log is not None and position < log.end else None

    def log_before(self, position: int) -> Log | None:
        """Return the last log file that starts at or before this position, even if it is too short.

        None before the first.
        """
        index = int(np.searchsorted(self._starts, position, "right")) - 1
        return self.logs[index] if index >= 0 else None

    def walk(self, logs: Sequence[Log], start: int = 0) -> Iterator[tuple[LogFile, Records] | Stopped]:
        """Yield every record of these files that begins at `start` or later, and a `Stopped` where one is missing."""
        for log in logs:
            file = self.file(log)
            if file is None or log.end <= start:
                continue
            at: int | None = start - log.start if start > log.start and file.holds(start - log.start) else 0
            while at is not None:
                begin, at = at, None
                for item in file.records(begin):
                    if isinstance(item, Records):
                        yield file, item
                    elif (broken := self._broken(log, item)) is None:
                        self.blanks += isinstance(item.found, Blank) and item.found.size > 0
                    else:
                        stopped = self._stopped(file, item.at, broken)
                        if stopped.resume is not None and log.start <= stopped.resume < log.end:
                            at = stopped.resume - log.start
                        yield stopped

    def leads_home(self, units: NDArray[Any], offsets: Longs, topic: str, queue_id: int) -> NDArray[np.bool_]:
        """Return a mask of the units that point to a record with their queue and queue offset."""
        name = topic.encode()
        home = np.zeros(len(units), bool)
        physical = units["physical"].astype(np.int64)
        for log, rows in self._spans(physical):
            file = self.file(log)
            if file is None:
                continue
            records, sound = file.columns(physical[rows] - log.start)
            sound &= (records.size == units["size"][rows]) & (records.queue_offset == offsets[rows])
            sound &= (records.queue_id == queue_id) & (records.topic_bytes == len(name))
            sound &= (records.sys_flag & OUT_OF_QUEUE) == 0
            rows, records = rows[sound], records.part(sound)
            if len(rows) and name:
                home[rows] = file.same_text(records.topic_at, name)
            file.release()
        return home

    def _spans(self, physical: Longs) -> Iterator[tuple[Log, Longs]]:
        """Yield log files and the rows with a position in a span of that file, so that few pages are read at once."""
        index = np.searchsorted(self._starts, physical, "right") - 1
        spans = index << 32 | np.maximum(0, physical) // SPAN_BYTES & 0xFFFF_FFFF
        if not self.logs:
            return
        inside = (index >= 0) & (physical < self._ends[index])
        for span in np.unique(spans[inside]):
            yield self.logs[int(span) >> 32], np.flatnonzero(inside & (spans == span))

    def _broken(self, log: Log, stop: Stop) -> Broken | None:
        """Return the reason for an irregular stop, or None where the file ends normally."""
        if isinstance(stop.found, Broken):
            return stop.found
        return None if log.end - log.start == self.file_bytes else Broken(None, "the file ends here")

    def _stopped(self, file: LogFile, at: int, broken: Broken) -> Stopped:
        """Return the stop with the position where records continue.

        That is the next position to which a queue points and where a record is, or the next file that begins with one.
        """
        log = file.log
        later = self._queued_behind(log, log.start + at)
        resume = next((int(physical) for physical in later if file.holds(int(physical) - log.start)), None)
        if resume is None:
            resume = next((other.start for other in self.logs if other.start > log.start and self._begins(other)), None)
        untouched = not file.bytes[at : at + 8].any()
        return Stopped(log.start + at, log.path, broken.why, resume, untouched)

    def _queued_behind(self, log: Log, position: int) -> Longs:
        """Return the positions behind this one in the log file to which queues point, ascending.

        They are read once for ascending positions, because a damaged file may have many stops.
        """
        known, begin, queued = self._queued
        if known != log or position < begin:
            queued = places(self.root, EVERYTHING, position, log.end).physical
            self._queued = log, position, queued
        return queued[np.searchsorted(queued, position, "right") :]

    def _begins(self, log: Log) -> bool:
        file = self.file(log)
        return file is not None and file.holds(0)
