"""Progress, subscriptions and unknown ranges of groups: from journals and stores' files."""

from typing import TYPE_CHECKING

from sandbox.message.topic_names import RETRY_PREFIX
from sandbox.pipeline.consumption.stored import QUEUE, names_of
from sandbox.pipeline.jobs.job import Source
from sandbox.store.reader import StoreReader

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FIELDS = ("group", "topic", "broker", "queue_id", "client_id", "offset", "code", "asked", "next_offset", "count",
          "expression", "consumed", "pulled")
PROGRESS = ("OffsetCommitted", "PullAnswered", "SubscriptionChanged", "FlowSkipped", "SandboxOpened")
FOUND = 0  # the code of a pull that brought messages
SQL_SIGNS = r"""[=<>()'"]|\s"""
"""Present in every SQL92 condition and in no tag: SubscriptionChanged does not contain the kind."""


def stored_offsets(session: "SparkSession", source: Source) -> "DataFrame":
    """sandbox, group, QUEUE, `stored_offset`: from each broker's consumerOffset.json, as last written."""
    from pyspark.sql import functions as f

    rows = []
    for name, (sandbox, broker) in names_of(source).items():
        store = StoreReader(source.stores[name])
        try:
            for (topic, group), offsets in store.consumer_offsets().items():
                rows += [(sandbox, group, topic, broker, queue_id, offset) for queue_id, offset in offsets.items()]
        finally:
            store.close()
    made = session.createDataFrame(rows, "sandbox STRING, group STRING, topic STRING, broker STRING, queue_id BIGINT, "
                                         "offset BIGINT")
    return made.groupBy("group", *QUEUE).agg(f.max("offset").alias("stored_offset"))


def committed(entries: "DataFrame", stored: "DataFrame") -> "DataFrame":
    """group, QUEUE, `committed`: the journal's last commit; from the file, where the valve was closed since."""
    from pyspark.sql import functions as f

    last = entries.where("event = 'OffsetCommitted'").groupBy("group", *QUEUE).agg(
        f.max_by("offset", "seq").alias("_commit"), f.max("seq").alias("_seq"))
    skips = entries.where("event = 'FlowSkipped'").groupBy("sandbox").agg(f.max("seq").alias("_skip"))
    both = last.join(stored, ["group", *QUEUE], "full").join(f.broadcast(skips), "sandbox", "left")
    is_fresh = f.col("_skip").isNull() | (f.col("_seq") > f.col("_skip"))
    return both.select("group", *QUEUE, f.when(is_fresh & f.col("_commit").isNotNull(), f.col("_commit")).otherwise(
        f.coalesce("stored_offset", "_commit")).alias("committed"))


def subscribed(entries: "DataFrame", calls: "DataFrame", ends: "DataFrame") -> "DataFrame":
    """sandbox, group, topic: subscriptions, with `since_ms` and `expressions`: null where no broker has them."""
    from pyspark.sql import functions as f

    changed = entries.where("event = 'SubscriptionChanged' and expression != ''")
    by_subscription = changed.groupBy("sandbox", "group", "topic").agg(
        f.min("at_ms").alias("since_ms"), f.collect_set("expression").alias("expressions"))
    by_calls = calls.select("sandbox", "group", "topic").union(ends.select("sandbox", "group", "topic")).distinct()
    both = by_subscription.join(by_calls, ["sandbox", "group", "topic"], "full")
    return both.where(~f.col("topic").startswith(RETRY_PREFIX))


def is_wanted(expressions: "Column", tags: "Column") -> "Column":
    """Whether any of the group's expressions matches these tags.  Null: an SQL92 condition decides, or unknown.

    Members that subscribe to different tags conflict, and messages that match none of them are lost, not unwanted.
    """
    from pyspark.sql import functions as f

    def asks(expression: "Column") -> "Column":
        listed = f.transform(f.split(expression, r"\|\|"), lambda tag: f.trim(tag))
        return f.when(expression == "*", f.lit(True)).when(
            f.regexp_replace(expression, r"\s*\|\|\s*", "").rlike(SQL_SIGNS), f.lit(None)).otherwise(
                f.array_contains(listed, f.coalesce(tags, f.lit(""))))

    return f.exists(expressions, asks)


def begun(entries: "DataFrame", taken: "DataFrame") -> "DataFrame":
    """group, QUEUE, `begins`: the lowest start offset of the group's members."""
    from pyspark.sql import functions as f

    asked = entries.where(f"event = 'PullAnswered' and code = {FOUND}").select(
        "group", *QUEUE, f.col("asked").alias("_at"))
    started = taken.where("event = 'QueueTaken'").select("group", *QUEUE, f.col("start_offset").alias("_at"))
    return asked.union(started).groupBy("group", *QUEUE).agg(f.min("_at").alias("begins"))


def pulled_by_external_members(entries: "DataFrame", states: "DataFrame") -> "DataFrame":
    """group, QUEUE, first, last: offsets pulled by external members, whose listeners are unknown."""
    from pyspark.sql import functions as f

    ours = states.select("sandbox", "client_id").distinct()
    return (entries.where(f"event = 'PullAnswered' and code = {FOUND} and count > 0")
            .join(f.broadcast(ours), ["sandbox", "client_id"], "left_anti")
            .select("group", *QUEUE, f.col("asked").alias("first"), (f.col("next_offset") - 1).alias("last")))


def skipped(entries: "DataFrame") -> "DataFrame":
    """group, QUEUE, first, last: ranges of pulls or calls skipped by the valve; their outcome is unknown."""
    from pyspark.sql import functions as f

    key = f.split(f.substring_index("_range._1", " ", -1), "/")
    return entries.where("event = 'FlowSkipped'").select(
        "sandbox", f.explode(f.concat("consumed", "pulled")).alias("_range")).select(
            f.substring_index("_range._1", " ", 1).alias("group"), "sandbox", key[0].alias("topic"),
            key[1].alias("broker"), key[2].cast("bigint").alias("queue_id"),
            f.col("_range._2").alias("first"), f.col("_range._3").alias("last"))


def beginnings(entries: "DataFrame") -> "DataFrame":
    """sandbox, `from_ms`: the start of journals whose oldest segments are deleted; complete ones are left out."""
    from pyspark.sql import functions as f

    return entries.groupBy("sandbox").agg(
        f.min("at_ms").alias("from_ms"), f.max(f.col("event") == "SandboxOpened").alias("_whole")).where(
            "not _whole").drop("_whole")
