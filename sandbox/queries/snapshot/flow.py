"""What a group consumes and what it is handed out, in messages a second."""

from typing import TYPE_CHECKING

from sandbox.queries.rows.groups import GroupView, topics_of
from sandbox.queries.snapshot.group_state import Flow
from sandbox.remoting.channel import LOOPBACK

if TYPE_CHECKING:
    from sandbox.hosting.sandbox import Sandbox


def members_there(view: GroupView) -> int:
    """Processes of ours, and whom brokers know of others."""
    return sum(actor.lives for actor in view.actors) + len(_wire_members(view))


def flow_of(sandbox: "Sandbox", view: GroupView) -> Flow:
    """Our listeners' own count of what they accepted; a group with a client that is not ours goes by its commits."""
    if not members_there(view):
        return Flow(0.0, 0.0)
    delivered = sum(broker.stats.get_per_s(view.group) for broker in view.answering.values())
    ledger = sandbox.actors.ledgers.get(view.group)
    consumed = _commits(sandbox, view) if ledger is None or _wire_members(view) else ledger.per_s()
    return Flow(None if consumed is None else round(consumed, 1), round(delivered, 1))


def _wire_members(view: GroupView) -> list[str]:
    return [client_id for client_id, info in view.registered().items() if info.channel.transport_kind != LOOPBACK]


def _commits(sandbox: "Sandbox", view: GroupView) -> float | None:
    """Of its topics: what is sent back is committed there once, and its retries are not counted again."""
    rates: list[float] = []
    for mq in [mq for topic in topics_of(view) if not topic.startswith("%") for mq in view.read_queues(topic)]:
        if (committed := view.committed(mq)) is not None:
            key = (view.group, mq.topic, mq.broker, mq.queue_id)
            sandbox.memory.commits.note(key, committed)
            if (rate := sandbox.memory.commits.per_s(key)) is not None:
                rates.append(rate)
    return sum(rates) if rates else None
