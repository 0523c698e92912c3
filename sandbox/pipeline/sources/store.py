"""`spark.read.format("rocketmq-store").load(DIR)`: a store directory, QueueViz's or Apache's, one row per message.

Options: `stores` instead of a directory (JSON `{name: directory}`: many at once, their names in a first column
`store`), `columns` (names of `records.SOURCE_SCHEMA`, by commas: the Python data source does not get the columns a
query needs), `includeHeaders`, `topic`, `subscribe`, `queueId` (lists by commas), `subscribePattern`,
`startingOffsets` (`earliest` or JSON, see `store_requests`), `endingOffsets` (`latest` or JSON, exclusive), times
instead of offsets (see `time_bounds`), `minPartitions`, `failOnDataLoss`, `skippedLogs` (parts of logs that are read
elsewhere, see `store_options.skipped_of`).  A partition is a file of a log, a part of it, or many small ones.

Only options narrow what is read.  Spark (4.0 to 4.3) keeps the plan that filters were pushed into with the table, so
a query that names a table twice, with other filters, would read the last of them for both.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from sandbox.kernel.errors import StoreError
from sandbox.pipeline.sources import store_offsets as offsets
from sandbox.pipeline.sources import store_requests as requests
from sandbox.pipeline.sources.batch_limits import no_pace
from sandbox.pipeline.sources.catalog_source import CatalogSource
from sandbox.pipeline.sources.error_reports import reports_errors
from sandbox.pipeline.sources.local_directories import PATHS
from sandbox.pipeline.sources.option_hints import OF_STORE
from sandbox.pipeline.sources.option_values import check_names, is_strict, least_partitions
from sandbox.pipeline.sources.records import batches, of_message, with_store
from sandbox.pipeline.sources.store_offsets import Position
from sandbox.pipeline.sources.store_options import (
    NAMES,
    NO_STORE,
    Root,
    Skipped,
    columns_in,
    ddl_of,
    roots_of,
    schema_of,
    skipped_of,
    wanted_of,
)
from sandbox.pipeline.sources.store_stream import StoreStreamReader
from sandbox.pipeline.sources.store_stream import asked_of as stream_of
from sandbox.pipeline.sources.time_bounds import END, START
from sandbox.pipeline.sources.time_bounds import Bounds as TimeBounds
from sandbox.store_columns.packing import packed
from sandbox.store_columns.queue_positions import Bounds, Log, Wanted, log_files, places

TASK_BYTES = 128 << 20  # of a log; a larger file is split
SMALL_TASK_BYTES = 16 << 20  # small files are combined up to this


class StoreSource(CatalogSource):
    """Spark's data source named `rocketmq-store`."""

    missing = NO_STORE
    refusal = "Spark cannot write to a store: only its broker does. Send rows to a topic with the format rocketmq."

    @classmethod
    def name(cls) -> str:
        return "rocketmq-store"

    def columns(self, options: Mapping[str, str]) -> pa.Schema:
        return schema_of(options)

    def ddl(self, columns: pa.Schema) -> str:
        return ddl_of(columns)

    @reports_errors
    def reader(self, schema: Any) -> "StoreReader":
        return StoreReader(asked_of(self.options_with(schema), schema))

    @reports_errors
    def streamReader(self, schema: Any) -> StoreStreamReader:
        return StoreStreamReader(stream_of(self.options_with(schema), schema))


class Asked(NamedTuple):
    """The parsed options of a batch read."""

    roots: list[Root]
    columns: list[str]
    wanted: Wanted
    starting: str | Position
    ending: str | Position
    times: TimeBounds
    min_partitions: int
    fail_on_data_loss: bool
    skipped: Skipped


def asked_of(options: Mapping[str, str], schema: Any = None) -> Asked:
    """Return the parsed options of a batch read.  Raises ValueError, and StoreError for a directory without a store."""
    check_names(options, NAMES, OF_STORE, PATHS)
    no_pace(options)
    starting, ending = (
        requests.asked_of(options, *option) for option in (("startingOffsets", "earliest"), ("endingOffsets", "latest"))
    )
    if requests.begins_at_end(starting) or requests.ends_at_begin(ending):
        raise ValueError("A batch read begins at earliest and ends at latest, or at offsets in JSON.")
    times, wanted, roots = requests.times_of(options), wanted_of(options), roots_of(options)
    for name, value in zip((START[2], END[2], START[1], END[1]), (starting, ending, *times), strict=True):
        requests.check_queues(name, value, roots)
    requests.check_topics(wanted, roots)
    return Asked(
        roots,
        columns_in(schema, options),
        wanted,
        starting,
        ending,
        times,
        least_partitions(options),
        is_strict(options),
        skipped_of(options, roots),
    )


class Piece(NamedTuple):
    """Messages whose records begin in `[start, end)` of a log file, within `bounds` of their queues."""

    root: Root
    log: Log
    start: int
    end: int
    bounds: Bounds


class LogPartition(InputPartition):
    """A partition of a read: one piece of a large log file, or several of small files."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        super().__init__(pieces)
        self.pieces = list(pieces)


class StoreReader(DataSourceReader):
    """The batch reader: it plans by names, sizes and the ends of queues and reads in the workers."""

    def __init__(self, asked: Asked) -> None:
        self.asked, self.roots, self.wanted = asked, asked.roots, asked.wanted

    @reports_errors
    def partitions(self) -> Sequence[InputPartition]:
        most_bytes, small_bytes = TASK_BYTES, SMALL_TASK_BYTES
        pieces, messages = self._pieces()
        if least := min(self.asked.min_partitions, messages):
            share_bytes = max(1, sum(piece.end - piece.start for piece in pieces) // least)
            most_bytes, small_bytes = min(most_bytes, share_bytes), min(small_bytes, share_bytes)
        cut = (
            piece._replace(start=start, end=min(start + most_bytes, piece.end))
            for piece in pieces
            for start in range(piece.start, piece.end, most_bytes)
        )
        return [LogPartition(group) for group in packed(cut, small_bytes)]

    def _pieces(self) -> tuple[list[Piece], int]:
        """Return the parts of log files to read, and the number of messages within the bounds of their queues."""
        pieces: list[Piece] = []
        messages = 0
        for root in self.roots:
            extents = offsets.extents([root], self.wanted)
            bounds = self._bounds(root, extents)
            messages += sum(max(0, end - begin) for begin, end in bounds.values())
            log_end = max((extent.log_end for extent in extents.values()), default=0)
            skipped = self.asked.skipped.get(root.name or "", {})
            for log in log_files(root.path):
                start, end = max(log.start, skipped.get(log.start, 0)), min(log.end, log_end)
                if start < end:
                    pieces.append(Piece(root, log, start, end, bounds))
        return pieces, messages

    def _bounds(self, root: Root, extents: Mapping[offsets.Queue, offsets.Extent]) -> Bounds:
        """Return the offsets to read, by queue: messages that are complete now, none stored later."""
        requests.check_asked(
            self.asked.starting, self.asked.ending, extents, fail_on_data_loss=self.asked.fail_on_data_loss
        )
        start = requests.started(self.asked.starting, self.asked.times.start, extents, [root])
        begins = offsets.begins(start, extents, fail_on_data_loss=self.asked.fail_on_data_loss)
        end = requests.ended(self.asked.ending, self.asked.times.end, extents, [root])
        return {
            (queue.topic, queue.queue_id): (begins[queue], min(end.offsets[queue], extent.end))
            for queue, extent in extents.items()
        }

    @reports_errors
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, LogPartition):  # Spark's own, for an empty plan
            return
        for piece in partition.pieces:
            try:
                for batch in self._batches(piece):
                    yield with_store(piece.root.name, batch, self.asked.columns)
            except FileNotFoundError:
                if self.asked.fail_on_data_loss:
                    raise StoreError(
                        f"{piece.log.path} was deleted during the read, by retention or by hand. Read the store again."
                    ) from None

    def _batches(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        """Yield the messages of a piece.  Raises FileNotFoundError if the log file is deleted."""
        units = places(piece.root.path, self.wanted, piece.start, piece.end, piece.bounds)
        os.stat(piece.log.path)  # a broker deletes a log file before units that point to it
        columns = of_message(self.asked.columns)
        yield from batches(piece.log, units, columns)
