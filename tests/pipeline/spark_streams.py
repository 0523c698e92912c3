"""Streams of Spark in a process that tests kill: `python -m tests.pipeline.spark_streams HOME` reads orders.

An order is a line of JSON: `how`, `format`, the options of the source, and `at`, a directory below HOME for what a
stream keeps and for its rows as Parquet.  `how`: `once` reads a table; `again` writes it to the topic `to`, too;
`follow` starts a stream that has no end, and reports nothing; `now` streams to the end there is, and reports its rows;
`counts` counts all rows, those of `where`, all again; `narrowed` reports by what `query` narrows `messages`; `load`
counts the rows of each store of `paths`; `sql` reports the `table` of a `statement`; `here` reports the number of
rows and the columns that a small run reads in this process, and whether Spark's are equal.
`windows` counts the rows of each minute of `timestamp`, read once and by a stream with a watermark: `[start in s, n]`.
`queries` answers the random queries from seed `first` to `beyond` by text and by frames.
`fails` reads or writes a mistake (`tests.pipeline.mistakes`) and reports the first `line` of Spark's error.
The format `rows` streams JSON files of `path` into the topic `to`.  A report has `rows`, `[[queueId, queueOffset], …]`,
and of streams how far `behind` each batch was, also as a listener `heard` it; or `why`, a sentence.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import functions as f

from sandbox.pipeline.runs.error_sentences import sentence_of
from sandbox.pipeline.runs.launch import environment_of
from sandbox.pipeline.session import open_session
from sandbox.pipeline.sources.journal import JournalSource
from sandbox.pipeline.sources.lag_listener import LagListener
from sandbox.pipeline.sources.progress import behind
from sandbox.pipeline.sources.store import StoreSource
from sandbox.pipeline.spark.read_here import table_of
from sandbox.pipeline.spark.small_runs import settings_of
from sandbox.pipeline.sql.pushed_filters import options_of
from tests.pipeline.command_line import WITHIN_S
from tests.pipeline.mistakes import MISTAKES, STREAM, WRITE, Mistake
from tests.pipeline.random_queries import AGGREGATES, KEYS, Query, query_of
from tests.server.server import ROOT, until

OF_SMALL_QUERIES = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}
ROWS = "body STRING, keys STRING, properties MAP<STRING, STRING>"


class Streams:
    """The process, as tests see it."""

    def __init__(self, process: "subprocess.Popen[str]", home: Path) -> None:
        self.process, self.home = process, home

    def order(self, **order: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def ask(self, **order: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        self.order(**order)
        report: dict[str, Any] = json.loads(self.process.stdout.readline())
        return report

    def wait_for(self, batches: int, at: str = "out") -> None:
        """Until so many are committed."""
        commits = self.home / at / "checkpoint" / "commits"
        until(
            lambda: len(list(commits.glob("[0-9]*"))) >= batches or self.process.poll() is not None, within_s=WITHIN_S
        )
        assert self.process.poll() is None

    def kill(self) -> None:
        """Kill the process with the JVM and its workers."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def streams(home: Path) -> Iterator[Streams]:
    """A process group with its Spark; what is left of it at the end is killed."""
    with (home / "words").open("ab") as words:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.pipeline.spark_streams", str(home)],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=words,
            cwd=ROOT,
            start_new_session=True,
            env=environment_of(os.environ, home / "spark"),
        )
        with process:
            made = Streams(process, home)
            try:
                yield made
            finally:
                if process.poll() is None:
                    made.kill()


def main(home: Path) -> None:
    session = open_session(master="local[2]", **{"spark.sql.warehouse.dir": str(home / "warehouse")})
    session.sparkContext.setLogLevel("ERROR")
    for line in sys.stdin:
        order = json.loads(line)
        try:
            report = reported(session, order.pop("how"), order.pop("format"), home / order.pop("at", "out"), order)
        except Exception as error:
            report = {"why": sentence_of(error)}
        if report is not None:
            print(json.dumps(report), flush=True)
    session.stop()


class Lags(LagListener):
    """The lags that a listener hears, until its stream ends."""

    def __init__(self) -> None:
        self.behind: list[int] = []
        self._is_over = threading.Event()
        super().__init__(lambda lag: self.behind.append(lag.behind))

    def onQueryTerminated(self, event: object) -> None:
        self._is_over.set()

    def wait(self) -> None:
        assert self._is_over.wait(WITHIN_S)


def reported(session: Any, how: str, kind: str, at: Path, options: dict[str, str]) -> dict[str, Any] | None:
    if how == "here":
        return read_twice(session, kind, options)
    if how == "sql":
        return {"table": [[str(value) for value in row] for row in session.sql(options["statement"]).collect()]}
    if how == "load":
        rows = session.read.format(kind).load(json.loads(options["paths"]))
        return {"table": sorted(map(list, rows.groupBy(rows.columns[0]).count().collect()))}
    if how in ("counts", "narrowed"):
        where, query = options.pop("where", ""), options.pop("query", "")
        rows = session.read.format(kind).options(**options).load()
        if how == "counts":
            return {"counts": [rows.count(), rows.where(where).count(), rows.count()]}
        rows.createOrReplaceTempView("messages")
        return {"options": options_of(session.sql(query)._jdf.queryExecution().optimizedPlan())}
    if how == "windows":
        return windows(session, kind, at, options)
    if how == "queries":
        return queries(session, kind, range(int(options.pop("first")), int(options.pop("beyond"))), options)
    if how == "fails":
        return {"line": line_of_failure(session, MISTAKES[int(options.pop("number"))], options)}
    to = options.pop("to", "")
    if how in ("once", "again"):
        rows = session.read.format(kind).options(**options).load()
        if how == "again":
            sent = rows.drop("topic").write.format("rocketmq").options(names=options["names"], topic=to)
            sent.mode("append").save()
        return {"rows": places_of(rows)}
    if kind == "rows":
        rows = session.readStream.schema(ROWS).option("maxFilesPerTrigger", "1").json(options["path"])
        writer = rows.writeStream.format("rocketmq").options(names=options["names"], topic=to)
    else:
        rows = session.readStream.format(kind).options(**options).load().select("queueId", "queueOffset")
        writer = rows.writeStream.format("parquet").option("path", str(at / "rows"))
    writer = writer.option("checkpointLocation", str(at / "checkpoint"))
    lags = Lags()
    session.streams.addListener(lags)
    query = (writer if how == "follow" else writer.trigger(availableNow=True)).start()
    if how == "follow":
        return None
    query.awaitTermination()
    lags.wait()
    session.streams.removeListener(lags)
    if kind == "rows":
        return {"rows": []}
    progress = [json.loads(batch.json)["sources"][0] for batch in query.recentProgress]
    return {
        "rows": places_of(session.read.parquet(str(at / "rows"))),  # by the sink's own list of files
        "behind": [behind(source) for source in progress if source["latestOffset"] is not None],
        "heard": lags.behind,
    }


def read_twice(session: Any, kind: str, options: dict[str, str]) -> dict[str, Any]:
    source = {source.name(): source for source in (StoreSource, JournalSource)}[kind]
    with settings_of(session, is_small=True):
        here = table_of(session, source, options)
        is_here = "LocalRelation" in here._jdf.queryExecution().optimizedPlan().toString()
        mine = sorted(map(repr, here.collect()))
    spark = table_of(session, source, options)
    is_equal = mine == sorted(map(repr, spark.collect())) and here.schema == spark.schema
    return {"rows": len(mine), "is_here": is_here, "is_equal": is_equal, "columns": here.columns}


def windows(session: Any, kind: str, at: Path, options: dict[str, str]) -> dict[str, Any]:
    def counted(rows: Any) -> Any:
        rows = rows.withWatermark("timestamp", "10 minutes").groupBy(f.window("timestamp", "1 minute"))
        return rows.count().select(f.unix_timestamp("window.start").alias("start"), "count")

    once = counted(session.read.format(kind).options(**options).load())
    stream = counted(session.readStream.format(kind).options(**options).load())
    writer = stream.writeStream.format("memory").queryName("windows").outputMode("complete")
    query = writer.option("checkpointLocation", str(at / "windows")).trigger(availableNow=True).start()
    query.awaitTermination()
    tables = {"once": once, "stream": session.table("windows")}
    return {name: sorted(list(row) for row in table.collect()) for name, table in tables.items()}


def queries(session: Any, kind: str, seeds: range, options: dict[str, str]) -> dict[str, Any]:
    for name, value in OF_SMALL_QUERIES.items():
        session.conf.set(name, value)
    return {"answers": [answers(session, kind, query_of(seed), options) for seed in seeds]}


def answers(session: Any, kind: str, query: Query, options: dict[str, str]) -> list[list[list[Any]]]:
    """Return the rows of a query, computed in each way that it has."""

    def asked(narrowed: dict[str, str]) -> Any:
        rows = session.read.format(kind).options(**options, **narrowed).load()
        rows.createOrReplaceTempView("messages")
        for name, condition in query.views.items():
            session.table("messages").where(condition).createOrReplaceTempView(name)
        return session.sql(query.text)

    rows = asked({})
    if narrowed := options_of(rows._jdf.queryExecution().optimizedPlan()):
        rows = asked(narrowed)  # as the job `sql` does
    made = [rows.collect()]
    if query.frames is not None:
        made.append(of_frames(session.read.format(kind).options(**options).load(), *query.frames).collect())
    return [sorted((list(row) for row in rows), key=str) for rows in made]


def of_frames(rows: Any, how: str, conditions: list[str]) -> Any:
    tables = [rows.where(condition).select(*KEYS) for condition in conditions]
    joined = reduce(lambda one, other: one.unionAll(other) if how == "union" else one.join(other, list(KEYS)), tables)
    aggregates = [f.expr(text) for text in AGGREGATES.split(", ")]
    return joined.groupBy("topic").agg(*aggregates)


def line_of_failure(session: Any, mistake: Mistake, options: dict[str, str]) -> str:
    try:
        if mistake.how == WRITE:
            rows = session.sql("SELECT 'x' AS value")
            rows.write.format(mistake.form).options(**options).mode("append").save()
        elif mistake.how == STREAM:
            rows = session.readStream.format(mistake.form).options(**options).load()
            rows.writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()
        else:
            session.read.format(mistake.form).options(**options).load().collect()
    except Exception as error:
        return str(error).splitlines()[0]
    return ""


def places_of(rows: Any) -> list[list[int]]:
    return [list(row) for row in rows.select("queueId", "queueOffset").collect()]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
