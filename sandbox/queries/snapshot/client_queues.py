"""The queues that a member holds and the topics to which it subscribes, for its page."""

from sandbox.client.process_queue import ProcessQueue
from sandbox.client.push_consumer import PushConsumer
from sandbox.cluster.actors.consumer_actor import GroupMember
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.clients import ClientQueue, ClientQueueHeld, ClientQueuePlace, ClientQueueRow, SubscribedTopic
from sandbox.queries.rows.groups import GroupView

RUNS_SHOWN = 24  # of cached offsets


def queue_rows(view: GroupView | None, consumer: GroupMember | None, client_id: str) -> dict[str, ClientQueue]:
    """Return the rows by `topic/broker/id`; for a wire client those of the queues that it pulled last."""
    if view is None:
        return {}
    if consumer is None:
        return {mq.key: _place(view, mq) for mq in view.pulled_by(client_id)}
    return {
        mq.key: _row(view, consumer, mq, pq)
        for mq, pq in sorted(consumer.process_queues.items(), key=lambda item: item[0])
    }


def _row(view: GroupView, consumer: GroupMember, mq: MessageQueue, pq: ProcessQueue) -> ClientQueueRow:
    return {**_place(view, mq), **_held(consumer, mq, pq)}


def _place(view: GroupView, mq: MessageQueue) -> ClientQueuePlace:
    committed = view.committed(mq)
    broker = view.masters.get(mq.broker)
    high = broker.store.max_offset(mq.topic, mq.queue_id) if broker is not None else None
    return {
        "topic": mq.topic,
        "broker": mq.broker,
        "queue_id": mq.queue_id,
        "committed": _text(committed),
        "max": _text(high),
    }


def _held(consumer: GroupMember, mq: MessageQueue, pq: ProcessQueue) -> ClientQueueHeld:
    """Return the process's own state of a queue.

    `runs`: cached and taken offsets, each run with both ends.  `runs_more`: number of runs left out.
    """
    runs = pq.unfinished_runs()
    oldest = pq.oldest()
    orderly = isinstance(consumer, PushConsumer) and consumer.config.orderly
    return {
        "in_memory": _text(consumer.offset_store.read_memory(mq)),
        "next_pull": str(pq.next_offset),
        "cached": pq.cached,
        "taken": pq.count - pq.cached,
        "bytes": pq.bytes,
        "span": pq.span,
        "runs": [[str(first), str(last)] for first, last in runs[:RUNS_SHOWN]],
        "runs_more": max(0, len(runs) - RUNS_SHOWN),
        "processing": pq.processing,
        "done_ahead": pq.done_ahead,
        "oldest": None if oldest is None else {"offset": str(oldest[0]), "key": oldest[1], "since_ms": oldest[2]},
        "locked": pq.locked if orderly else None,
        "trusted_until_ms": pq.last_lock_ms + consumer.instance.config.lock_max_live_ms
        if orderly and pq.locked
        else None,
        "flow_control": pq.flow_control,
        "pause": pq.pause,
        "last_pull_ms": pq.last_pull_ms,
        "last_consume_ms": pq.last_consume_ms,
        "taken_at_ms": pq.taken_at_ms,
        "dropped": pq.dropped,
    }


def subscription_rows(
    view: GroupView | None, consumer: GroupMember | None, client_id: str
) -> dict[str, SubscribedTopic]:
    """Return the topics to which the process subscribes.

    A wire client's are those of its last heartbeat; if it has none, those that brokers store for its group.
    """
    if consumer is not None:
        subscriptions = [subscription.data() for subscription in consumer.subscriptions.values()]
    elif view is not None and (heard := [info.words for info in view.connections().get(client_id, ()) if info.words]):
        subscriptions = list(heard[-1].subscriptions)
    elif view is not None:
        subscriptions = [
            data
            for broker in view.masters.values()
            if (group := broker.consumers.groups.get(view.group)) is not None
            for data in group.subscriptions.values()
        ]
    else:
        return {}
    return {
        data.topic: {
            "expression": data.sub_string,
            "type": data.expression_type,
            "tags": list(data.tags),
            "codes": list(data.codes),
            "version": str(data.sub_version),
        }
        for data in subscriptions
    }


def _text(offset: int | None) -> str | None:
    return None if offset is None else str(offset)
