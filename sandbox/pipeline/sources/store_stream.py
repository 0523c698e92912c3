"""`spark.readStream.format("rocketmq-store")`: new messages of stores, each exactly once by its checkpoint.

Options beside those of the batch: `startingOffsets` (`earliest`, `latest`, or JSON as `store_requests` has it, where
-2 is earliest and -1 latest), or times (`time_bounds`); the limits of a batch (`batch_limits`).  They are named as
the Kafka source names them.  An existing checkpoint takes precedence.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from sandbox.pipeline.sources import store_offsets as offsets
from sandbox.pipeline.sources import store_requests as requests
from sandbox.pipeline.sources.batch_limits import Pace, pace_of
from sandbox.pipeline.sources.error_reports import reports_errors
from sandbox.pipeline.sources.first_end import FirstEnd
from sandbox.pipeline.sources.local_directories import PATHS
from sandbox.pipeline.sources.option_hints import OF_STORE
from sandbox.pipeline.sources.option_values import check_names, is_strict, least_partitions
from sandbox.pipeline.sources.records import batches, of_message, with_store
from sandbox.pipeline.sources.store_offsets import Position, Slice
from sandbox.pipeline.sources.store_options import NAMES, Root, columns_in, roots_of, wanted_of
from sandbox.pipeline.sources.time_bounds import START, Times, no_ends
from sandbox.pipeline.sources.trigger import Trigger
from sandbox.store.config import FILLER_BYTES
from sandbox.store_columns.queue_positions import NO_END, Log, Places, Wanted, log_files, slice_places

MESSAGES_PER_TASK = 65_536


class Asked(NamedTuple):
    """The parsed options of a stream."""

    roots: list[Root]
    columns: list[str]
    wanted: Wanted
    starting: str | Position
    from_time: Times | None
    pace: Pace
    min_partitions: int
    fail_on_data_loss: bool

    @property
    def is_named(self) -> bool:
        return self.roots[0].name is not None

    @property
    def begins_late(self) -> bool:
        """True if the start depends on the time of the call."""
        return self.from_time is not None or requests.begins_at_end(self.starting)


def asked_of(options: Mapping[str, str], schema: Any = None) -> Asked:
    """Return the parsed options of a stream.  Raises ValueError, and StoreError for a directory without a store."""
    check_names(options, NAMES, OF_STORE, PATHS)
    no_ends(options)
    if "skippedLogs" in options:
        raise ValueError("Option skippedLogs needs a batch read: a stream skips no logs.")
    return Asked(
        roots_of(options),
        columns_in(schema, options),
        wanted_of(options),
        requests.asked_of(options, "startingOffsets", "earliest"),
        requests.times_of(options).start,
        pace_of(options),
        least_partitions(options),
        is_strict(options),
    )


class SlicePartition(InputPartition):
    """A partition of a read: some messages of some queues."""

    def __init__(self, pieces: Sequence[Slice]) -> None:
        super().__init__(pieces)
        self.pieces = list(pieces)


class StoreStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The stream reader: it plans in one process from the current files and reads in the workers."""

    def __init__(self, asked: Asked, now_s: Callable[[], float] = monotonic) -> None:
        self.asked, self._now_s = asked, now_s
        self._target: Mapping[offsets.Queue, int] | None = None
        self._first_end = FirstEnd()
        self._trigger = Trigger(asked.pace)
        self._latest: dict[str, object] | None = None

    @reports_errors
    def initialOffset(self) -> dict[str, object]:
        requests.check_queues(START[2], self.asked.starting, self.asked.roots)
        requests.check_queues(START[1], self.asked.from_time, self.asked.roots)
        requests.check_topics(self.asked.wanted, self.asked.roots)
        extents = offsets.extents(self.asked.roots, self.asked.wanted)
        requests.check_asked(self.asked.starting, "latest", extents, fail_on_data_loss=self.asked.fail_on_data_loss)
        position = requests.started(self.asked.starting, self.asked.from_time, extents, self.asked.roots)
        return self._first_end.begun(self._plain(position), is_late=self.asked.begins_late)

    def getDefaultReadLimit(self) -> ReadLimit:
        return self._trigger.limit

    @reports_errors
    def latestOffset(self, start: dict[str, object], limit: ReadLimit) -> dict[str, object]:
        if self._first_end.take(start):
            return start
        position = offsets.position_of(start, named=self.asked.is_named)
        extents = offsets.extents(self.asked.roots, self.asked.wanted)
        begins = offsets.begins(position, extents, fail_on_data_loss=self.asked.fail_on_data_loss)
        ends = {queue: extent.end for queue, extent in extents.items()}
        stores = position.stores | {root.name or "" for root in self.asked.roots}
        self._latest = self._plain(Position(stores, ends))
        if self._target is not None:
            ends = {queue: min(end, self._target.get(queue, 0)) for queue, end in ends.items()}
        waiting = {queue: max(0, end - begins[queue]) for queue, end in ends.items()}
        if self._target is None and self._trigger.holds_back(sum(waiting.values()), limit, self._now_s()):
            return start
        granted = offsets.shares(waiting, limit.max_rows) if isinstance(limit, ReadMaxRows) else waiting
        onward = {queue: begins[queue] + count for queue, count in granted.items()}
        return self._plain(Position(stores, position.offsets | onward))

    def reportLatestOffset(self) -> dict[str, object] | None:
        """Return the ends at the last planning, or None before it; `progress.behind` counts the messages up to them."""
        return self._latest

    @reports_errors
    def prepareForTriggerAvailableNow(self) -> None:
        extents = offsets.extents(self.asked.roots, self.asked.wanted)
        self._target = {queue: extent.end for queue, extent in extents.items()}

    @reports_errors
    def partitions(self, start: dict[str, object], end: dict[str, object]) -> Sequence[InputPartition]:
        self._first_end.planned(start)
        position, goal = (offsets.position_of(value, named=self.asked.is_named) for value in (start, end))
        extents = offsets.extents(self.asked.roots, self.asked.wanted)
        begins = offsets.begins(position, extents, fail_on_data_loss=self.asked.fail_on_data_loss)
        slices = offsets.slices(begins, goal)
        least = min(self.asked.min_partitions, messages := sum(piece.end - piece.start for piece in slices))
        most = min(MESSAGES_PER_TASK, messages // least) if least else MESSAGES_PER_TASK
        return [SlicePartition(group) for group in offsets.packed(slices, most)]

    @reports_errors
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, SlicePartition)
        paths = {root.name or "": root for root in self.asked.roots}
        for store, pieces in groupby(partition.pieces, lambda piece: piece.queue.store):
            root = paths[store]
            for batch in rows(
                root.path, list(pieces), of_message(self.asked.columns), fail_on_data_loss=self.asked.fail_on_data_loss
            ):
                yield with_store(root.name, batch, self.asked.columns)

    def _plain(self, position: Position) -> dict[str, object]:
        return offsets.plain(position, named=self.asked.is_named)


def rows(
    root: Path, pieces: Sequence[Slice], columns: Sequence[str], *, fail_on_data_loss: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the messages of slices of one store, in the order of its log.

    With `fail_on_data_loss` raises StoreError if some were removed since they were planned; otherwise those are left
    out.
    """
    queues = [(piece.queue.topic, piece.queue.queue_id) for piece in pieces]
    units, counts = slice_places(root, queues, [(piece.start, piece.end) for piece in pieces])
    if fail_on_data_loss:
        for piece, count in zip(pieces, counts, strict=True):
            if count < piece.end - piece.start:
                raise offsets.lost(piece.queue, piece.start, piece.end - count)
    units = units.part((units.size > 0) & (units.size != FILLER_BYTES))
    logs = log_files(root)
    gone = units.part((units.physical >= 0) & (units.physical < (logs[0].start if logs else NO_END)))
    if fail_on_data_loss and len(gone):
        raise _removed(pieces, gone)
    for log, part in by_file(logs, units):
        try:
            yield from batches(log, part, columns)
        except FileNotFoundError:
            if fail_on_data_loss:
                raise _removed(pieces, part) from None


def by_file(logs: list[Log], units: Places) -> Iterator[tuple[Log, Places]]:
    """Yield each log file with the messages in it; messages in no file are left out."""
    for log in logs:
        low, high = np.searchsorted(units.physical, [log.start, log.end])
        if low < high:
            yield log, units.part(slice(low, high))


def _removed(pieces: Sequence[Slice], part: Places) -> Exception:
    """Return an error that names the first of the removed messages."""
    number = int(part.queue[0])
    own = part.queue_offset[part.queue == number]
    return offsets.lost(pieces[number].queue, int(own.min()), int(own.max()) + 1)
