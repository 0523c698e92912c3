"""`spark.read.format("rocketmq-journal").load(DIR)`: a sandbox's journal, one row per entry.

Columns: sandbox, seq, at_ms, timestamp, event, and the line itself as `fields`.  Options: `events` (names by commas:
only those entries, and instead of `fields` the typed fields of their classes, see `event_types`), `linesOf` (names by
commas: of other entries `fields` is null), `columns` (names by commas: only those of the typed fields, and
`timestamp` only if it is among them; the Python data source does not get the columns a query needs), `endingOffsets`
(JSON, by sandbox the first seq that is not read; of others nothing is), `journals` (a JSON object, directory by
sandbox, instead of a path).  Only options narrow what is read: see `store`.  Entries held back by the valve are
missing: `FlowSkipped` has their ranges, and their content is unknown.  As a stream: `journal_stream`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from sandbox.pipeline.sources.catalog_source import CatalogSource
from sandbox.pipeline.sources.error_reports import reports_errors
from sandbox.pipeline.sources.event_types import ddl_of
from sandbox.pipeline.sources.journal_files import (
    NO_JOURNAL,
    Chosen,
    batches,
    chosen_of,
    ends_of,
    journals_of,
    pieces_of,
)
from sandbox.pipeline.sources.journal_stream import JournalPartition, JournalStreamReader, asked_of, partitions_of
from sandbox.pipeline.sources.local_directories import PATHS
from sandbox.pipeline.sources.option_hints import OF_JOURNAL
from sandbox.pipeline.sources.option_values import check_names

NAMES = (
    "path",
    "journals",
    "events",
    "linesOf",
    "columns",
    "startingOffsets",
    "endingOffsets",
    "maxBytesPerTrigger",
    "failOnDataLoss",
)


class JournalSource(CatalogSource):
    """Spark's data source named `rocketmq-journal`."""

    missing = NO_JOURNAL
    refusal = "Spark cannot write to a journal: only its sandbox does."

    @classmethod
    def name(cls) -> str:
        return "rocketmq-journal"

    def columns(self, options: Mapping[str, str]) -> pa.Schema:
        check_names(options, NAMES, OF_JOURNAL, PATHS)
        return chosen_of(options).schema

    def ddl(self, columns: pa.Schema) -> str:
        return ddl_of(columns)

    @reports_errors
    def reader(self, schema: Any) -> "JournalReader":
        options = self.options_with(schema)
        check_names(options, NAMES, OF_JOURNAL, PATHS)
        return JournalReader(journals_of(options), chosen_of(options), ends_of(options))

    @reports_errors
    def streamReader(self, schema: Any) -> JournalStreamReader:
        options = self.options_with(schema)
        check_names(options, NAMES, OF_JOURNAL, PATHS)
        return JournalStreamReader(asked_of(options))


class JournalReader(DataSourceReader):
    """The batch reader: it plans from names and sizes of segments alone and reads in the workers."""

    def __init__(self, journals: dict[str, Path], chosen: Chosen, ends: dict[str, int] | None = None) -> None:
        self.journals, self.chosen, self.ends = journals, chosen, ends

    @reports_errors
    def partitions(self) -> Sequence[InputPartition]:
        return partitions_of(pieces_of(self.journals, self.ends))

    @reports_errors
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, JournalPartition):  # or Spark's own, for an empty plan
            yield from batches(partition.pieces, self.chosen, self.ends)
