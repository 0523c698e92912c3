"""Queues whose master is down: its last report, and the answers of its slave since then.

A slave serves pulls and stores offsets, but no member can lock a queue there, so an orderly group waits for the
master (spec broker-behaviour 12, client-behaviour 3, 8.3).
"""

from sandbox.broker.pulls import PullState
from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.cluster import Cluster
from sandbox.cluster.last_known import LastKnown
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.board import AtBroker, DownMark, QueueEnds
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.snapshot_cache import cache_of


def down_row(cluster: Cluster, view: GroupView, mq: MessageQueue) -> AtBroker:
    """Return the fields that `queue_row` would read from a running broker.  `down`: see `down_mark`."""
    known, pull = view.down[mq.broker], _slave_pull(view, mq)
    committed, stored_ms = known.committed(view.group, mq)
    slave = view.slaves.get(mq.broker)
    if pull is not None and slave is not None:
        at_slave = slave.running.consumer_offsets.get(view.group, mq.topic, mq.queue_id)
        if at_slave is not None and at_slave != committed:
            committed = at_slave
            stored_ms = cache_of(cluster).stored_ms(mq, at_slave, known.ends(mq)[1], slave.running.store.store_time)
    held = view.holder(mq)
    return {
        **_ends(known, mq),
        "committed": _text(committed),
        "from_zero": committed is None and view.reads(mq.topic),
        "oldest_stored_ms": stored_ms,
        "next_pull": None if pull is None or held is not None else str(pull.next_offset),
        "held_until_ms": None if pull is None else pull.held_until_ms,
        "owner": _owner(view, mq, pull),
        "lock": None,
        "cause": cache_of(cluster).cause(view.group, mq),
        "down": down_mark(view, mq, 0 if committed is None and view.reads(mq.topic) else committed, pull),
    }


def down_broadcast_row(cluster: Cluster, view: GroupView, mq: MessageQueue, actor: ConsumerActor) -> AtBroker:
    """Return the same fields for one member of a broadcasting group, whose offset is the member's own."""
    committed = actor.consumer.offset_store.read_memory(mq) if actor.consumer is not None else None
    known, pull = view.down[mq.broker], _slave_pull(view, mq)
    return {
        **_ends(known, mq),
        "committed": _text(committed),
        "from_zero": False,
        "oldest_stored_ms": None,
        "next_pull": None,
        "held_until_ms": None,
        "owner": actor.client_id,
        "lock": None,
        "cause": cache_of(cluster).cause(view.group, mq),
        "down": down_mark(view, mq, committed, pull),
    }


def down_mark(view: GroupView, mq: MessageQueue, begin: int | None, pull: PullState | None) -> DownMark:
    """Return the mark of a queue whose master is down.

    `known_at_ms`: the time of the master's last report; `lag`: from `begin` by that report, None if unknown.
    `reads`: slave (members pull from it), slave_idle (it has the queue, and no member has pulled there yet), "nobody",
    no_lock (of an ordered group).
    """
    known, slave = view.down[mq.broker], view.slaves.get(mq.broker)
    lag = None if begin is None else str(known.ends(mq)[1] - begin)
    behind = None
    if slave is not None:
        behind = str(max(0, known.ends(mq)[1] - slave.running.store.max_offset(mq.topic, mq.queue_id)))
    return {"known_at_ms": known.at_ms, "reads": _reads(view, mq, known, pull), "lag": lag, "behind": behind}


def _reads(view: GroupView, mq: MessageQueue, known: LastKnown, pull: PullState | None) -> str:
    if _in_order(view, known):
        return "no_lock"
    if mq.broker not in view.slaves:
        return "nobody"
    return "slave" if pull is not None and _owner(view, mq, pull) is not None else "slave_idle"


def _in_order(view: GroupView, known: LastKnown) -> bool:
    """Return True if the group is orderly.  External clients do not report it, but their locks show it."""
    return view.listener == "orderly" or (view.listener is None and view.group in known.locking)


def _slave_pull(view: GroupView, mq: MessageQueue) -> PullState | None:
    """Return the group's last pull at the slave since the master went down, or None."""
    slave = view.slaves.get(mq.broker)
    pull = slave.running.pulls.get(view.group, mq) if slave is not None else None
    if slave is None or pull is None:
        return None
    skew_ms = slave.clock.skew_ms
    pull = pull._replace(
        at_ms=pull.at_ms - skew_ms, held_until_ms=None if pull.held_until_ms is None else pull.held_until_ms - skew_ms
    )
    return pull if pull.at_ms >= view.down[mq.broker].at_ms else None


def _owner(view: GroupView, mq: MessageQueue, pull: PullState | None) -> str | None:
    held = view.holder(mq)
    if held is not None:
        return view.row_of(held[0])
    if pull is None or pull.client_id in view.by_client:
        return None
    return pull.client_id if pull.client_id in view.registered() else None


def _ends(known: LastKnown, mq: MessageQueue) -> QueueEnds:
    low, high = known.ends(mq)
    return {"min": str(low), "max": str(high), "rate_per_s": 0.0}


def _text(offset: int | None) -> str | None:
    return None if offset is None else str(offset)
