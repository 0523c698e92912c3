"""Small inputs, read in this process instead of by Spark's Python workers.

Spark starts a Python process to create a source, another to plan it and a third to read it, each of which imports
PySpark.  For an input of a few MiB that takes several times as long as the reading.
"""

from typing import TYPE_CHECKING, cast

import pyarrow as pa

from sandbox.pipeline.spark.small_runs import IS_FEW

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.types import StructType

MAX_BYTES = 256 << 20  # of rows: bodies may be compressed in the store, and each may expand to 64 MiB


def table_of(session: "SparkSession", source: "type[DataSource]", options: "Mapping[str, str]") -> "DataFrame":
    """Return the rows of a source with these options.

    In a run over few bytes (`small_runs`) they are read now, else by Spark when the table is used.
    """
    if session.conf.get(IS_FEW, "false") == "true":
        made = source(dict(options))
        if (batches := _read(made)) is not None:
            if not batches:
                return session.createDataFrame([], made.schema())
            return session.createDataFrame(pa.Table.from_batches(batches)).coalesce(1)
    return session.read.format(source.name()).options(**options).load()


def _read(source: "DataSource") -> list[pa.RecordBatch] | None:
    """Return all rows, or None if they exceed `MAX_BYTES`."""
    reader = source.reader(cast("StructType", None))  # no schema of a user: that of the options
    batches: list[pa.RecordBatch] = []
    size_bytes = 0
    for partition in reader.partitions():
        for batch in reader.read(partition):
            assert isinstance(batch, pa.RecordBatch)
            if batch.num_rows:
                batches.append(batch)
            size_bytes += batch.nbytes
            if size_bytes > MAX_BYTES:
                return None
    return batches
