"""Entries of the journals as tables, up to the last entry that the result covers."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from sandbox.kernel import json_bytes
from sandbox.pipeline.sources.event_types import HEAD, ddl_of, schema_of
from sandbox.pipeline.sources.source_columns import TIMESTAMP
from sandbox.pipeline.spark.master_address import KEPT_IN
from sandbox.pipeline.spark.read_here import table_of
from sandbox.pipeline.spark.small_runs import gathered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sandbox.pipeline.jobs.job import Given


def kept(table: "DataFrame", *, now: bool = True) -> "DataFrame":
    """Return the table computed once and kept for the run, so that later plans start from it.

    It is kept in files where the run has a directory for them (`session.keep_in_files`), else in memory.  With
    `now=False` its first use computes it and must read it once completely; then it needs no job of its own.
    """
    session, table = table.sparkSession, gathered(table)
    context = getattr(session, "_sc", None)
    if context is not None:
        return table.checkpoint() if context.getCheckpointDir() else table.localCheckpoint(eager=now)
    path = f"{session.conf.get(KEPT_IN)}/{uuid4().hex}"
    table.write.parquet(path)
    return session.read.parquet(path)


def entries_of(job_input: "Given", *events: str, columns: Sequence[str] = ()) -> "DataFrame":
    """Return the entries of these events: sandbox, seq, at_ms, event and their fields (or only `columns`).

    Without a journal the table has no rows.
    """
    journals = job_input.source.journals
    if not journals:
        return job_input.session.createDataFrame([], ddl_of(schema_of(events, columns)))
    from sandbox.pipeline.sources.journal import JournalSource

    options = {
        "events": ",".join(events),
        "endingOffsets": json.dumps({sandbox: seq + 1 for sandbox, seq in job_input.true_to.items()}),
        "journals": json_bytes.dumps({name: str(path) for name, path in journals.items()}).decode(),
    }
    if names := schema_of(events, columns).names[len(HEAD) :]:
        options["columns"] = ",".join(names)
    return table_of(job_input.session, JournalSource, options).drop(TIMESTAMP)  # of events without a field
