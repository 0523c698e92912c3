"""The waits of a member, each with the time when it can end."""

from sandbox.client.instance import ClientInstance
from sandbox.client.producer import Producer
from sandbox.client.push_consumer import PushConsumer
from sandbox.cluster.actors.consumer_actor import GroupMember
from sandbox.cluster.cluster import Cluster
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.rows.waits import Wait
from sandbox.queries.snapshot_cache import cache_of

WAITS_SHOWN = 64


def waits(cluster: Cluster, view: GroupView | None, consumer: GroupMember | None) -> dict[str, Wait]:
    """Return the waits of a member, by queue or topic.

    `why`: route (no name server has it), rebalance (no queue was assigned yet), lock (another member has it), master
    (no broker can lock or report an offset), offset (the start is unknown), not_locked, no_offset, not_subscribed,
    pull_failed, broker_busy, flow_control, paused, not_running.  `until_ms`: the earliest time when it can end.
    `again_ms`: time of the client's next try.
    """
    if consumer is None or view is None:
        return {}
    rows = _routes(consumer.instance, consumer.topics())
    if not isinstance(consumer, PushConsumer):
        return rows  # its application makes all its other waits
    table = consumer.timer_rows()
    claimed = consumer.rebalancer.claimed()
    again_ms = table["rebalance"].due_ms
    if not claimed and not consumer.process_queues and not rows and consumer.state in ("starting", "running"):
        rows[""] = _row("rebalance", again_ms=again_ms)
    for mq in claimed:
        if mq not in consumer.process_queues and mq.topic in consumer.subscriptions:
            rows[mq.key] = _not_taken(cluster, view, consumer, mq, again_ms)
    for mq, pq in sorted(consumer.process_queues.items(), key=lambda item: item[0]):
        if pq.pause:
            rows[mq.key] = _row(pq.pause, queue=mq.key, until_ms=pq.pull_again_ms, again_ms=pq.pull_again_ms)
    return dict(list(rows.items())[:WAITS_SHOWN])


def waits_of_producer(producer: Producer) -> dict[str, Wait]:
    """Return the waits of a producer, which waits for routes only."""
    return _routes(producer.instance, producer.topics())


def _routes(instance: ClientInstance, topics: list[str]) -> dict[str, Wait]:
    table = instance.timer_rows()
    again_ms = table["route"].due_ms if "route" in table else None
    return {
        topic: _row("route", topic=topic, again_ms=again_ms) for topic in topics if not instance.routes.knows(topic)
    }


def _not_taken(
    cluster: Cluster, view: GroupView, consumer: PushConsumer, mq: MessageQueue, again_ms: int | None
) -> Wait:
    broker = view.masters.get(mq.broker)
    if broker is None:
        return _row("master", queue=mq.key, again_ms=again_ms)
    if consumer.config.orderly:  # broadcasting too: 4.9.8 asks for a lock there as well
        lock = broker.locks.table.get(view.group, {}).get(mq)
        if lock is not None and lock.client_id != consumer.client_id:
            until_ms = lock.last_update_ms + broker.locks.max_live_ms
            return {
                **_row("lock", queue=mq.key, again_ms=again_ms, until_ms=until_ms),
                "holder": lock.client_id,
                "holder_state": _state(cluster, lock.client_id),
                "held_since_ms": lock.last_update_ms,
            }
    return _row("offset", queue=mq.key, again_ms=again_ms)


def _state(cluster: Cluster, client_id: str) -> str:
    """Return the state of a lock's holder: an ended process has its last recorded state, else `unknown`."""
    for actor in sorted(cluster.actors.by_label.values(), key=lambda actor: not actor.lives):  # of two with one id
        if actor.client_id == client_id:
            return actor.state
    life = cache_of(cluster).lives.get(client_id)
    return str(life.states[-1]["state"]) if life is not None and life.states else "unknown"


def _row(
    reason: str,
    *,
    topic: str | None = None,
    queue: str | None = None,
    until_ms: int | None = None,
    again_ms: int | None = None,
) -> Wait:
    return {"why": reason, "topic": topic, "queue": queue, "until_ms": until_ms, "again_ms": again_ms}
