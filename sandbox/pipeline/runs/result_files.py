"""Tables as files of a run: Parquet unchanged, or text formats, where values without a text form are converted.

`ndjson`: one line a row, binary values as base64 (RFC 4648, without line breaks).  `csv` (RFC 4180): the same, and
maps, structures and lists as JSON.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.pipeline.runs.results import Table
from sandbox.pipeline.sources.bodies import MALFORMED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMATS = ("ndjson", "csv", "parquet")


def write(table: "DataFrame", out: Path, path: str, kind: str, partition_by: Sequence[str] = ()) -> Table:
    """Write the table to `path` below `out` in the format `kind` and return its row count, counted while writing."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    observation = Observation()
    has_bodies = MALFORMED in table.columns
    counts = [f.count(f.lit(1)).alias("rows"), *([f.count(MALFORMED).alias("malformed")] if has_bodies else [])]
    writer = plain(table, kind).observe(observation, *counts).write.mode("overwrite").partitionBy(*partition_by)
    if kind == "ndjson":
        writer.option("ignoreNullFields", "false").json(str(out / path))
    elif kind == "csv":
        # as in RFC 4180, keeping blanks at the start and end of a value
        writer.options(
            header="true", escape='"', ignoreLeadingWhiteSpace="false", ignoreTrailingWhiteSpace="false"
        ).csv(str(out / path))
    else:
        writer.parquet(str(out / path))
    return Table(
        path,
        int(observation.get["rows"]),
        int(observation.get["malformed"]) if has_bodies else None,
        {name: table.schema[name].dataType.simpleString() for name in partition_by} or None,
    )


def plain(table: "DataFrame", kind: str) -> "DataFrame":
    """Convert the columns to types that the format supports."""
    from pyspark.sql import functions as f

    if kind not in ("ndjson", "csv"):
        return table
    made = []
    for field in table.schema.fields:
        name, column = field.dataType.typeName(), f.col(f"`{field.name.replace('`', '``')}`")
        if name == "binary":
            column = f.replace(f.base64(column), f.lit("\r\n"))  # Spark adds MIME line breaks
        elif kind == "csv" and name in ("map", "struct", "array", "variant"):
            column = f.to_json(column)
        made.append(column.alias(field.name))
    return table.select(*made)
