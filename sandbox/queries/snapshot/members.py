"""One member of a group, for its card.  A wire client has the facts of the brokers' tables.

The other fields are None.
"""

from sandbox.broker.consumers import MemberInfo
from sandbox.client.process_queue import ProcessQueue
from sandbox.client.pull_consumer import PullConsumer
from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.cluster import Cluster
from sandbox.cluster.presets import MIB, Preset
from sandbox.queries.rows.board import ActorRow, PullLimits, SlowKey
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.snapshot.code_names import release_name
from sandbox.queries.snapshot.member_words import words_of_actor, words_of_wire


def member_rows(cluster: Cluster, view: GroupView, topic: str | None) -> dict[str, ActorRow]:
    """Return the in-process members by row key (`view.row_of`), then the wire members by client id.

    Each connection of a wire member has a row (`view.twins`).  With `topic`, count only its queues.
    """
    registered = view.registered()
    rows = {
        key: _actor_row(cluster, view, actor, view.connection_of(actor), topic) for key, actor in view.by_row.items()
    }
    for client_id, info in registered.items():
        if client_id not in view.by_client and not view.is_leftover(client_id):
            rows[client_id] = _wire_row(view, info, len(rows), topic)
            for key, twin in view.twins(client_id).items():
                rows[key] = _wire_row(view, twin, len(rows), topic)
    return rows


def _actor_row(
    cluster: Cluster, view: GroupView, actor: ConsumerActor, info: MemberInfo | None, topic: str | None
) -> ActorRow:
    consumer, settings = actor.consumer, actor.settings
    held: list[ProcessQueue] = []
    if consumer is not None and actor.lives:
        held = [pq for mq, pq in consumer.process_queues.items() if topic is None or mq.topic == topic]
    words = words_of_actor(view, actor, topic)
    counts, sizes = [pq.count for pq in held], [pq.bytes for pq in held]
    return {
        "actor": actor.label,
        "kind": settings.kind,
        "letter": actor.label[:1].upper(),
        "colour": actor.colour,
        "state": actor.state,
        "transport": "loopback",
        "language": "JAVA" if info is None else info.language,
        "version": None if info is None else info.version,
        "queues": len(held),
        "buffered": sum(counts),
        "buffered_bytes": sum(sizes),
        "fullest": max(counts, default=0),
        "fullest_bytes": max(sizes, default=0),
        "span": max([pq.span for pq in held], default=0),
        "busy": actor.busy,
        "threads": actor.threads,
        "since_ms": actor.since_ms,
        "state_since_ms": actor.state_since_ms,
        "timers": actor.timers,
        "limits": _limits(actor, cluster.preset),
        "work_ms": list(actor.work_ms),
        "slow": _slow(actor),
        "same_id": len(view.at_one_broker().get(actor.client_id, ())),
        "expires_at_ms": view.expires_at_ms(view.row_of(actor), info),
        "reason": actor.refused or None,
        "subscriptions": words["subscriptions"],
        "model": words["model"],
        "listener": words["listener"],
        "dropped": words["dropped"],
        "passed_over": words["passed_over"],
    }


def _slow(actor: ConsumerActor) -> SlowKey | None:
    """Return the key for which the listener is slow, or None; `met`: a message with it has come since it was set."""
    if actor.slow is None:
        return None
    slow = actor.slow
    return {"key": slow.key or None, "queue": slow.queue or None, "ms": slow.ms, "met": slow.met}


def _limits(actor: ConsumerActor, preset: Preset) -> PullLimits | None:
    """Return the pull limits of the running process, else of the next one; None for a pull consumer."""
    if actor.settings.kind == "pull":
        return None
    if actor.consumer is not None and actor.lives and not isinstance(actor.consumer, PullConsumer):
        consumer = actor.consumer
        return {
            "count": consumer.threshold_for_queue,
            "bytes": consumer.threshold_bytes_for_queue,
            "span": consumer.config.max_span,
        }
    return {
        "count": preset.pull_threshold_for_queue,
        "bytes": preset.pull_threshold_size_mib * MIB,
        "span": preset.consume_concurrently_max_span,
    }


def _wire_row(view: GroupView, info: MemberInfo, number: int, topic: str | None) -> ActorRow:
    words = words_of_wire(view, info.client_id, topic)
    queues = sum(1 for mq in view.pulled_by(info.client_id) if topic in (None, mq.topic))
    return {
        "actor": None,
        "kind": None,
        "letter": str(number + 1),
        "colour": number % 6,
        "state": "running",
        "transport": "tcp",
        "language": info.language,
        "version": info.version,
        "release": release_name(info.version),
        "queues": queues,
        "buffered": None,
        "buffered_bytes": None,
        "fullest": None,
        "fullest_bytes": None,
        "span": None,
        "busy": None,
        "threads": None,
        "since_ms": info.since_ms,
        "state_since_ms": None,
        "timers": {},
        "limits": None,
        "work_ms": None,
        "slow": None,
        "same_id": len(view.at_one_broker().get(info.client_id, ())),
        "expires_at_ms": view.expires_at_ms(info.client_id, info),
        "reason": None,
        "subscriptions": words["subscriptions"],
        "model": words["model"],
        "listener": words["listener"],
        "dropped": words["dropped"],
        "passed_over": words["passed_over"],
    }
