"""Job `export`: a store's messages as files for other tools, in a format of `runs.result_files`.

The columns are those of the store source.  With several stores the first column is the store's name.  `body` and
`bodySchema` turn bodies into columns (`sources.bodies`); malformed bodies are counted.  For Parquet, `partition_by`
names columns whose values become directories, and `append` adds the messages that were stored since the last export
(`runs.appended_results`); `iceberg` registers the Parquet files as a table (`runs.iceberg`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sandbox.pipeline.jobs.job import Given, Job, WrongOption
from sandbox.pipeline.runs.appended_results import OtherResult, before, check_columns, goes_on
from sandbox.pipeline.runs.iceberg import ICEBERG, check
from sandbox.pipeline.runs.result_files import FORMATS
from sandbox.pipeline.sealed.reading import messages
from sandbox.pipeline.sources.bodies import MALFORMED, OPTIONS, bodies_of, fields_in, with_bodies
from sandbox.pipeline.sources.option_values import listed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

OF_SOURCE = ("topic", "queueId", "failOnDataLoss")
OF_PARQUET = {"append": ("parquet", ICEBERG), "partition_by": ("parquet",)}
SINGLE = ("queueOffset", "physicalOffset", "keys", "tagsCode", "bornTimestamp", "storeTimestamp", MALFORMED)
"""Columns that would make a directory for nearly every message."""
PLAIN = ("string", "boolean", "int", "bigint", "date")  # types of columns that can be directories


def run(job_input: Given) -> "Mapping[str, DataFrame]":
    if not job_input.source.stores:
        raise WrongOption("No store to export. Choose one with --store, or a sandbox with stored messages.")
    kind = job_input.options.get("format") or FORMATS[0]
    for name, kinds in OF_PARQUET.items():
        if job_input.options.get(name) and kind not in kinds:
            raise WrongOption(f"{name} needs Parquet files. Set --format {' or '.join(kinds)}.")
    if kind == ICEBERG:
        check()
    bodies, partition_by = bodies_of(job_input.options), listed(job_input.options, "partition_by")
    roots = {name: str(root) for name, root in job_input.source.stores.items()}
    asked = {name: value for name in OF_SOURCE if (value := job_input.options.get(name))}
    old = before(job_input.session, job_input.out, roots, kind) if job_input.options.get("append") == "true" else None
    if old is not None:
        asked["startingOffsets"] = goes_on(old.rows, roots, job_input.options)
        if bodies is not None and bodies.kind == "json" and bodies.schema is None:
            bodies = bodies._replace(schema=fields_in(old.rows.schema))
    rows = messages(job_input.session, job_input.source.stores, job_input.sealed, options=asked, named=len(roots) > 1)
    rows = with_bodies(rows, bodies)
    _check_directories(partition_by, rows.schema)
    if old is not None:
        check_columns(job_input.out, old.rows.schema, rows.schema)
        if partition_by != list(old.table.partitions or ()):
            raise OtherResult(
                f"{job_input.out} is partitioned by {', '.join(old.table.partitions or ()) or 'nothing'}. "
                "Set the same partition_by, or choose another --out."
            )
    return {"messages": rows}


def _check_directories(names: list[str], schema: "StructType") -> None:
    """Raise WrongOption if a column of `names` cannot be a partition directory or occurs twice."""
    can = [field.name for field in schema.fields if field.dataType.simpleString() in PLAIN and field.name not in SINGLE]
    if wrong := [name for name in names if name not in can]:
        raise WrongOption(
            f"{wrong[0]} cannot be a partition directory. Columns for partition_by are: {', '.join(can)}."
        )
    if len(set(names)) != len(names):
        raise WrongOption("partition_by has a column more than once.")


EXPORT = Job(
    "export",
    "Which messages are in a store?",
    run,
    ("format", *OF_SOURCE, *OPTIONS, *OF_PARQUET),
    formats=(*FORMATS, ICEBERG),
)
