"""Job `latency`: the time of messages from creation to the store, to a listener, and to a committed offset.

    percentiles   sandbox, group, topic, stage, count, p50_ms, p90_ms, p99_ms, max_ms

Stages: `born_to_stored` (of the topic, so `group` is null; two machines' clocks, so it may be negative),
`stored_to_delivered` (to the start of the first listener's call), `delivered_to_committed` (to the first commit of
the group beyond it, by its members only), `born_to_committed`.  Copies made for a retry are not counted, and for a
store alone only the first stage is known.  Percentiles are exact up to 10 000 values.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sandbox.pipeline.consumption.entries import entries_of, kept
from sandbox.pipeline.consumption.stored_messages import PLACE, QUEUE, stored_messages
from sandbox.pipeline.jobs.job import Given, Job, WrongOption
from sandbox.pipeline.sealed.sealing import seal_ahead

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ACCURACY = 10_000
COLUMNS = ("group", "topic", "broker", "queue_id", "offsets", "started_ms", "offset", "by")
BY_MEMBERS = ("timer", "pull", "release", "shutdown")  # of OffsetCommitted


def run(job_input: Given) -> "Mapping[str, DataFrame]":
    from pyspark.sql import functions as f

    if not job_input.source.stores:
        raise WrongOption("Latency needs stores. Choose a sandbox with a broker, or a store with --store.")
    seal_ahead(job_input)
    stored = stored_messages(
        job_input.session, job_input.source, job_input.sealed
    )  # first: the journals are read up to here only
    heard = kept(entries_of(job_input, "MessagesConsumed", "OffsetCommitted", columns=COLUMNS))
    messages = kept(stored.where("is_original").select(*PLACE, "born_ms", "store_ms"))
    moments = committed_first(messages.join(delivered_first(heard), list(PLACE)), heard)
    later = {
        "stored_to_delivered": f.col("delivered_ms") - f.col("store_ms"),
        "delivered_to_committed": f.col("committed_ms") - f.col("delivered_ms"),
        "born_to_committed": f.col("committed_ms") - f.col("born_ms"),
    }
    stages = f.explode(
        f.array(*(f.struct(f.lit(stage).alias("stage"), took.alias("ms")) for stage, took in later.items()))
    ).alias("_one")
    first = messages.select(
        "sandbox",
        f.lit(None).cast("string").alias("group"),
        "topic",
        f.lit("born_to_stored").alias("stage"),
        (f.col("store_ms") - f.col("born_ms")).alias("ms"),
    )
    rows = (
        moments.select("sandbox", "group", "topic", stages)
        .select("sandbox", "group", "topic", "_one.*")
        .unionByName(first)
    )
    three = f.percentile_approx("ms", f.array(f.lit(0.5), f.lit(0.9), f.lit(0.99)), ACCURACY).alias("_p")
    return {
        "percentiles": rows.where("ms is not null")
        .groupBy("sandbox", "group", "topic", "stage")
        .agg(f.count(f.lit(1)).alias("count"), three, f.max("ms").alias("max_ms"))
        .select(
            "sandbox",
            "group",
            "topic",
            "stage",
            "count",
            f.col("_p")[0].alias("p50_ms"),
            f.col("_p")[1].alias("p90_ms"),
            f.col("_p")[2].alias("p99_ms"),
            "max_ms",
        )
    }


def delivered_first(heard: "DataFrame") -> "DataFrame":
    """Return the start of the first listener call for each message: group, PLACE, `delivered_ms`."""
    from pyspark.sql import functions as f

    calls = heard.where("event = 'MessagesConsumed'").select(
        "group", *QUEUE, "started_ms", f.explode("offsets").alias("queue_offset")
    )
    return calls.groupBy("group", *PLACE).agg(f.min("started_ms").alias("delivered_ms"))


def committed_first(messages: "DataFrame", heard: "DataFrame") -> "DataFrame":
    """Return the messages with `committed_ms`: the earliest commit beyond each message, or null.

    It is null if no commit came after the message's delivery.  The query makes one sweep from the end of each queue:
    a commit of offset n covers everything below n.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    commits = (
        heard.where("event = 'OffsetCommitted'")
        .where(f.col("by").isin(*BY_MEMBERS))
        .select(
            "group",
            *QUEUE,
            (f.col("offset") - 1).alias("queue_offset"),
            f.lit(0).alias("_turn"),
            f.col("at_ms").alias("_ms"),
            *(f.lit(None).cast("bigint").alias(name) for name in ("born_ms", "store_ms", "delivered_ms")),
        )
    )
    rows = messages.select(
        "group",
        *PLACE,
        f.lit(1).alias("_turn"),
        f.lit(None).cast("bigint").alias("_ms"),
        "born_ms",
        "store_ms",
        "delivered_ms",
    ).unionByName(commits)
    beyond = (
        Window.partitionBy("group", *QUEUE)
        .orderBy(f.desc("queue_offset"), "_turn")
        .rowsBetween(Window.unboundedPreceding, 0)
    )
    first = f.min("_ms").over(beyond)
    return (
        rows.withColumn("_first", first)
        .where("_turn = 1")
        .withColumn(
            "committed_ms",
            f.when(f.col("_first") >= f.col("delivered_ms"), f.col("_first")),
        )
        .drop("_turn", "_ms", "_first")
    )


LATENCY = Job("latency", "How long do messages take to the store, to a listener, and to a committed offset?", run)
