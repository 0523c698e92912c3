"""One queue of one group with every counter, all of one turn.  None: unknown."""

from sandbox.broker.broker import Broker
from sandbox.client.process_queue import ProcessQueue
from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.cluster import Cluster
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.board import Held, LockRow, QueueEnds, QueuePosition, QueuePulls, QueueRow
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.snapshot.down_queues import down_broadcast_row, down_row
from sandbox.queries.snapshot_cache import SnapshotCache, cache_of


def queue_row(cluster: Cluster, view: GroupView, mq: MessageQueue, assigned: str | None) -> QueueRow:
    """Return the row of one queue of a clustering group."""
    holder = view.holder(mq)
    actor, pq = holder if holder is not None else (None, None)
    if mq.broker in view.down:
        row: QueueRow = {**_held(actor, pq, mq), **down_row(cluster, view, mq), "assigned": assigned}
        if pq is not None:
            row["next_pull"] = str(pq.next_offset)
        return row
    broker = view.masters[mq.broker]
    owner = view.row_of(actor) if actor is not None else view.wire_owner(mq)
    committed = broker.consumer_offsets.get(view.group, mq.topic, mq.queue_id)
    cache, high = cache_of(cluster), broker.store.max_offset(mq.topic, mq.queue_id)
    begin = 0 if committed is None and view.reads(mq.topic) else committed
    return {
        **_ends(cache, broker, mq, high),
        **_position(cache, broker, mq, committed, begin, high),
        **_held(actor, pq, mq),
        **_pulling(view, broker, mq, pq),
        "owner": owner,
        "assigned": assigned,
        "lock": lock_row(view, broker, mq),
        "cause": cache.cause(view.group, mq),
        "down": None,
    }


def broadcast_row(
    cluster: Cluster, view: GroupView, mq: MessageQueue, actor: ConsumerActor, pq: ProcessQueue | None
) -> QueueRow:
    """Return the row of one queue of one member of a broadcasting group; the offset is the member's own."""
    if mq.broker in view.down:
        return {**_held(actor, pq, mq), **down_broadcast_row(cluster, view, mq, actor), "assigned": actor.client_id}
    broker = view.masters[mq.broker]
    assert actor.consumer is not None
    committed, cache = actor.consumer.offset_store.read_memory(mq), cache_of(cluster)
    high = broker.store.max_offset(mq.topic, mq.queue_id)
    return {
        **_ends(cache, broker, mq, high),
        **_position(cache, broker, mq, committed, committed, high),
        **_held(actor, pq, mq),
        **_pulling(view, broker, mq, pq),
        "owner": actor.client_id,
        "assigned": actor.client_id,
        "lock": None,
        "cause": cache.cause(view.group, mq),
        "down": None,
    }


def lock_row(view: GroupView, broker: Broker, mq: MessageQueue) -> LockRow | None:
    """Return a queue's lock with both lifetimes: the broker's, and the one for which its holder trusts it.

    An expired lock stays until a member requests it.  A lock belongs to a client id: `holder` is the row of the
    first living member with it.  The holder's own settings define its trust and its renewals (spec client-behaviour
    5.4).
    """
    entry = broker.locks.table.get(view.group, {}).get(mq)
    if entry is None:
        return None
    holder = view.holder(mq)
    renewed_ms = view.rightly_ms(mq.broker, entry.last_update_ms)
    trusted_ms: int | None = None
    again_ms: int | None = None
    if holder is not None and holder[0].client_id == entry.client_id and holder[0].instance is not None:
        config, pq = holder[0].instance.config, holder[1]
        trusted_ms = pq.last_lock_ms + config.lock_max_live_ms if pq.locked else None
        again_ms = renewed_ms + config.lock_renew_ms
    return {
        "holder": view.row_of_client(entry.client_id),
        "granted_at_ms": view.rightly_ms(mq.broker, entry.granted_ms),
        "expires_at_ms": renewed_ms + broker.locks.max_live_ms,
        "trusted_until_ms": trusted_ms,
        "renew_at_ms": again_ms,
    }


def _ends(cache: SnapshotCache, broker: Broker, mq: MessageQueue, high: int) -> QueueEnds:
    return {
        "min": str(max(0, broker.store.min_offset(mq.topic, mq.queue_id))),
        "max": str(high),
        "rate_per_s": cache.rate(mq, high),
    }


def _position(
    cache: SnapshotCache, broker: Broker, mq: MessageQueue, committed: int | None, begin: int | None, high: int
) -> QueuePosition:
    """Return the group's position in the queue.

    `begin`: the offset from which the lag counts.  The oldest waiting message is at that offset, or is the first one
    not deleted.
    """
    if begin is None:
        return {"committed": None, "from_zero": False, "oldest_stored_ms": None}
    oldest = max(begin, broker.store.min_offset(mq.topic, mq.queue_id))
    return {
        "committed": None if committed is None else str(committed),
        "from_zero": committed is None,
        "oldest_stored_ms": cache.stored_ms(mq, oldest, high, broker.store.store_time),
    }


def _held(actor: ConsumerActor | None, pq: ProcessQueue | None, mq: MessageQueue) -> Held:
    """Return the state of the queue in the owner's process; a wire client reports none of it."""
    if actor is None or pq is None or actor.consumer is None:
        return {"in_memory": None, "cells": None, "cells_from": None, "oldest": None, "flow_control": None}
    in_memory = actor.consumer.offset_store.read_memory(mq)
    cells_from, cells = pq.cells()
    oldest = pq.oldest()
    return {
        "in_memory": None if in_memory is None else str(in_memory),
        "cells": cells,
        "cells_from": str(cells_from) if cells else None,
        "oldest": None if oldest is None else {"offset": str(oldest[0]), "key": oldest[1], "since_ms": oldest[2]},
        "flow_control": pq.flow_control,
    }


def _pulling(view: GroupView, broker: Broker, mq: MessageQueue, pq: ProcessQueue | None) -> QueuePulls:
    pull = broker.pulls.get(view.group, mq)
    if pq is not None:
        next_pull: int | None = pq.next_offset
    else:
        next_pull = pull.next_offset if pull is not None else None
    return {
        "next_pull": None if next_pull is None else str(next_pull),
        "held_until_ms": _held_until(view, mq.broker, pull.held_until_ms if pull is not None else None),
    }


def _held_until(view: GroupView, broker: str, until_ms: int | None) -> int | None:
    return None if until_ms is None else view.rightly_ms(broker, until_ms)
