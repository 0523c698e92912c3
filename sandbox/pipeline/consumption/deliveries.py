"""Every call of a listener, message by message, and the cause of a repetition: from the journal alone.

A call is an entry MessagesConsumed, which is written at its end, with any outcome; calls still running are not
included.  The engine counts the same causes by itself (`sandbox.cluster.actors.redelivery`).
"""

from typing import TYPE_CHECKING

from sandbox.message.topic_names import RETRY_PREFIX
from sandbox.pipeline.consumption.stored import PLACE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FIELDS = ("offsets", "keys", "sharding", "outcome", "started_ms", "start_offset", "rows", "model")
CALLS = ("MessagesConsumed", "QueueTaken", "OffsetsReset", "MemberJoined")
STATES = ("MemberStateChanged",)
DROPS = ("QueueDropped",)  # its `unfinished` has another type than that of MemberStateChanged

RETRY, RESET, CRASH, HAND_OVER, UNKNOWN = "retry", "reset", "crash_before_commit", "rebalance_hand_over", "unknown"

MEMBER = ("sandbox", "group", "topic", "broker", "queue_id", "client_id")
NO_HOLD = -1


def deliveries(entries: "DataFrame", drops: "DataFrame") -> "DataFrame":
    """PLACE (of the record), group, account, seq, at_ms, started_ms, client_id, outcome, key, sharding, and `hold`: the
    seq of the QueueTaken since which its member had the queue, NO_HOLD if unknown.

    `account` is the client id in a broadcasting group, whose members get all messages each; else empty.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    calls = entries.where("event = 'MessagesConsumed'").select(
        *MEMBER, f.col("started_ms").alias("_ms"), f.lit(1).alias("_turn"), "seq", "at_ms", "outcome",
        f.explode(f.arrays_zip("offsets", "keys", "sharding")).alias("_one"))
    taken = holds(entries, drops).select(
        *MEMBER, f.col("at_ms").alias("_ms"), f.lit(0).alias("_turn"), f.col("hold").alias("seq"), "at_ms",
        f.lit(None).cast("string").alias("outcome"),
        f.lit(None).cast(calls.schema["_one"].dataType).alias("_one"), "hold", "earlier", "let_go")
    blank = [f.lit(None).cast("bigint").alias(name) for name in ("hold", "earlier", "let_go")]
    # a call began before it was written: it belongs to the hold in which it began
    so_far = Window.partitionBy(*MEMBER).orderBy("_ms", "_turn", "seq").rowsBetween(Window.unboundedPreceding, 0)
    newest = f.last(f.when(f.col("_turn") == 0, f.struct("hold", "earlier", "let_go", f.col("_ms").alias("since_ms"))),
                    ignorenulls=True).over(so_far)
    # the older hold ended before the call, the newest did not: the call began before that hold, in the same ms
    is_older = ((f.col("outcome") == "IGNORED") & (f.col("_newest.since_ms") == f.col("_ms"))
                & f.col("_newest.earlier").isNotNull()
                & f.coalesce(f.col("_newest.let_go") > f.col("seq"), f.lit(True)))
    hold = f.when(is_older, f.col("_newest.earlier")).otherwise(f.col("_newest.hold"))
    broadcasting = entries.where("event = 'MemberJoined' and model = 'BROADCASTING'").select(
        "sandbox", "group", f.lit(True).alias("_all")).distinct()
    return (calls.select("*", *blank).union(taken).withColumn("_newest", newest).where("_turn = 1").select(
                *MEMBER, f.col("_one.offsets").alias("queue_offset"), f.col("_ms").alias("started_ms"), "seq", "at_ms",
                "outcome", f.col("_one.keys").alias("key"), f.col("_one.sharding").alias("sharding"),
                f.coalesce(hold, f.lit(NO_HOLD)).alias("hold"))
            .join(f.broadcast(broadcasting), ["sandbox", "group"], "left")
            .withColumn("account", f.when(f.col("_all"), f.col("client_id")).otherwise("")).drop("_all"))


def holds(entries: "DataFrame", drops: "DataFrame") -> "DataFrame":
    """MEMBER, `hold` (the seq of its QueueTaken), at_ms, `earlier` (the same member's hold before) and `let_go` (the
    seq of its QueueDropped; null: not yet, or its process crashed).
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    marks = (entries.where("event = 'QueueTaken'").select(*MEMBER, "seq", "at_ms", f.lit(True).alias("_taken"))
             .union(drops.select(*MEMBER, "seq", "at_ms", f.lit(False))))
    of_member = Window.partitionBy(*MEMBER).orderBy("seq")
    before = of_member.rowsBetween(Window.unboundedPreceding, -1)
    after = of_member.rowsBetween(1, Window.unboundedFollowing)
    return marks.select(
        *MEMBER, f.col("seq").alias("hold"), "at_ms", "_taken",
        f.max(f.when(f.col("_taken"), f.col("seq"))).over(before).alias("earlier"),
        f.min(f.when(~f.col("_taken"), f.col("seq"))).over(after).alias("let_go"),
    ).where("_taken").drop("_taken")


def numbered(calls: "DataFrame") -> "DataFrame":
    """With `number` (count of deliveries of its record), `again` (its message was delivered before), `in_hold` (count
    in this hold) and `before` (hold, started_ms, client_id): the newest earlier hold in which the record was delivered.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    record = ("sandbox", "group", "account", "topic", "broker", "queue_id", "queue_offset")
    times = Window.partitionBy(*record).orderBy("started_ms", "seq")
    earlier = times.rowsBetween(Window.unboundedPreceding, -1)
    in_hold = Window.partitionBy(*record, "client_id", "hold").orderBy("started_ms", "seq")
    return calls.select(
        "*", f.row_number().over(times).alias("number"), f.row_number().over(in_hold).alias("in_hold"),
        f.max(f.struct("hold", "started_ms", "client_id")).over(earlier).alias("before"),
    ).withColumn("again", (f.col("number") > 1) | f.col("topic").startswith(RETRY_PREFIX))


def with_causes(calls: "DataFrame", entries: "DataFrame", states: "DataFrame", drops: "DataFrame") -> "DataFrame":
    """The columns of `numbered`, and `cause`: null for the first time.

    The first time of a copy, and a second time in one hold: not accepted (retry).  Otherwise a reset covered it since
    its last delivery, or the process that had it crashed with the queue, or the queue has a new owner.
    """
    from pyspark.sql import functions as f

    asked = calls.where("number > 1 and in_hold = 1").select(
        *PLACE, "group", "seq", "started_ms", "before", f.concat_ws("/", "topic", "broker", "queue_id").alias("_queue"))
    reset, crashed = _resets(asked, entries), _crashes(asked, entries, states, drops)
    looked_up = (calls.join(reset, ["sandbox", "seq", "queue_offset"], "left")
                 .join(crashed, ["sandbox", "seq", "queue_offset"], "left"))
    cause = (f.when(~f.col("again"), None).when((f.col("number") == 1) | (f.col("in_hold") > 1), RETRY)
             .when(f.col("_reset"), RESET).when(f.col("_crashed"), CRASH)
             .when(f.col("before.hold") == NO_HOLD, UNKNOWN).otherwise(HAND_OVER))
    return looked_up.withColumn("cause", cause).drop("_reset", "_crashed")


def _resets(asked: "DataFrame", entries: "DataFrame") -> "DataFrame":
    """(sandbox, seq, queue_offset) of calls with a reset that covered the message before them."""
    from pyspark.sql import functions as f

    rows = entries.where("event = 'OffsetsReset'").select(
        f.col("sandbox").alias("_s"), f.col("group").alias("_g"), f.col("seq").alias("_seq"),
        f.col("at_ms").alias("_ms"), f.explode("rows").alias("_row")).withColumns(
            {"_q": f.col("_row._1"), "_to": f.col("_row._3")})
    return asked.join(f.broadcast(rows), _all(
        f.col("sandbox") == f.col("_s"), f.col("group") == f.col("_g"), f.col("_queue") == f.col("_q"),
        f.col("_to") <= f.col("queue_offset"), f.col("_seq") < f.col("seq"),
        f.col("_ms").between(f.col("before.started_ms"), f.col("started_ms")))).select(
            "sandbox", "seq", "queue_offset", f.lit(True).alias("_reset")).distinct()


def _crashes(asked: "DataFrame", entries: "DataFrame", states: "DataFrame", drops: "DataFrame") -> "DataFrame":
    """(sandbox, seq, queue_offset) of calls whose record was last delivered to a process that crashed with the queue.
    """
    from pyspark.sql import functions as f

    ends = _crashed_holds(entries, states, drops).select(
        f.col("sandbox").alias("_s"), f.col("hold").alias("_hold"), f.col("crash_seq"), f.col("crash_ms"))
    return asked.join(f.broadcast(ends), _all(
        f.col("sandbox") == f.col("_s"), f.col("before.hold") == f.col("_hold"), f.col("crash_seq") < f.col("seq"),
        f.col("crash_ms") <= f.col("started_ms"))).select(
            "sandbox", "seq", "queue_offset", f.lit(True).alias("_crashed")).distinct()


def _crashed_holds(entries: "DataFrame", states: "DataFrame", drops: "DataFrame") -> "DataFrame":
    """Holds ended by a crash: sandbox, hold, crash_seq, crash_ms."""
    from pyspark.sql import functions as f

    crashed = states.where("state = 'crashed'").select(
        "sandbox", "group", "client_id", "seq", f.col("at_ms").alias("_ms"))
    return (holds(entries, drops).join(crashed, ["sandbox", "group", "client_id"]).where("seq > hold")
            .groupBy("sandbox", "hold", "let_go").agg(f.min("seq").alias("crash_seq"), f.min("_ms").alias("crash_ms"))
            .where("let_go is null or let_go > crash_seq").drop("let_go"))


def _all(*conditions: "Column") -> "Column":
    found = conditions[0]
    for condition in conditions[1:]:
        found = found & condition
    return found
