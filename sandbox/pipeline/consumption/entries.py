"""Entries of the journals, up to the last one of the result."""

from typing import TYPE_CHECKING
from uuid import uuid4

import orjson

from sandbox.pipeline.few import gathered
from sandbox.pipeline.sources.event_types import ddl_of, schema_of
from sandbox.pipeline.where import KEPT_IN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sandbox.pipeline.jobs.job import Given


def kept(table: "DataFrame") -> "DataFrame":
    """Computed now and kept for the run: later plans start from it, however often they read it.

    In files where the run has a place for them (`session.keep_in_files`), else in memory.
    """
    session, table = table.sparkSession, gathered(table)
    context = getattr(session, "_sc", None)
    if context is not None:
        return table.checkpoint() if context.getCheckpointDir() else table.localCheckpoint()
    path = f"{session.conf.get(KEPT_IN)}/{uuid4().hex}"
    table.write.parquet(path)
    return session.read.parquet(path)


def entries_of(given: "Given", *events: str) -> "DataFrame":
    """sandbox, seq, at_ms, event and the fields of these events; no rows without a journal."""
    from pyspark.sql import functions as f

    journals = given.source.journals
    if not journals:
        return given.session.createDataFrame([], ddl_of(schema_of(events)))
    rows = (given.session.read.format("rocketmq-journal").option("events", ",".join(events))
            .option("journals", orjson.dumps({name: str(path) for name, path in journals.items()}).decode()).load())
    ends = given.session.createDataFrame(list(given.true_to.items()), "sandbox STRING, true_to BIGINT")
    return rows.join(f.broadcast(ends), "sandbox").where(f.col("seq") <= f.col("true_to")).drop("true_to")
