"""Queue ownership as intervals of time, by member."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GONE = ("crashed", "stopped", "refused")


def lives(states: "DataFrame", ends: "DataFrame") -> "DataFrame":
    """Return the running time of each member: sandbox, group, client_id, from_ms, to_ms.

    A member that still runs has the end of the journal as `to_ms`.  `ends`: sandbox, `end_ms`.
    """
    from pyspark.sql import functions as f

    return (
        states.groupBy("sandbox", "group", "client_id")
        .agg(
            f.min(f.when(f.col("state") == "running", f.col("at_ms"))).alias("from_ms"),
            f.max(f.when(f.col("state").isin(*GONE), f.col("at_ms"))).alias("_gone"),
        )
        .where("from_ms is not null")
        .join(f.broadcast(ends), "sandbox")
        .select("sandbox", "group", "client_id", "from_ms", f.coalesce("_gone", "end_ms").alias("to_ms"))
    )


def claims(entries: "DataFrame", states: "DataFrame", ends: "DataFrame") -> "DataFrame":
    """Return the queues that each member owns by its last rebalance, as intervals.

    Columns: sandbox, group, client_id, topic, queue_key, from_ms, to_ms.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    assignments = entries.where("event = 'QueuesAssigned'").select(
        "sandbox", "group", "client_id", "topic", "seq", "at_ms", "queues"
    )
    nothing = f.array().cast("array<string>").alias("queues")
    gone = (
        states.where(f.col("state").isin(*GONE))
        .select("sandbox", "group", "client_id", "seq", "at_ms")
        .join(
            assignments.select("sandbox", "group", "client_id", "topic").distinct(), ["sandbox", "group", "client_id"]
        )
        .select("sandbox", "group", "client_id", "topic", "seq", "at_ms", nothing)
    )
    of_member = Window.partitionBy("sandbox", "group", "client_id", "topic").orderBy("seq")
    spans = (
        assignments.union(gone).withColumn("_next", f.lead("at_ms").over(of_member)).join(f.broadcast(ends), "sandbox")
    )
    return spans.select(
        "sandbox",
        "group",
        "client_id",
        "topic",
        f.explode("queues").alias("queue_key"),
        f.col("at_ms").alias("from_ms"),
        f.coalesce("_next", "end_ms").alias("to_ms"),
    )


def segments(intervals: "DataFrame", keys: Sequence[str]) -> "DataFrame":
    """Return the time between every two neighbouring edges of intervals with the same keys.

    Columns: the keys, from_ms, to_ms, and `open`: the number of intervals that are open then.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    edges = (
        intervals.select(
            *keys,
            f.explode(
                f.array(
                    f.struct(f.col("from_ms").alias("at"), f.lit(1).alias("step")),
                    f.struct(f.col("to_ms").alias("at"), f.lit(-1).alias("step")),
                )
            ).alias("_edge"),
        )
        .groupBy(*keys, f.col("_edge.at").alias("from_ms"))
        .agg(f.sum("_edge.step").alias("_step"))
    )
    in_time = Window.partitionBy(*keys).orderBy("from_ms")
    counted = edges.select(
        *keys,
        "from_ms",
        f.lead("from_ms").over(in_time).alias("to_ms"),
        f.sum("_step").over(in_time.rowsBetween(Window.unboundedPreceding, 0)).alias("open"),
    )
    # neighbours with the same number are one interval: the queue changed hands in that moment
    changed = f.coalesce(f.lag("open").over(in_time) != f.col("open"), f.lit(True)).cast("int")
    numbered = (
        counted.where("to_ms is not null")
        .withColumn("_changed", changed)
        .withColumn("_stretch", f.sum("_changed").over(in_time))
    )
    return (
        numbered.groupBy(*keys, "_stretch")
        .agg(f.min("from_ms").alias("from_ms"), f.max("to_ms").alias("to_ms"), f.first("open").alias("open"))
        .drop("_stretch")
    )
