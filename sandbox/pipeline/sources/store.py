"""`spark.read.format("rocketmq-store").load(DIR)`: a store directory, ours or Apache's, one row a message.

Options: `stores` instead of a directory (JSON `{name: directory}`: many at once, their names in a first column
`store`), `columns` (names of `records.SCHEMA`, by commas: the Python data source is not told which columns a query
needs), `topic`, `queueId` (lists by commas).  Filters on store, topic, queueId, queueOffset, physicalOffset and
storeTimestamp are pushed down.  A partition is a file of a log.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)

from sandbox.pipeline.sources.places import Log, Wanted, log_files, places
from sandbox.pipeline.sources.records import SCHEMA, batches
from sandbox.pipeline.sources.store_options import STORE, Root, columns_of, roots_of, wanted_of

DDL = {pa.string(): "STRING", pa.int32(): "INT", pa.int64(): "BIGINT", pa.binary(): "BINARY",
       pa.map_(pa.string(), pa.string()): "MAP<STRING, STRING>"}


class StoreSource(DataSource):
    """Registered as `rocketmq-store`."""

    @classmethod
    def name(cls) -> str:
        return "rocketmq-store"

    def schema(self) -> str:
        named = [f"{STORE} STRING"] if "stores" in self.options else []
        return ", ".join(named + [f"{name} {DDL[SCHEMA.field(name).type]}" for name in columns_of(self.options)])

    def reader(self, schema: Any) -> "StoreReader":
        return StoreReader(roots_of(self.options), columns_of(self.options), wanted_of(self.options))


class LogPartition(InputPartition):
    """One file of a log."""

    def __init__(self, root: Root, log: Log) -> None:
        super().__init__(log)
        self.root, self.log = root, log


class StoreReader(DataSourceReader):
    """Plans from names and sizes alone; reads in the workers."""

    def __init__(self, roots: Sequence[Root], columns: Sequence[str], wanted: Wanted) -> None:
        self.roots, self.columns, self.wanted = roots, columns, wanted

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Takes those it knows how to keep; gives back the others."""
        for asked in filters:
            if names := names_in(asked):
                self.roots = [root for root in self.roots if root.name in names]
            elif (narrowed := narrow(self.wanted, asked)) is None:
                yield asked
            else:
                self.wanted = narrowed

    def partitions(self) -> Sequence[InputPartition]:
        low, high = self.wanted.from_physical or 0, self.wanted.to_physical
        return [LogPartition(root, log) for root in self.roots for log in log_files(root.path)
                if log.end > low and (high is None or log.start < high)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, LogPartition):  # Spark's own, when there was nothing to plan
            return
        root, log, wanted = partition.root, partition.log, self.wanted
        found = places(root.path, wanted, log.start, log.end)
        for batch in batches(log, found, self.columns, from_ms=wanted.from_ms, to_ms=wanted.to_ms):
            yield named(root.name, batch)


def named(name: str | None, batch: pa.RecordBatch) -> pa.RecordBatch:
    """With the store's name before all other columns, if it has one."""
    return batch if name is None else batch.add_column(0, STORE, pa.repeat(pa.scalar(name), len(batch)))


def names_in(asked: Filter) -> frozenset[Any]:
    """The stores a filter chooses; none if it is about something else."""
    if getattr(asked, "attribute", ()) != (STORE,) or not isinstance(asked, EqualTo | In):
        return frozenset()
    return frozenset([asked.value]) if isinstance(asked, EqualTo) else frozenset(asked.value)


BOUNDS = {"queueOffset": ("from_offset", "to_offset"), "physicalOffset": ("from_physical", "to_physical"),
          "storeTimestamp": ("from_ms", "to_ms")}
"""The fields of `Wanted` that bound a column, below and above."""


def narrow(wanted: Wanted, asked: Filter) -> Wanted | None:
    """With this filter kept as well; None: it is not one we can keep."""
    column = ".".join(getattr(asked, "attribute", ()))
    value: Any = getattr(asked, "value", None)
    kept = wanted._asdict()
    if column in ("topic", "queueId") and isinstance(asked, EqualTo | In):
        values = frozenset([value] if isinstance(asked, EqualTo) else value)
        field = "topics" if column == "topic" else "queue_ids"
        kept[field] = values if kept[field] is None else kept[field] & values
    elif column in BOUNDS and isinstance(value, int) and isinstance(
            asked, EqualTo | GreaterThan | GreaterThanOrEqual | LessThan | LessThanOrEqual):
        low, high = BOUNDS[column]
        if not isinstance(asked, LessThan | LessThanOrEqual):
            least = value + isinstance(asked, GreaterThan)
            kept[low] = least if kept[low] is None else max(kept[low], least)
        if not isinstance(asked, GreaterThan | GreaterThanOrEqual):
            beyond = value + (not isinstance(asked, LessThan))
            kept[high] = beyond if kept[high] is None else min(kept[high], beyond)
    else:
        return None
    return Wanted(**kept)
