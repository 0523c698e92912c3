"""The messages of a store as files for other tools.

`ndjson`: one line a message with the columns of the store source, the body as base64 (RFC 4648, without line breaks).
`csv`: the same, properties as JSON.  `parquet`: unchanged.  With several stores the first column is the store's name.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import orjson

from sandbox.pipeline.jobs.job import Given, Job, WrongOption, one_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMATS = ("ndjson", "csv", "parquet")


def run(given: Given) -> "Mapping[str, DataFrame]":
    from pyspark.sql import functions as f

    kind = one_of(given.options, "format", FORMATS)
    if not given.source.stores:
        raise WrongOption("There is no store to export: name one with --store, or a sandbox that has stored something.")
    roots = {name: str(root) for name, root in given.source.stores.items()}
    reader = given.session.read.format("rocketmq-store").options(**_narrowed(given))
    if len(roots) == 1:
        rows = reader.load(*roots.values())
    else:
        rows = reader.option("stores", orjson.dumps(roots).decode()).load()
    if kind != "parquet":
        rows = rows.withColumn("body", f.replace(f.base64("body"), f.lit("\r\n")))  # Spark adds MIME line breaks
    if kind == "csv":
        rows = rows.withColumn("properties", f.to_json("properties"))
    return {"messages": rows}


def _narrowed(given: Given) -> dict[str, str]:
    return {name: value for name in ("topic", "queueId") if (value := given.options.get(name))}


EXPORT = Job("export", "Which messages does a store hold?", run, ("format", "topic", "queueId"))
