"""The lock holder of each queue, since when, and the reasons why members wait (channel `locks/<slug>/<group>`)."""

from sandbox.broker.rebalance_lock import MAX_LIVE_MS
from sandbox.client.consume_orderly import ConsumeMessageOrderlyService
from sandbox.client.push_consumer import PushConsumer
from sandbox.cluster.cluster import Cluster
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.groups import GroupView, topics_of
from sandbox.queries.rows.locks import Consuming, LockAttempt, LockedQueue, LockLives, Locks
from sandbox.queries.snapshot.board import assignment, known_queues
from sandbox.queries.snapshot.down_queues import down_row
from sandbox.queries.snapshot.members import member_rows
from sandbox.queries.snapshot.queues import lock_row

ATTEMPTS = 40
RECENT_MS = 25_000  # a refused member asks again with its next rebalance, after 20 s


def read_locks(cluster: Cluster, group: str) -> Locks:
    view = GroupView(cluster, group)
    queues = _queue_rows(cluster, view)
    return {
        "lives": _lives(cluster, view),
        "queues": queues,
        "members": member_rows(cluster, view, None),
        "attempts": _attempts(cluster, view),
        "brokers": {node.node: node.state for node in cluster.nodes.brokers},
        "known": known_queues(queues),
    }


def _lives(cluster: Cluster, view: GroupView) -> LockLives:
    """Return the lifetimes of locks: the broker's, and two of the clients.

    The clients' are those of a running member, else those with which the next one would start.
    """
    broker_ms = next((broker.locks.max_live_ms for broker in view.masters.values()), MAX_LIVE_MS)
    running = next((actor.instance.config for actor in view.actors if actor.lives and actor.instance is not None), None)
    if running is not None:
        return {"broker_ms": broker_ms, "client_ms": running.lock_max_live_ms, "renew_ms": running.lock_renew_ms}
    preset = cluster.preset
    return {
        "broker_ms": broker_ms,
        "client_ms": preset.client_lock_max_live_ms,
        "renew_ms": preset.client_lock_interval_ms,
    }


def _queue_rows(cluster: Cluster, view: GroupView) -> dict[str, LockedQueue]:
    """Return the queues of all topics that the group reads, without its retry topic, which only attempts include."""
    waiting = _waiting(cluster, view)
    rows: dict[str, LockedQueue] = {}
    topics = topics_of(view)
    for topic in topics:
        if topic.startswith("%"):
            continue
        assigned = assignment(cluster, view, topic, view.routed_queues(topic))
        for mq in view.all_queues(topic):
            rows[row_key(mq, topics)] = _queue_row(cluster, view, mq, assigned.get(mq), waiting.get(mq, []))
    return rows


def row_key(mq: MessageQueue, topics: list[str]) -> str:
    """Return the key of a queue's row: `broker-a:3` for the group's first topic, else `topic/broker-a:3`."""
    return mq.row if mq.topic in topics[:1] else f"{mq.topic}/{mq.row}"


def _queue_row(
    cluster: Cluster, view: GroupView, mq: MessageQueue, assigned: str | None, waiting: list[str]
) -> LockedQueue:
    consuming: Consuming | None = None
    suspended_until_ms: int | None = None
    held = view.holder(mq)
    if held is not None and held[0].consumer is not None:
        actor, pq = held
        working = actor.listener.working.get(mq) if actor.listener is not None else None
        if working is not None:
            consuming = {
                "client_id": view.row_of(actor),
                "thread": working.thread,
                "offset": str(working.offset),
                "key": working.key,
            }
        service = held[0].consumer.service if isinstance(held[0].consumer, PushConsumer) else None
        if isinstance(service, ConsumeMessageOrderlyService):
            suspended_until_ms = service.suspended_until_ms.get(pq)
    down = down_row(cluster, view, mq)["down"] if mq.broker in view.down else None
    return {
        "topic": mq.topic,
        "assigned": assigned,
        "waiting": waiting,
        "consuming": consuming,
        "down": down,
        "lock": None if down is not None else lock_row(view, view.masters[mq.broker], mq),
        "suspended_until_ms": suspended_until_ms,
    }


def _waiting(cluster: Cluster, view: GroupView) -> dict[MessageQueue, list[str]]:
    """Return, by queue, the members whose last attempt was refused within the last `RECENT_MS`."""
    now_ms = cluster.clock.now_ms()
    last: dict[tuple[MessageQueue, str], tuple[int, bool]] = {}
    for broker in view.masters.values():
        for attempt in broker.locks.attempts:
            if attempt.group == view.group:
                at_ms = view.rightly_ms(attempt.mq.broker, attempt.at_ms)
                last[attempt.mq, attempt.client_id] = (at_ms, attempt.granted)
    waiting: dict[MessageQueue, list[str]] = {}
    for (mq, client_id), (at_ms, granted) in sorted(last.items()):
        if not granted and now_ms - at_ms <= RECENT_MS:
            waiting.setdefault(mq, []).append(client_id)
    return waiting


def _attempts(cluster: Cluster, view: GroupView) -> dict[str, LockAttempt]:
    """Return the newest attempts of all brokers, oldest first."""
    mine = [
        attempt for broker in view.masters.values() for attempt in broker.locks.attempts if attempt.group == view.group
    ]
    attempts = sorted(
        ((view.rightly_ms(attempt.mq.broker, attempt.at_ms), attempt) for attempt in mine), key=lambda item: item[0]
    )[-ATTEMPTS:]
    topics = topics_of(view)
    rows: dict[str, LockAttempt] = {}
    for at_ms, attempt in attempts:
        queue = row_key(attempt.mq, topics)
        rows[f"{at_ms}/{queue}/{attempt.client_id}"] = {
            "at_ms": at_ms,
            "client_id": attempt.client_id,
            "queue": queue,
            "topic": attempt.mq.topic,
            "granted": attempt.granted,
            "holder": attempt.holder,
            "left_ms": attempt.left_ms,
        }
    return rows
