"""The preview of a rebalance: the strategy itself runs, with members or queues added, removed or invented."""

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from sandbox.client.allocate import AllocateMessageQueueStrategy
from sandbox.client.allocate.consistent_hash import (
    AllocateMessageQueueConsistentHash,
    queue_text,
    ring_position,
)
from sandbox.cluster.actors.strategies import MACHINE_ROOM, NEARBY, Rooms, make_strategy
from sandbox.cluster.cluster import Cluster
from sandbox.control.questions import PlanRebalance
from sandbox.kernel.errors import ActionRefused, ClientError
from sandbox.message.queue import MessageQueue
from sandbox.queries.checked_strategy import checked_strategy
from sandbox.queries.questions.answers import answers
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.snapshot.board import group_strategy

Shares = dict[str, list[MessageQueue]]

PLACES_SHOWN = 640  # on a ring: 64 members with RocketMQ's ten places each
COLOURS = 6  # members may have
COMPARED = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")  # strategies that need neither lists nor rooms


class Divided(NamedTuple):
    """The queues and members that a strategy assigns."""

    mqs: list[MessageQueue]
    members: list[str]


@answers(PlanRebalance)
def plan(cluster: Cluster, question: PlanRebalance) -> dict[str, object]:
    """Return the assignment before and after a change of members, queues or strategy.

    `before` and `after` by client id; `members` and `queues` in the order of clients; `labels` for display;
    `colours` (an actor's own number, some number for another client).

    `ring` (consistent hashing; None with too many positions to draw): `places` [[position, client id]] and `queues`
    {queue: position}.  `rooms` (room strategies): the room of each broker and member, and `wanted`, the rooms that
    are read.  `compared`: for each strategy that needs no further setting, its queue moves for the same change
    (`moves`), and those of changing to it now, before a member comes or goes (`switching`).
    """
    view = GroupView(cluster, question.group)
    now = view.routed_queues(question.topic)
    members = view.online_members()
    new, after_members = _members(cluster, question, members)
    strategy = _strategy(cluster, view, question)
    then = now if question.queues in (None, len(now)) else made_up_queues(question.topic, question.queues or 0, now)
    before = shares_of(group_strategy(cluster, view), question.group, now, members)
    after = shares_of(strategy, question.group, then, after_members)
    return {
        "group": question.group,
        "topic": question.topic,
        "strategy": strategy.name,
        "before": rows_of(before),
        "after": rows_of(after),
        "moves": moves_between(before, after),
        "of": len(then),
        "idle": [new.get(member) or cluster.label_of(member) for member, mqs in after.items() if not mqs],
        "labels": {member: new.get(member) or cluster.label_of(member) for member in sorted({*before, *after})},
        "colours": _colours(view, sorted({*before, *after})),
        "members": after_members,
        "queues": [mq.row for mq in then],
        "ring": ring_of(strategy, then, after_members),
        "rooms": _rooms(cluster, view, question, strategy.name, then, after_members),
        "compared": compared(strategy, question, before, Divided(now, members), Divided(then, after_members)),
    }


def _colours(view: GroupView, members: list[str]) -> dict[str, int]:
    own = {member: view.by_client[member].colour for member in members if member in view.by_client}
    free = (colour for colour in count() if colour >= COLOURS or colour not in own.values())
    return own | {member: next(free) for member in members if member not in own}


def _members(cluster: Cluster, question: PlanRebalance, members: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the labels of invented members by client id, and all members as clients sort them."""
    stay, add = [member for member in members if member not in question.remove], question.add
    for actor in [cluster.actors.by_label[name] for name in question.remove if name in cluster.actors.by_label]:
        if actor.client_id in stay:  # another process with its client id stays
            stay.remove(actor.client_id)
    if question.members is not None:
        stay, add = stay[: question.members], max(0, question.members - len(stay))
    new = dict(zip(cluster.actors.next_client_ids(add), cluster.actors.next_labels(add), strict=True))
    return new, sorted([*stay, *new])


def made_up_queues(topic: str, count: int, now: list[MessageQueue]) -> list[MessageQueue]:
    """Return `count` invented queues, distributed over the brokers that have the topic."""
    brokers = sorted({mq.broker for mq in now}) or ["broker-a"]
    share, odd = divmod(count, len(brokers))
    return [
        MessageQueue(topic, broker, number)
        for position, broker in enumerate(brokers)
        for number in range(share + (position < odd))
    ]


def _strategy(cluster: Cluster, view: GroupView, question: PlanRebalance) -> AllocateMessageQueueStrategy:
    if question.strategy is None:
        return group_strategy(cluster, view)
    chosen = checked_strategy(cluster, question, question.strategy, set(question.remove))
    return make_strategy(chosen, cluster.actors)


def shares_of(
    strategy: AllocateMessageQueueStrategy, group: str, mqs: list[MessageQueue], members: list[str]
) -> Shares:
    """Return the queues that the strategy assigns to each member.

    Raises ActionRefused (422) if the strategy cannot assign these queues.
    """
    if not mqs or not members:
        return {member: [] for member in members}
    try:
        routed = set(mqs)
        return {
            member: [mq for mq in strategy.allocate(group, member, mqs, members) if mq in routed] for member in members
        }
    except ClientError as error:
        raise ActionRefused(
            422,
            "{strategy} cannot assign these queues: {why}.",
            "Choose another strategy.",
            field="strategy",
            strategy=strategy.name,
            why=str(error),
        ) from error


def moves_between(before: Shares, after: Shares) -> int:
    """Return the number of queues that get another member."""
    owner = {mq: member for member, mqs in before.items() for mq in mqs}
    owner_after = {mq: member for member, mqs in after.items() for mq in mqs}
    return sum(1 for mq, member in owner_after.items() if owner.get(mq) != member)


def compared(
    planned: AllocateMessageQueueStrategy, question: PlanRebalance, before: Shares, now: Divided, then: Divided
) -> list[dict[str, object]]:
    """Return the comparison of strategies that need no further setting.

    `before`: the present assignment, by any strategy.  The planned strategy keeps its own settings.
    """
    by_name = {
        name: make_strategy({"strategy": name, "virtual_nodes": question.virtual_nodes}, Nowhere()) for name in COMPARED
    }
    by_name |= {planned.name: planned} if planned.name in COMPARED else {}
    return [compared_with_itself(by_name[name], question.group, before, now, then) for name in COMPARED]


def compared_with_itself(
    strategy: AllocateMessageQueueStrategy, group: str, before: Shares, now: Divided, then: Divided
) -> dict[str, object]:
    own_before = shares_of(strategy, group, *now)
    own_after = shares_of(strategy, group, *then)
    counts = [len(mine) for mine in own_after.values()]
    return {
        "strategy": strategy.name,
        "moves": moves_between(own_before, own_after),
        "switching": moves_between(before, own_before),
        "most": max(counts, default=0),
        "least": min(counts, default=0),
        "idle": counts.count(0),
    }


class Nowhere:
    """A lookup without labels and rooms, for strategies that read neither lists nor rooms."""

    def label_of(self, client_id: str) -> str | None:
        return None

    def room_of(self, client_id: str) -> str | None:
        return None


def ring_of(
    strategy: AllocateMessageQueueStrategy, mqs: list[MessageQueue], members: Sequence[str]
) -> dict[str, object] | None:
    if not isinstance(strategy, AllocateMessageQueueConsistentHash):
        return None
    places = strategy.places(members)
    if len(places) > PLACES_SHOWN:
        return None
    return {
        "places": [[position, places[position]] for position in sorted(places)],
        "queues": {mq.row: ring_position(queue_text(mq)) for mq in mqs},
    }


def _rooms(
    cluster: Cluster,
    view: GroupView,
    question: PlanRebalance,
    strategy: str,
    mqs: list[MessageQueue],
    members: list[str],
) -> dict[str, object] | None:
    if not strategy.startswith(MACHINE_ROOM):
        return None
    remembered = cluster.actors.strategies.get(view.group) or {}
    rooms = Rooms(question.rooms if question.strategy is not None else remembered.get("rooms", ()))
    nearby = strategy.startswith(NEARBY)
    return {
        "brokers": {broker: rooms.room_of(broker) for broker in sorted({mq.broker for mq in mqs})},
        "members": {member: cluster.actors.room_of(member) for member in members} if nearby else {},
        "wanted": sorted(rooms.wanted),
    }


def rows_of(shares: Shares) -> dict[str, list[str]]:
    return {member: [mq.row for mq in mqs] for member, mqs in shares.items()}
