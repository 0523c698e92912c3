"""Message rates of a group: consumed by it, and delivered to it by brokers."""

from sandbox.cluster.cluster import Cluster
from sandbox.control.group_state import Flow
from sandbox.queries.rows.groups import GroupView, topics_of
from sandbox.queries.snapshot.calm import rounded
from sandbox.queries.snapshot_cache import cache_of
from sandbox.remoting.channel import LOOPBACK
from sandbox.store.totals import total_per_s


def members_there(view: GroupView) -> int:
    """Return the number of running members: in-process ones, and registered connections of external clients."""
    return sum(actor.lives for actor in view.actors) + sum(
        len(view.at_one_broker()[client_id]) for client_id in _wire_members(view)
    )


def flow_of(cluster: Cluster, view: GroupView) -> Flow:
    """Return the consumed and delivered messages per second of a group.

    In-process listeners count the messages that they accept.  In a group with an external client the rate of commits
    is used instead.
    """
    if not members_there(view):
        return Flow(0.0, 0.0)
    delivered = total_per_s(broker.stats.get_per_s(view.group) for broker in view.answering.values())
    stats = cluster.actors.group_stats.get(view.group)
    consumed = _commits(cluster, view) if stats is None or _wire_members(view) else stats.per_s()
    return Flow(rounded(consumed), rounded(delivered))


def _wire_members(view: GroupView) -> list[str]:
    return [client_id for client_id, info in view.registered().items() if info.channel.transport_kind != LOOPBACK]


def _commits(cluster: Cluster, view: GroupView) -> float | None:
    """Return the commit rate on the group's topics, in messages per second.  None: not known.

    A message that is sent back is committed there once; its retries do not count again.
    """
    rates: list[float] = []
    for mq in [mq for topic in topics_of(view) if not topic.startswith("%") for mq in view.read_queues(topic)]:
        if (committed := view.committed(mq)) is not None:
            key = (view.group, mq.topic, mq.broker, mq.queue_id)
            cache_of(cluster).commits.note(key, committed)
            if (rate := cache_of(cluster).commits.per_s(key)) is not None:
                rates.append(rate)
    return sum(rates) if rates else None
