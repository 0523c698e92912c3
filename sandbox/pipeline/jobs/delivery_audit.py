"""Was every message delivered to every group that wants it, how often, and why more than once?

Tables (times in ms of the sandbox's clock, `queue` is `broker-a:0`):

    messages      sandbox, group, topic, queue, queue_offset, message_id, keys, verdict, cause, deliveries,
                  first_ms, last_ms, first_seq, last_seq
    summary       sandbox, group, topic, verdict, cause, messages, example_seq
    repeats       sandbox, group, topic, queue, queue_offset, cause, at_ms, seq: one row for each time after the first
    order_breaks  sandbox, group, topic, queue, key, queue_offset, after_offset, seq: accepted for the first time after
                  a later one of the same queue (key is null), or of the same sharding key

Verdicts: `once`; `duplicate` with a cause (crash_before_commit, rebalance_hand_over, retry, reset, unknown); `waiting`:
not delivered yet, or to come again; `lost`: the group's offset has passed it, and no call accepted it; `handed_over`:
pulled by an external member, whose listener is unknown, or, for a store alone, below the group's committed offset;
`unknown`: the journal's valve was closed, its segments of that time are deleted, or an SQL92 condition decides whether
the group wants it.  A copy in the retry topic is its origin's further delivery.  Not in the table: messages a group
does not subscribe to, and those stored before it began, unless they were delivered too.  `deliveries` counts ended
calls and hand-overs.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sandbox.pipeline.consumption import deliveries as calls_of
from sandbox.pipeline.consumption import progress
from sandbox.pipeline.consumption.entries import entries_of, kept
from sandbox.pipeline.consumption.order import order_breaks
from sandbox.pipeline.consumption.stored import copies, stored_messages
from sandbox.pipeline.consumption.verdicts import RECORD, Evidence, messages_of, with_origin
from sandbox.pipeline.consumption.within import within
from sandbox.pipeline.jobs.job import Given, Job, WrongOption
from sandbox.pipeline.sealed.sealing import seal_ahead

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run(given: Given) -> "Mapping[str, DataFrame]":
    from pyspark.sql import functions as f

    if not given.source.stores:
        raise WrongOption("The audit needs stores: name a sandbox that has a broker, or a store with --store.")
    evidence = evidence_of(given)
    messages = kept(messages_of(evidence, heard=sorted(given.source.journals)))
    calls = with_origin(evidence.calls, evidence.copies)
    return {
        "messages": messages,
        "summary": messages.groupBy("sandbox", "group", "topic", "verdict", "cause").agg(
            f.count(f.lit(1)).alias("messages"), f.min("last_seq").alias("example_seq")),
        "repeats": calls.where("again").select(
            "sandbox", "group", f.col("origin_topic").alias("topic"),
            f.concat_ws(":", "origin_broker", "origin_queue_id").alias("queue"),
            f.col("origin_offset").alias("queue_offset"), "cause", f.col("started_ms").alias("at_ms"), "seq"),
        "order_breaks": order_breaks(calls),
    }


def evidence_of(given: Given) -> Evidence:
    """All facts, read once and kept during the run."""
    from pyspark.sql import functions as f

    session, source = given.session, given.source
    seal_ahead(given)
    stored = stored_messages(session, source, given.sealed)  # first: the journals are read up to here only
    heard = kept(entries_of(given, *calls_of.CALLS, *progress.PROGRESS).select(
        "sandbox", "seq", "at_ms", "event", *progress.FIELDS, *calls_of.FIELDS))
    states, drops = kept(entries_of(given, *calls_of.STATES)), kept(entries_of(given, *calls_of.DROPS))
    stored = kept(stored.drop("properties"))
    skipped = progress.skipped(heard)
    calls = calls_of.with_causes(kept(calls_of.numbered(calls_of.deliveries(heard, drops))), heard, states, drops)
    unsure = within(calls.where("again"), "queue_offset", {"unsure": skipped}, ["group", *RECORD[:-1]])
    calls = kept(calls.where("not again").withColumn("unsure", f.lit(False)).unionByName(unsure).withColumn(
        "cause", f.when(f.col("unsure"), calls_of.UNKNOWN).otherwise(f.col("cause"))).drop("unsure"))
    ends = kept(progress.committed(heard, progress.stored_offsets(session, source)))
    return Evidence(
        stored=stored, copies=kept(copies(stored)), calls=calls, ends=ends,
        groups=progress.subscribed(heard, calls, ends), begun=progress.begun(heard, heard),
        pulled=progress.pulled_by_external_members(heard, states), skipped=skipped,
        beginnings=progress.beginnings(heard))


DELIVERY_AUDIT = Job(
    "delivery_audit", "Was every message given to every group that wants it, how often, and why more than once?", run)
