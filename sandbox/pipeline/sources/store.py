"""`spark.read.format("rocketmq-store").load(DIR)`: a store directory, ours or Apache's, one row a message.

Options: `columns` (names of `records.SCHEMA`, by commas: the Python data source is not told which columns a query
needs), `topic`, `queueId` (lists by commas), `startingOffset`, `endingOffset` (of every queue; the end is exclusive).
Filters on topic, queueId, queueOffset, physicalOffset and storeTimestamp are pushed down.  A partition is a file of the
log.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
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

from sandbox.kernel.errors import StoreError
from sandbox.pipeline.sources.places import Log, Wanted, log_files, places
from sandbox.pipeline.sources.records import SCHEMA, batches

DDL = {pa.string(): "STRING", pa.int32(): "INT", pa.int64(): "BIGINT", pa.binary(): "BINARY",
       pa.map_(pa.string(), pa.string()): "MAP<STRING, STRING>"}


class StoreSource(DataSource):
    """Registered as `rocketmq-store`."""

    @classmethod
    def name(cls) -> str:
        return "rocketmq-store"

    def schema(self) -> str:
        return ", ".join(f"{name} {DDL[SCHEMA.field(name).type]}" for name in columns_of(self.options))

    def reader(self, schema: Any) -> "StoreReader":
        return StoreReader(root_of(self.options), columns_of(self.options), wanted_of(self.options))


class LogPartition(InputPartition):
    """One file of the log."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self.log = log


class StoreReader(DataSourceReader):
    """Plans from names and sizes alone; reads in the workers."""

    def __init__(self, root: Path, columns: Sequence[str], wanted: Wanted) -> None:
        self.root, self.columns, self.wanted = root, columns, wanted

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Takes those it knows how to keep; gives back the others."""
        for asked in filters:
            narrowed = narrow(self.wanted, asked)
            if narrowed is None:
                yield asked
            else:
                self.wanted = narrowed

    def partitions(self) -> Sequence[InputPartition]:
        low, high = self.wanted.from_physical or 0, self.wanted.to_physical
        return [LogPartition(log) for log in log_files(self.root)
                if log.end > low and (high is None or log.start < high)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, LogPartition)
        log, wanted = partition.log, self.wanted
        found = places(self.root, wanted, log.start, log.end)
        yield from batches(log, found, self.columns, from_ms=wanted.from_ms, to_ms=wanted.to_ms)


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


def root_of(options: Any) -> Path:
    """Raises StoreError where there is no store."""
    root = Path(options.get("path", ""))
    if not (root / "commitlog").is_dir():
        raise StoreError(f"{root} is no store: it has no directory commitlog. Name the directory a broker writes to.")
    return root


def columns_of(options: Any) -> list[str]:
    """Raises ValueError for a column there is not."""
    asked = [name.strip() for name in options.get("columns", "").split(",") if name.strip()] or SCHEMA.names
    if unknown := [name for name in asked if name not in SCHEMA.names]:
        raise ValueError(f"There is no column {', '.join(unknown)}. Columns are: {', '.join(SCHEMA.names)}.")
    return asked


def wanted_of(options: Any) -> Wanted:
    topics = frozenset(name.strip() for name in options.get("topic", "").split(",") if name.strip())
    ids = frozenset(int(number) for number in options.get("queueId", "").split(",") if number.strip())
    start, end = options.get("startingOffset"), options.get("endingOffset")
    return Wanted(topics=topics or None, queue_ids=ids or None, from_offset=int(start) if start else None,
                  to_offset=int(end) if end else None)
