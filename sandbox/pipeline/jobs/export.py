"""The messages of a store as files for other tools.

`ndjson`: one line a message with the columns of the store source, the body as base64 (RFC 4648, without line breaks).
`csv`: the same, properties as JSON.  `parquet`: unchanged.  With several stores the first column is the store's name.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sandbox.pipeline.jobs.job import Given, Job, WrongOption, one_of
from sandbox.pipeline.sealed.reading import messages

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMATS = ("ndjson", "csv", "parquet")


def run(given: Given) -> "Mapping[str, DataFrame]":
    from pyspark.sql import functions as f

    kind = one_of(given.options, "format", FORMATS)
    if not given.source.stores:
        raise WrongOption("There is no store to export: name one with --store, or a sandbox that has stored something.")
    rows = messages(given.session, given.source.stores, given.sealed, options=_narrowed(given),
                    named=len(given.source.stores) > 1)
    if kind != "parquet":
        rows = rows.withColumn("body", f.replace(f.base64("body"), f.lit("\r\n")))  # Spark adds MIME line breaks
    if kind == "csv":
        rows = rows.withColumn("properties", f.to_json("properties"))
    return {"messages": rows}


def _narrowed(given: Given) -> dict[str, str]:
    return {name: value for name in ("topic", "queueId") if (value := given.options.get(name))}


EXPORT = Job("export", "Which messages does a store hold?", run, ("format", "topic", "queueId"))
