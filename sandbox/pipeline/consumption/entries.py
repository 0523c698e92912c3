"""Entries of the journals, up to the last one of the result."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

import orjson

from sandbox.pipeline.sources.event_types import ddl_of, schema_of
from sandbox.pipeline.spark.master_address import KEPT_IN
from sandbox.pipeline.spark.small_runs import gathered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sandbox.pipeline.jobs.job import Given


def kept(table: "DataFrame", *, now: bool = True) -> "DataFrame":
    """Computed once and kept for the run: later plans start from it, however often they read it.

    In files where the run has a place for them (`session.keep_in_files`), else in memory.  Not `now`: there with its
    first use, which has to read it once; so it needs no job of its own.
    """
    session, table = table.sparkSession, gathered(table)
    context = getattr(session, "_sc", None)
    if context is not None:
        return table.checkpoint() if context.getCheckpointDir() else table.localCheckpoint(eager=now)
    path = f"{session.conf.get(KEPT_IN)}/{uuid4().hex}"
    table.write.parquet(path)
    return session.read.parquet(path)


def entries_of(job_input: "Given", *events: str, columns: Sequence[str] = ()) -> "DataFrame":
    """sandbox, seq, at_ms, event and the fields of these events (or of those only `columns`); no rows without a
    journal.
    """
    journals = job_input.source.journals
    if not journals:
        return job_input.session.createDataFrame([], ddl_of(schema_of(events, columns)))
    ends = {sandbox: seq + 1 for sandbox, seq in job_input.true_to.items()}
    reader = job_input.session.read.format("rocketmq-journal").options(
        events=",".join(events),
        endingOffsets=json.dumps(ends),
        journals=orjson.dumps({name: str(path) for name, path in journals.items()}).decode(),
    )
    return (reader.option("columns", ",".join(columns)) if columns else reader).load()
