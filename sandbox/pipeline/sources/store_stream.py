"""`spark.readStream.format("rocketmq-store")`: new messages of stores, each exactly once by its checkpoint.

Options beside those of the batch: `startingOffsets` (`earliest`, `latest`, or JSON as `store_offsets` has it, where -2
is earliest and -1 latest), `maxOffsetsPerTrigger`, `failOnDataLoss`.  They are named as the Kafka source names them.
An existing checkpoint decides.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from sandbox.pipeline.sources import store_offsets as offsets
from sandbox.pipeline.sources.first_end import FirstEnd
from sandbox.pipeline.sources.places import NO_END, Log, Places, Wanted, log_files, slice_places
from sandbox.pipeline.sources.records import batches, of_message, with_store
from sandbox.pipeline.sources.store_offsets import Position, Slice
from sandbox.pipeline.sources.store_options import (
    NAMES,
    Root,
    check_names,
    columns_in,
    is_strict,
    most_per_trigger,
    roots_of,
    wanted_of,
)
from sandbox.store.config import FILLER_BYTES

MESSAGES_PER_TASK = 65_536


class Asked(NamedTuple):
    """The options."""

    roots: list[Root]
    columns: list[str]
    wanted: Wanted
    starting: str | Position
    most: int | None
    fail_on_data_loss: bool

    @property
    def is_named(self) -> bool:
        return self.roots[0].name is not None

    @property
    def begins_late(self) -> bool:
        """Whether its start depends on the time of the call."""
        asked = self.starting
        return offsets.LATEST in asked.offsets.values() if isinstance(asked, Position) else asked == "latest"


def asked_of(options: Mapping[str, str], schema: Any = None) -> Asked:
    """Raises ValueError, and StoreError for a directory without a store."""
    check_names(options, NAMES)
    if "endingOffsets" in options:
        raise ValueError("A stream has no end: option endingOffsets is for reading once.")
    if "skippedLogs" in options:
        raise ValueError("A stream skips nothing: option skippedLogs is for reading once.")
    return Asked(roots_of(options), columns_in(schema, options), wanted_of(options),
                 offsets.asked_of(options, "startingOffsets", "earliest"), most_per_trigger(options),
                 is_strict(options))


class SlicePartition(InputPartition):
    """Some messages of some queues."""

    def __init__(self, pieces: Sequence[Slice]) -> None:
        super().__init__(pieces)
        self.pieces = list(pieces)


class StoreStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans in one process, from the current files; reads in the workers."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self._target: Mapping[offsets.Queue, int] | None = None
        self._first_end = FirstEnd()

    def initialOffset(self) -> dict[str, Any]:
        stores = frozenset(root.name or "" for root in self.asked.roots)
        offsets.check_queues("startingOffsets", self.asked.starting, self.asked.roots)
        found = offsets.extents(self.asked.roots, self.asked.wanted)
        position = offsets.resolved(self.asked.starting, found, stores, otherwise="earliest")
        return self._first_end.begun(self._plain(position), is_late=self.asked.begins_late)

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable() if self.asked.most is None else ReadMaxRows(self.asked.most)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        if self._first_end.take(start):
            return start
        position = offsets.position_of(start, named=self.asked.is_named)
        found = offsets.extents(self.asked.roots, self.asked.wanted)
        begins = offsets.begins(position, found, fail_on_data_loss=self.asked.fail_on_data_loss)
        ends = {queue: extent.end for queue, extent in found.items()}
        if self._target is not None:
            ends = {queue: min(end, self._target.get(queue, 0)) for queue, end in ends.items()}
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return self._plain(offsets.advanced(position, self.asked.roots, begins, ends, most))

    def prepareForTriggerAvailableNow(self) -> None:
        found = offsets.extents(self.asked.roots, self.asked.wanted)
        self._target = {queue: extent.end for queue, extent in found.items()}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        self._first_end.planned(start)
        position, goal = (offsets.position_of(value, named=self.asked.is_named) for value in (start, end))
        found = offsets.extents(self.asked.roots, self.asked.wanted)
        begins = offsets.begins(position, found, fail_on_data_loss=self.asked.fail_on_data_loss)
        groups = offsets.packed(offsets.slices(begins, goal), MESSAGES_PER_TASK)
        return [SlicePartition(group) for group in groups]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, SlicePartition)
        paths = {root.name or "": root for root in self.asked.roots}
        for store, pieces in groupby(partition.pieces, lambda piece: piece.queue.store):
            root = paths[store]
            for batch in rows(root.path, list(pieces), of_message(self.asked.columns),
                              fail_on_data_loss=self.asked.fail_on_data_loss):
                yield with_store(root.name, batch, self.asked.columns)

    def _plain(self, position: Position) -> dict[str, Any]:
        return offsets.plain(position, named=self.asked.is_named)


def rows(root: Path, pieces: Sequence[Slice], columns: Sequence[str], *,
         fail_on_data_loss: bool) -> Iterator[pa.RecordBatch]:
    """The messages of slices of one store, in the order of its log.

    Raises StoreError when some were removed since they were planned; else those are left out.
    """
    queues = [(piece.queue.topic, piece.queue.queue_id) for piece in pieces]
    found, counts = slice_places(root, queues, [(piece.start, piece.end) for piece in pieces])
    if fail_on_data_loss:
        for piece, count in zip(pieces, counts, strict=True):
            if count < piece.end - piece.start:
                raise offsets.lost(piece.queue, piece.start, piece.end - count)
    found = found.part((found.size > 0) & (found.size != FILLER_BYTES))
    logs = log_files(root)
    gone = found.part((found.physical >= 0) & (found.physical < (logs[0].start if logs else NO_END)))
    if fail_on_data_loss and len(gone):
        raise _removed(pieces, gone)
    for log, part in by_file(logs, found):
        try:
            yield from batches(log, part, columns)
        except FileNotFoundError:
            if fail_on_data_loss:
                raise _removed(pieces, part) from None


def by_file(logs: list[Log], found: Places) -> Iterator[tuple[Log, Places]]:
    """The messages in each file of the log; those in none are left out."""
    for log in logs:
        low, high = np.searchsorted(found.physical, [log.start, log.end])
        if low < high:
            yield log, found.part(slice(low, high))


def _removed(pieces: Sequence[Slice], part: Places) -> Exception:
    """An error that names the first of them."""
    number = int(part.queue[0])
    own = part.queue_offset[part.queue == number]
    return offsets.lost(pieces[number].queue, int(own.min()), int(own.max()) + 1)
