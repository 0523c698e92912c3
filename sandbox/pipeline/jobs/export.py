"""Which messages does a store hold, as a file any other tool reads?

`ndjson`: one line a message with the columns of the store source, the body as base64.  `csv`: the same, properties as
JSON.  `parquet`: as it is.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sandbox.pipeline.jobs.job import Given, Job, WrongOption, one_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMATS = ("ndjson", "csv", "parquet")


def run(given: Given) -> "Mapping[str, DataFrame]":
    from pyspark.sql import functions as f

    kind = one_of(given.options, "format", FORMATS)
    if len(given.source.stores) != 1:
        raise WrongOption("Export reads one store: name it with --store, or the broker with --broker.")
    [root] = given.source.stores.values()
    rows = given.session.read.format("rocketmq-store").options(**_narrowed(given)).load(str(root))
    if kind != "parquet":
        rows = rows.withColumn("body", f.base64("body"))
    if kind == "csv":
        rows = rows.withColumn("properties", f.to_json("properties"))
    return {"messages": rows}


def _narrowed(given: Given) -> dict[str, str]:
    return {name: value for name in ("topic", "queueId") if (value := given.options.get(name))}


EXPORT = Job("export", "Which messages does a store hold?", run, ("format", "topic", "queueId"))
