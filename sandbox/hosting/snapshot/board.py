"""The board: one group on one topic, all queues, all members, now (channel `board/<slug>/<group>/<topic>`)."""

from typing import TYPE_CHECKING, Any

from sandbox.client.allocate import AllocateMessageQueueStrategy
from sandbox.hosting.dividing import make_strategy
from sandbox.hosting.groups import GroupView
from sandbox.hosting.snapshot.members import member_rows
from sandbox.hosting.snapshot.queues import broadcast_row, queue_row
from sandbox.kernel.errors import ClientError
from sandbox.message.queue import MessageQueue

if TYPE_CHECKING:
    from sandbox.hosting.sandbox import Sandbox

Row = dict[str, Any]
Rows = dict[str, Row]


def read_board(sandbox: "Sandbox", group: str, topic: str) -> Row:
    """Header, queue rows and member rows, all of one turn."""
    view = GroupView(sandbox, group)
    queues = queue_rows(sandbox, view, topic)
    return {"header": _header(sandbox, view, topic, queues), "queues": queues,
            "members": member_rows(sandbox, view, topic)}


def queue_rows(sandbox: "Sandbox", view: GroupView, topic: str) -> Rows:
    """By `broker-a:3`; broadcasting: by `broker-a:3@<client id>`."""
    mqs = view.read_queues(topic)
    if view.model == "BROADCASTING":
        return {f"{mq.row}@{actor.client_id}": broadcast_row(sandbox, view, mq, actor, pq)
                for actor in view.actors if actor.consumer is not None and actor.lives
                for mq in mqs if (pq := actor.consumer.process_queues.get(mq)) is not None}
    assigned = assignment(sandbox, view, topic, mqs)
    return {mq.row: queue_row(sandbox, view, mq, assigned.get(mq)) for mq in mqs}


def assignment(sandbox: "Sandbox", view: GroupView, topic: str, mqs: list[MessageQueue]) -> dict[MessageQueue, str]:
    """Who each queue belongs to, with the members brokers know now; kept until one of the inputs changes.

    Every member divides by its own strategy, so two may claim a queue and another may be nobody's.
    """
    members = view.online_members()
    own = {member: view.by_client[member].settings for member in members if member in view.by_client}
    inputs = (members, mqs, {member: (settings.strategy, settings.room) for member, settings in own.items()},
              str(sandbox.actors.strategies.get(view.group)))
    known = sandbox.memory.assigned.get((view.group, topic))
    if known is not None and known[0] == inputs:
        return known[1]
    found: dict[MessageQueue, str] = {}
    wanted = set(mqs)
    for member in members:
        strategy = sandbox.actors.strategy_for(own[member]) if member in own else group_strategy(sandbox, view)
        try:
            mine = strategy.allocate(view.group, member, mqs, members)
            found |= dict.fromkeys((mq for mq in mine if mq in wanted), member)
        except ClientError:
            continue  # the strategy cannot divide these: nobody gets any
    sandbox.memory.assigned[view.group, topic] = (inputs, found)
    return found


def group_strategy(sandbox: "Sandbox", view: GroupView) -> AllocateMessageQueueStrategy:
    """What the group's members divide by; wire members do not tell, so RocketMQ's default is taken."""
    name = next((actor.settings.strategy for actor in view.actors), "AVG")
    return make_strategy(sandbox.actors.strategies.get(view.group) or {"strategy": name}, sandbox.actors)


def _header(sandbox: "Sandbox", view: GroupView, topic: str, queues: Rows) -> Row:
    ledger = sandbox.actors.ledgers.get(view.group)
    settings = next((actor.settings for actor in view.actors), None)
    p50_ms, p99_ms = ledger.delays_ms() if ledger is not None else (None, None)
    out_per_s = ledger.per_s() if ledger is not None else sum(
        broker.stats.get_per_s(view.group, topic) for broker in view.masters.values())
    stored_ms = [row["oldest_stored_ms"] for row in queues.values() if row["oldest_stored_ms"] is not None]
    return {
        "group": view.group, "topic": topic, "model": view.model,
        "listener": settings.listener if settings is not None else None,
        "strategy": group_strategy(sandbox, view).name, "lag": lag_of(queues),
        "oldest_since_ms": min(stored_ms, default=None), "redelivered_on_crash": _in_doubt(view, topic),
        "in_per_s": round(sum(broker.stats.put_per_s(topic) for broker in view.masters.values()), 1),
        "out_per_s": round(out_per_s, 1), "e2e_p50_ms": p50_ms, "e2e_p99_ms": p99_ms,
        "delivered_again": ledger.delivered_again if ledger is not None else 0, "rate": sandbox.clock.rate,
        "next_actor": sandbox.actors.next_label(),
    }


def lag_of(queues: Rows) -> str | None:
    """Messages stored and not committed; a queue without a stored offset counts whole.  None without queues."""
    if not queues:
        return None
    return str(sum(max(0, int(row["max"]) - int(row["committed"] if row["committed"] is not None else row["min"]))
                   for row in queues.values()))


def _in_doubt(view: GroupView, topic: str) -> int:
    """Messages the listeners have finished that would come again if all members crashed now."""
    count = 0
    for actor in view.actors:
        if actor.consumer is not None and actor.lives:
            for mq, pq in actor.consumer.process_queues.items():
                if mq.topic == topic:
                    count += actor.consumer.offset_store.in_doubt(mq) + pq.done_ahead
    return count
