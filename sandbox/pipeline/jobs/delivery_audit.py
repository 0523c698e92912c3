"""Job `delivery_audit`: whether every message reached every group that wants it, how often, and why more than once.

Tables (times in ms of the sandbox's clock, `queue` is `broker-a:0`):

    messages      sandbox, group, topic, queue, queue_offset, message_id, keys, verdict, cause, deliveries,
                  first_ms, last_ms, first_seq, last_seq
    summary       sandbox, group, topic, verdict, cause, messages, example_seq
    repeats       sandbox, group, topic, queue, queue_offset, cause, at_ms, seq: one row for each time after the first
    order_breaks  sandbox, group, topic, queue, key, queue_offset, after_offset, seq: accepted for the first time after
                  a later one of the same queue (key is null), or of the same sharding key

Verdicts: `once`; `duplicate` with a cause (crash_before_commit, rebalance_hand_over, shared_client_id, retry, reset,
unknown); `waiting`: not delivered yet, or to come again; `lost`: the group's offset has passed it, and no call
accepted it; `handed_over`: pulled by an external member, whose listener is unknown, or, for a store alone, below the
group's committed offset; `unknown`: the journal's valve was closed, its segments of that time are deleted, or an
SQL92 condition decides whether the group wants it.  A copy in the retry topic is its origin's further delivery.  Not
in the table: messages a group does not subscribe to, and those stored before it began, unless they were delivered
too.  `deliveries` counts ended calls and hand-overs.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sandbox.pipeline.consumption import deliveries, progress
from sandbox.pipeline.consumption.entries import entries_of, kept
from sandbox.pipeline.consumption.order import order_breaks
from sandbox.pipeline.consumption.stored_messages import copies, stored_messages
from sandbox.pipeline.consumption.verdicts import Evidence, messages_of, repeats_of, summary_of, with_origin
from sandbox.pipeline.jobs.job import Given, Job, WrongOption
from sandbox.pipeline.sealed.sealing import seal_ahead

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVENTS = dict.fromkeys((*deliveries.EVENTS, *progress.EVENTS))
COLUMNS = dict.fromkeys((*deliveries.COLUMNS, *progress.COLUMNS))


def run(job_input: Given) -> "Mapping[str, DataFrame]":
    if not job_input.source.stores:
        raise WrongOption("The audit needs stores. Choose a sandbox with a broker, or a store with --store.")
    evidence = evidence_of(job_input)
    messages = kept(messages_of(evidence), now=False)
    return {
        "messages": messages,
        "summary": summary_of(messages),
        "repeats": repeats_of(evidence.calls),
        "order_breaks": order_breaks(evidence.calls),
    }


def evidence_of(job_input: Given) -> Evidence:
    """Read all tables that the verdicts need, once, and keep them during the run."""
    seal_ahead(job_input)
    stored = stored_messages(
        job_input.session, job_input.source, job_input.sealed
    )  # first: the journals are read up to here only
    heard = kept(entries_of(job_input, *EVENTS, columns=tuple(COLUMNS)))
    stored = kept(stored)
    made = kept(copies(stored), now=False)
    facts = kept(progress.facts(heard, job_input.source), now=False)
    calls = kept(with_origin(deliveries.deliveries(heard, facts), made), now=False)
    return Evidence(stored=stored, copies=made, calls=calls, facts=facts, groups=progress.groups(facts))


DELIVERY_AUDIT = Job(
    "delivery_audit", "Was every message delivered to every subscribed group, how often, and why more than once?", run
)
