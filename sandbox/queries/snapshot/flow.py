"""Messages per second that a group consumes, and that brokers deliver to it."""

from sandbox.cluster.cluster import Cluster
from sandbox.control.group_state import Flow
from sandbox.queries.rows.groups import GroupView, topics_of
from sandbox.queries.snapshot_cache import cache_of
from sandbox.remoting.channel import LOOPBACK


def members_there(view: GroupView) -> int:
    """Processes of the sandbox, and external clients that brokers have registered."""
    return sum(actor.lives for actor in view.actors) + sum(
        len(view.at_one_broker()[client_id]) for client_id in _wire_members(view)
    )


def flow_of(cluster: Cluster, view: GroupView) -> Flow:
    """Our listeners' own count of what they accepted; a group with a client that is not ours goes by its commits."""
    if not members_there(view):
        return Flow(0.0, 0.0)
    delivered = sum(broker.stats.get_per_s(view.group) for broker in view.answering.values())
    stats = cluster.actors.group_stats.get(view.group)
    consumed = _commits(cluster, view) if stats is None or _wire_members(view) else stats.per_s()
    return Flow(None if consumed is None else round(consumed, 1), round(delivered, 1))


def _wire_members(view: GroupView) -> list[str]:
    return [client_id for client_id, info in view.registered().items() if info.channel.transport_kind != LOOPBACK]


def _commits(cluster: Cluster, view: GroupView) -> float | None:
    """Return the commit rate on the group's topics, in messages per second.  None: not known.

    A message sent back is committed there once, and its retries are not counted again.
    """
    rates: list[float] = []
    for mq in [mq for topic in topics_of(view) if not topic.startswith("%") for mq in view.read_queues(topic)]:
        if (committed := view.committed(mq)) is not None:
            key = (view.group, mq.topic, mq.broker, mq.queue_id)
            cache_of(cluster).commits.note(key, committed)
            if (rate := cache_of(cluster).commits.per_s(key)) is not None:
                rates.append(rate)
    return sum(rates) if rates else None
