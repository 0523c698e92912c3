"""One query over messages, journals and the last results: `result` is what it selects.

`query` is one SELECT (`pipeline.read_only`); which tables there are is in `pipeline.views`.  `results` is JSON,
directory by job, filled in by the command.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from sandbox.pipeline.jobs.job import Given, Job, WrongOption
from sandbox.pipeline.narrowing import options_of
from sandbox.pipeline.read_only import QueryRefused, asked_of, check_resolved
from sandbox.pipeline.sources.bodies import OPTIONS
from sandbox.pipeline.spark_says import of_spark
from sandbox.pipeline.views import made, named, views_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NO_QUERY = 'Write the query after sql: pipeline sql "select topic, count(*) from messages group by 1".'
FORMATS = ("parquet", "ndjson", "csv")  # a result is printed, which only Parquet is


def run(given: Given) -> "Mapping[str, DataFrame]":
    from pyspark.errors import PySparkException

    query = given.options.get("query", "").strip()
    if not query:
        raise WrongOption(NO_QUERY)
    views = views_of(given, {job: Path(out) for job, out in orjson.loads(given.options.get("results", "{}")).items()})
    asked = asked_of(given.session, query)
    if unknown := sorted(asked.tables - asked.named - views.keys()):
        raise QueryRefused(f"There is no table {unknown[0]}. Tables are: {named(views)}.")
    try:
        with made(given, views, asked):
            rows = given.session.sql(query)
            check_resolved(rows._jdf.queryExecution().analyzed())
            narrowed = options_of(rows._jdf.queryExecution().optimizedPlan())
        if narrowed:
            with made(given, views, asked._replace(narrowed=narrowed)):
                rows = given.session.sql(query)
    except PySparkException as why:
        if (sentence := of_spark(str(why))) is None:
            raise
        raise QueryRefused(sentence) from None
    return {"result": rows}


SQL = Job(
    "sql",
    "What does a query select from messages, events and results?",
    run,
    ("query", "results", "format", *OPTIONS),
    formats=FORMATS,
)
