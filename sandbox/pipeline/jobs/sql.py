"""Job `sql`: one query over messages, journals and the last results; the table `result` has its rows.

`query` is one SELECT (`pipeline.sql.read_only`).  `pipeline.sql.views` defines the tables.  `results` is JSON,
directories by job; the command fills it in.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.kernel import json_bytes
from sandbox.pipeline.jobs.job import NO_QUERY, Given, Job, WrongOption
from sandbox.pipeline.sources.bodies import OPTIONS
from sandbox.pipeline.spark.error_text import of_spark
from sandbox.pipeline.sql.pushed_filters import options_of
from sandbox.pipeline.sql.read_only import QueryRefused, asked_of, check_resolved
from sandbox.pipeline.sql.views import made, named, views_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMATS = ("parquet", "ndjson", "csv")  # a result is printed, which only Parquet is


def run(job_input: Given) -> "Mapping[str, DataFrame]":
    from pyspark.errors import PySparkException

    query = job_input.options.get("query", "").strip()
    if not query:
        raise WrongOption(NO_QUERY)
    views = views_of(
        job_input, {job: Path(out) for job, out in json_bytes.loads(job_input.options.get("results", "{}")).items()}
    )
    asked = asked_of(job_input.session, query)
    if unknown := sorted(asked.tables - asked.named - views.keys()):
        raise QueryRefused(f"No table {unknown[0]}. Tables are: {named(views)}.")
    try:
        with made(job_input, views, asked):
            rows = job_input.session.sql(query)
            check_resolved(rows._jdf.queryExecution().analyzed())
            narrowed = options_of(rows._jdf.queryExecution().optimizedPlan())
        if narrowed:
            with made(job_input, views, asked._replace(narrowed=narrowed)):
                rows = job_input.session.sql(query)
    except PySparkException as error:
        if (sentence := of_spark(str(error))) is None:
            raise
        raise QueryRefused(sentence) from None
    return {"result": rows}


SQL = Job(
    "sql",
    "Which rows does a query select from messages, events and results?",
    run,
    ("query", "results", "format", *OPTIONS),
    formats=FORMATS,
)
