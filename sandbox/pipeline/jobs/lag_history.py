"""Job `lag_history`: the lag of each group, second by second.

Tables `seconds`, `tens` (10 s) and `fives` (5 min), one row for every group, queue and finished interval of the
sandbox's own time: sandbox, group, topic, queue, from_ms; produced (messages stored in the interval), consumed
(committed in it), lag (messages stored and not committed at its end, as the Board counts) and lag_ms (the wait of
the oldest of them).  Null is unknown, never zero (`lag.fold` has the rules).

The job is a stream: it continues at its checkpoint and ends when all entries are read.  With `follow` it continues
and reads new entries every second.  Every row is in the result once, however often the job was killed
(`lag.result_store`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sandbox.kernel import json_bytes
from sandbox.pipeline.jobs.job import Given, Job, WrongOption, one_of
from sandbox.pipeline.lag import result_store
from sandbox.pipeline.lag.batches import take
from sandbox.pipeline.lag.fold import WANTED
from sandbox.pipeline.spark.batch_function import carried

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

MOST_BYTES = 64 << 20
"""Bytes of all journals, in one batch."""

EVERY_S = 1.0
LOOK_EVERY_S = 1


def run(job_input: Given) -> "Mapping[str, DataFrame]":
    if not job_input.source.journals:
        raise WrongOption("Lag is computed from a journal, and a store has none. Choose a sandbox with --sandbox.")
    follows = one_of(job_input.options, "follow", ("false", "true")) == "true"
    checkpoint = job_input.out / "checkpoint"
    result_store.begin_again_if_torn(job_input.out, checkpoint)
    journals = {name: str(path) for name, path in job_input.source.journals.items()}
    entries = (
        job_input.session.readStream.format("rocketmq-journal")
        .options(
            journals=json_bytes.dumps(journals).decode(),
            linesOf=",".join(sorted(WANTED)),
            columns="fields",
            failOnDataLoss="false",
            maxBytesPerTrigger=str(MOST_BYTES),
        )
        .load()
    )
    taken = carried(
        job_input.session,
        take,
        {
            "out": str(job_input.out),
            "checkpoint": str(checkpoint),
            "run": job_input.run,
            "source": {"stores": {}, "journals": journals},
        },
    )
    writer = entries.writeStream.option("checkpointLocation", str(checkpoint)).foreachBatch(taken)
    writer = writer.trigger(processingTime=f"{EVERY_S} seconds") if follows else writer.trigger(availableNow=True)
    _stay(writer, job_input)
    result_store.look_again(job_input.out, job_input.run)
    return {}


def _stay(writer: "DataStreamWriter", job_input: Given) -> None:
    """Start the stream and wait until all entries are read or the run is to end.  Raises the stream's error."""
    query = writer.start()
    while not query.awaitTermination(LOOK_EVERY_S):
        if job_input.is_to_end():
            query.stop()
            return


LAG_HISTORY = Job("lag_history", "How far was each group behind, second by second?", run, ("follow",), publishes=True)
