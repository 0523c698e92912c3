"""The verdict on each message and group, from all known facts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sandbox.pipeline.consumption.progress import is_wanted
from sandbox.pipeline.consumption.stored import PLACE, QUEUE, originals
from sandbox.pipeline.consumption.within import within

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RECORD = PLACE
ORIGIN = ("origin_topic", "origin_broker", "origin_queue_id", "origin_offset")


class Evidence(NamedTuple):
    """Tables of `stored`, `deliveries` and `progress`."""

    stored: "DataFrame"
    copies: "DataFrame"
    calls: "DataFrame"
    ends: "DataFrame"
    groups: "DataFrame"
    begun: "DataFrame"
    pulled: "DataFrame"
    skipped: "DataFrame"
    beginnings: "DataFrame"


def with_origin(calls: "DataFrame", made: "DataFrame") -> "DataFrame":
    """Calls with their message's place: a copy's origin, else (or where that is deleted) their own."""
    from pyspark.sql import functions as f

    found = calls.join(made.where("kind = 'retry'").select(*PLACE, "group", *ORIGIN), [*PLACE, "group"], "left")
    own = dict(zip(ORIGIN, PLACE[1:], strict=True))
    return found.withColumns({origin: f.coalesce(origin, place) for origin, place in own.items()})


def messages_of(evidence: Evidence, *, heard: Sequence[str]) -> "DataFrame":
    """The table `messages`.  `heard`: sandboxes that have a journal."""
    from pyspark.sql import functions as f

    records = _with_progress(_records(evidence), evidence, f.col("sandbox").isin(list(heard)))
    message = records.groupBy("sandbox", "group", *ORIGIN).agg(
        *(f.max(f.when(f.col("kind") == "original", f.col(name))).alias(name)
          for name in ("message_id", "keys", "store_ms", "wanted", "since_ms", "passed", "begins", "from_ms")),
        f.coalesce(f.sum("calls"), f.lit(0)).alias("calls"), f.coalesce(f.sum("repeats"), f.lit(0)).alias("repeats"),
        f.min("first_repeat").alias("first_repeat"), f.max("last_call").alias("last_call"),
        f.max("accepted").alias("accepted"),
        f.min("first_ms").alias("first_ms"), f.max("last_ms").alias("last_ms"),
        f.min("first_seq").alias("first_seq"), f.max("last_seq").alias("last_seq"),
        f.max("skipped").alias("skipped"), f.count_if("handed").alias("handed"),
        f.count_if(f.col("kind") == "delayed").alias("put_off"), f.count_if(f.col("kind") == "retry").alias("copies"),
        f.count_if((f.col("kind") == "retry") & f.col("calls").isNull() & ~f.col("handed")).alias("copies_open"),
    ).where("message_id is not null")
    is_heard = f.col("sandbox").isin(list(heard))
    verdict = _verdict(is_heard)
    cause = f.when(f.col("verdict") == "duplicate", f.coalesce("first_repeat.cause", f.lit("retry")))
    return message.where(_in_scope(is_heard)).withColumn("verdict", verdict).select(
        "sandbox", "group", f.col("origin_topic").alias("topic"),
        f.concat_ws(":", "origin_broker", "origin_queue_id").alias("queue"),
        f.col("origin_offset").alias("queue_offset"), "message_id", "keys", "verdict", cause.alias("cause"),
        (f.col("calls") + f.col("handed")).alias("deliveries"), "first_ms", "last_ms", "first_seq", "last_seq")


def _records(evidence: Evidence) -> "DataFrame":
    """All messages a group reads or could read: each original once per group of its topic, and the copies."""
    from pyspark.sql import functions as f

    first = originals(evidence.stored).join(f.broadcast(evidence.groups), ["sandbox", "topic"]).select(
        *PLACE, "group", *(f.col(place).alias(origin) for origin, place in zip(ORIGIN, PLACE[1:], strict=True)),
        f.lit("original").alias("kind"), f.coalesce("unique_key", "offset_id").alias("message_id"),
        f.coalesce("keys", f.lit("")).alias("keys"), "store_ms",
        is_wanted(f.col("expressions"), f.col("tags")).alias("wanted"), "since_ms")
    again = evidence.copies.select(*PLACE, "group", *ORIGIN, "kind")
    return first.unionByName(again, allowMissingColumns=True)


def _with_progress(records: "DataFrame", evidence: Evidence, is_heard: "Column") -> "DataFrame":
    """With the listeners' outcomes of each record, and the group's offsets."""
    from pyspark.sql import functions as f

    moment = f.struct("started_ms", "seq", "cause")
    calls = evidence.calls.groupBy(*PLACE, "group").agg(
        f.count(f.lit(1)).alias("calls"), f.count_if("again").alias("repeats"),
        f.min(f.when(f.col("again"), moment)).alias("first_repeat"),
        f.max(f.struct("seq", "outcome")).alias("last_call"), f.max(f.col("outcome") == "SUCCESS").alias("accepted"),
        f.min("started_ms").alias("first_ms"),
        f.max("at_ms").alias("last_ms"), f.min("seq").alias("first_seq"), f.max("seq").alias("last_seq"))
    found = (records.join(calls, [*PLACE, "group"], "left")
             .join(f.broadcast(evidence.ends), ["group", *QUEUE], "left")
             .join(f.broadcast(evidence.begun), ["group", *QUEUE], "left")
             .join(f.broadcast(evidence.beginnings), "sandbox", "left"))
    found = within(found, "queue_offset", {"pulled": evidence.pulled, "skipped": evidence.skipped}, ["group", *QUEUE])
    passed = f.coalesce(f.col("queue_offset") < f.col("committed"), f.lit(False))
    is_read = f.col("kind").isin("original", "retry")
    handed = f.col("calls").isNull() & is_read & (f.col("pulled") | (~is_heard & passed))
    return found.withColumns({"passed": passed, "handed": handed})


def _in_scope(is_heard: "Column") -> "Column":
    """Whether the group should have had it: it got it, or it subscribed at that time, or had started before it."""
    from pyspark.sql import functions as f

    given = (f.col("calls") > 0) | (f.col("handed") > 0)
    there = (f.col("since_ms").isNull() | f.col("begins").isNull() | (f.col("store_ms") >= f.col("since_ms"))
             | (f.col("origin_offset") >= f.col("begins")))
    return given | ~is_heard | (there & f.coalesce("wanted", f.lit(True)))


def _verdict(is_heard: "Column") -> "Column":
    from pyspark.sql import functions as f

    unsure = f.col("skipped") | f.coalesce(f.col("store_ms") < f.col("from_ms"), f.lit(False))
    comes_again = ~f.col("passed") | (f.col("copies_open") > 0) | (f.col("put_off") > f.col("copies"))
    once = (f.when((f.col("last_call.outcome") != "SUCCESS") & comes_again, f.lit("waiting"))
            .when(f.col("accepted"), f.lit("once")).otherwise(f.lit("lost")))
    return (f.when((f.col("repeats") > 0) | (f.col("handed") > 1), f.lit("duplicate"))
            .when(is_heard & unsure, f.lit("unknown"))
            .when(f.col("calls") > 0, once)
            .when(f.col("handed") > 0, f.lit("handed_over"))
            .when(~f.col("passed"), f.lit("waiting"))
            .when(f.col("wanted").isNull(), f.lit("unknown"))
            .otherwise(f.lit("lost")))
