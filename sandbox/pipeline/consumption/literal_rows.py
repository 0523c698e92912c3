"""Small tables made of rows that this process computed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sandbox.kernel import json_bytes
from sandbox.pipeline.spark.small_runs import gathered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def rows_of(session: "SparkSession", columns: str, rows: Sequence[tuple[object, ...]]) -> "DataFrame":
    """Return a table of these rows.  `columns`: `name: TYPE, …`.

    The rows travel as one text and not as an RDD, because `createDataFrame` takes a call for each of its steps.
    """
    names = [column.partition(":")[0] for column in columns.split(", ")]
    text = json_bytes.dumps([dict(zip(names, row, strict=True)) for row in rows]).decode()
    return gathered(
        session.sql("SELECT inline(from_json(:rows, :type))", {"rows": text, "type": f"ARRAY<STRUCT<{columns}>>"})
    )
