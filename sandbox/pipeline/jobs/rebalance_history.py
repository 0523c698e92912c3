"""Job `rebalance_history`: queue moves between members, conflicting ownership, idle members and waits for locks.

Tables (times in ms of the sandbox's clock, `queue` is `broker-a:0`):

    moves           sandbox, group, topic, queue, from_member, to_member, at_ms, seq, why
    disagreements   sandbox, group, topic, queue, from_ms, to_ms, members
    idle            sandbox, group, member, from_ms, to_ms
    lock_waits      sandbox, group, topic, queue, member, from_ms, to_ms

A move is a queue taken: `why` is the end of the ownership before (the reason of its QueueDropped, or crashed),
`first` where there was none, `overlap` where it had not ended.  A disagreement is an interval in which several
members owned a queue by their last rebalance, or, with no `members`, none while some were running; rebalances of
external members are not in the journal, so for their groups only the former is known.  Broadcasting groups have no
moves and no disagreements.  A member is a client id: two processes with one id are one here, and a queue that both
take is an `overlap`.  A member is idle while it runs without a queue (except the retry topic's).  A wait for a lock
ends when the member gets it, or with the last refusal.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sandbox.message.topic_names import RETRY_PREFIX
from sandbox.pipeline.consumption.claims import GONE, claims, lives, segments
from sandbox.pipeline.consumption.deliveries import MEMBER, holds
from sandbox.pipeline.consumption.entries import entries_of, kept
from sandbox.pipeline.jobs.job import Given, Job, WrongOption

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

HEARD = (
    "QueuesAssigned",
    "QueueTaken",
    "QueueLocked",
    "LockDenied",
    "MemberJoined",
    "SandboxOpened",
    "SandboxSlept",
    "MemberStateChanged",
    "QueueDropped",
)
COLUMNS = ("group", "topic", "broker", "queue_id", "client_id", "queues", "model", "state", "reason")


def run(job_input: Given) -> "Mapping[str, DataFrame]":
    from pyspark.sql import functions as f

    if not job_input.source.journals:
        raise WrongOption("The rebalance history is computed from a journal. Choose a sandbox with --sandbox.")
    heard = kept(entries_of(job_input, *HEARD, columns=COLUMNS))
    states = heard.where("event = 'MemberStateChanged'")
    broadcasting = kept(
        heard.where("event = 'MemberJoined' and model = 'BROADCASTING'").select("sandbox", "group").distinct()
    )
    ends = kept(heard.groupBy("sandbox").agg(f.max("at_ms").alias("end_ms")))
    held = kept(claims(heard, states, ends))
    consumers = heard.where("event in ('QueuesAssigned', 'MemberJoined')").select("sandbox", "group").distinct()
    alive = kept(lives(states, ends).join(consumers, ["sandbox", "group"], "left_semi"))
    return {
        "moves": moves(heard, states).join(broadcasting, ["sandbox", "group"], "left_anti"),
        "disagreements": disagreements(held, alive, external_groups(heard, states)).join(
            broadcasting, ["sandbox", "group"], "left_anti"
        ),
        "idle": idle(held, alive),
        "lock_waits": lock_waits(heard),
    }


def moves(heard: "DataFrame", states: "DataFrame") -> "DataFrame":
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    gone = states.where(f.col("state").isin(*GONE)).select(
        "sandbox", "group", "client_id", "state", f.col("seq").alias("_gone")
    )
    reasons = heard.where("event = 'QueueDropped'").select("sandbox", f.col("seq").alias("let_go"), "reason")
    known = (
        holds(heard)
        .join(gone, ["sandbox", "group", "client_id"], "left")
        .groupBy(*MEMBER, "hold", "at_ms", "let_go")
        .agg(f.min(f.when(f.col("_gone") > f.col("hold"), f.struct("_gone", "state"))).alias("_end"))
    )
    ended = (
        known.join(reasons, ["sandbox", "let_go"], "left")
        .withColumn("_over", f.least("let_go", "_end._gone"))
        .withColumn("_why", f.when(f.col("let_go") == f.col("_over"), f.col("reason")).otherwise(f.col("_end.state")))
    )
    of_queue = Window.partitionBy("sandbox", "group", "topic", "broker", "queue_id").orderBy("hold")
    before = f.lag(f.struct("client_id", "_over", "_why")).over(of_queue)
    reason = (
        f.when(f.col("_before").isNull(), "first")
        .when(f.col("_before._over") < f.col("hold"), f.col("_before._why"))
        .otherwise("overlap")
    )
    return ended.withColumn("_before", before).select(
        "sandbox",
        "group",
        "topic",
        queue(f.col("broker"), f.col("queue_id")),
        f.col("_before.client_id").alias("from_member"),
        f.col("client_id").alias("to_member"),
        "at_ms",
        f.col("hold").alias("seq"),
        reason.alias("why"),
    )


def external_groups(heard: "DataFrame", states: "DataFrame") -> "DataFrame":
    """Return the groups that have or had a member of another process: sandbox, group."""
    return (
        heard.where("event = 'MemberJoined'")
        .select("sandbox", "group", "client_id")
        .join(states.select("sandbox", "client_id").distinct(), ["sandbox", "client_id"], "left_anti")
        .select("sandbox", "group")
        .distinct()
    )


def disagreements(held: "DataFrame", alive: "DataFrame", unheard: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as f

    queue_columns = ["sandbox", "group", "topic", "queue_key"]
    periods = segments(held, queue_columns).where("open != 1")
    holders = held.select(*queue_columns, f.col("from_ms").alias("_from"), f.col("to_ms").alias("_to"), "client_id")
    several = (
        periods.where("open > 1")
        .join(holders, queue_columns)
        .where("_from < to_ms and _to > from_ms")
        .groupBy(*queue_columns, "from_ms", "to_ms")
        .agg(f.array_sort(f.collect_set("client_id")).alias("members"))
    )
    lived = alive.select("sandbox", "group", f.col("from_ms").alias("_from"), f.col("to_ms").alias("_to"))
    alone = periods.where("open = 0").join(unheard, ["sandbox", "group"], "left_anti")
    no_owner = (
        alone.join(lived, ["sandbox", "group"])
        .where("_from < to_ms and _to > from_ms")
        .groupBy(*queue_columns, "from_ms", "to_ms")
        .agg(f.min("_from").alias("_first"), f.max("_to").alias("_last"))
        .select(
            *queue_columns,
            f.greatest("from_ms", "_first").alias("from_ms"),
            f.least("to_ms", "_last").alias("to_ms"),
            f.array().cast("array<string>").alias("members"),
        )
    )
    parts = f.split("queue_key", "/")
    return several.unionByName(no_owner).select(
        "sandbox", "group", "topic", queue(parts[1], parts[2]), "from_ms", "to_ms", "members"
    )


def idle(held: "DataFrame", alive: "DataFrame") -> "DataFrame":
    """Return the intervals in which a running member had no queue: sandbox, group, member, from_ms, to_ms.

    The run time of a member counts as one interval and each of its queues as another: where one is open, the member
    has no queue.
    """
    from pyspark.sql import functions as f

    member = ["sandbox", "group", "client_id"]
    queues = (
        held.where(~f.col("topic").startswith(RETRY_PREFIX))
        .join(alive.select(*member, f.col("from_ms").alias("_from"), f.col("to_ms").alias("_to")), member)
        .select(*member, f.greatest("from_ms", "_from").alias("from_ms"), f.least("to_ms", "_to").alias("to_ms"))
        .where("from_ms < to_ms")
    )
    return (
        segments(alive.unionByName(queues), member)
        .where("open = 1")
        .select("sandbox", "group", f.col("client_id").alias("member"), "from_ms", "to_ms")
    )


def lock_waits(heard: "DataFrame") -> "DataFrame":
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    of_member = Window.partitionBy(*MEMBER).orderBy("seq")
    got = (f.col("event") == "QueueLocked").cast("int")
    tries = heard.where("event in ('LockDenied', 'QueueLocked')").withColumn(
        "_got", f.sum(got).over(of_member.rowsBetween(Window.unboundedPreceding, -1))
    )
    waits = tries.groupBy(*MEMBER, f.coalesce("_got", f.lit(0))).agg(
        f.min(f.when(f.col("event") == "LockDenied", f.col("at_ms"))).alias("from_ms"), f.max("at_ms").alias("to_ms")
    )
    return waits.where("from_ms is not null").select(
        "sandbox",
        "group",
        "topic",
        queue(f.col("broker"), f.col("queue_id")),
        f.col("client_id").alias("member"),
        "from_ms",
        "to_ms",
    )


def queue(broker: "Column", queue_id: "Column") -> "Column":
    from pyspark.sql import functions as f

    return f.concat_ws(":", broker, queue_id).alias("queue")


REBALANCE_HISTORY = Job("rebalance_history", "How did queues move between members, and when did members disagree?", run)
