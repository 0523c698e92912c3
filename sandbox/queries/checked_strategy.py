"""The check of a group's allocation strategy against the cluster, for the action and for its preview."""

from collections.abc import Set as AbstractSet
from typing import Any, Protocol

from sandbox.cluster.actors.strategies import CONFIG, MACHINE_ROOM, NEARBY, Rooms
from sandbox.cluster.cluster import Cluster
from sandbox.kernel.errors import ActionRefused
from sandbox.message.queue import MessageQueue
from sandbox.queries.rows.groups import GroupView

DEFAULT_VIRTUAL_NODES = 10


class StrategyWish(Protocol):
    """The fields that `SetStrategy` and `PlanRebalance` have in common."""

    @property
    def group(self) -> str: ...
    @property
    def virtual_nodes(self) -> int: ...
    @property
    def rooms(self) -> tuple[str, ...]: ...
    @property
    def queues_by_member(self) -> dict[str, object] | None: ...


def checked_strategy(
    cluster: Cluster, wish: StrategyWish, strategy: str, absent: AbstractSet[str] = frozenset()
) -> dict[str, object]:
    """Check the requested strategy and return its settings to store.

    Raises ActionRefused (422) for a field that the strategy does not read, or lacks.
    """
    chosen: dict[str, object] = {"strategy": strategy, "virtual_nodes": wish.virtual_nodes, "rooms": list(wish.rooms)}
    if wish.virtual_nodes != DEFAULT_VIRTUAL_NODES and strategy != "CONSISTENT_HASH":
        raise _unread("virtual_nodes", strategy, "Choose CONSISTENT_HASH.")
    if wish.rooms and strategy not in (MACHINE_ROOM, NEARBY):
        raise _unread("rooms", strategy, "Choose MACHINE_ROOM or MACHINE_ROOM_NEARBY.")
    if wish.queues_by_member is not None and strategy != CONFIG:
        raise _unread("queues_by_member", strategy, "Choose CONFIG.")
    if strategy in (MACHINE_ROOM, NEARBY):
        _check_rooms(cluster, strategy, Rooms(wish.rooms))
    if strategy == CONFIG:
        chosen["queues_by_member"] = _lists(cluster, wish, absent)
    return chosen


def _unread(field: str, strategy: str, hint: str) -> ActionRefused:
    return ActionRefused(422, "{strategy} does not use {field}.", hint, field=field, strategy=strategy)


def _check_rooms(cluster: Cluster, strategy: str, rooms: Rooms) -> None:
    """Raise ActionRefused (422) if no broker or member is in a room that the strategy reads.

    Without one the strategy assigns nothing to any member (or all queues to every member).
    """
    brokers = {node.name for node in cluster.nodes.brokers}
    unknown = sorted(set(rooms.places) - brokers)
    if unknown:
        raise ActionRefused(
            422,
            "Broker {broker} does not exist and cannot be in a room.",
            "Available brokers: {known}.",
            field="rooms",
            broker=unknown[0],
            known=", ".join(sorted(brokers)),
        )
    inside = [broker for broker in brokers if rooms.room_of(broker) in rooms.wanted]
    if not inside or (strategy == NEARBY and not rooms.places):
        raise ActionRefused(
            422,
            "No broker is in any of these rooms.",
            "Set the rooms of brokers, for example east@{broker}.",
            field="rooms",
            broker=min(brokers),
        )


def _lists(cluster: Cluster, wish: StrategyWish, absent: AbstractSet[str]) -> dict[str, list[str]]:
    """Return the queue keys of each member label, as CONFIG requests them.  Raises ActionRefused (422)."""
    queues_by_member = wish.queues_by_member
    if not queues_by_member:
        raise ActionRefused(
            422,
            "CONFIG requires a list of queues for each member.",
            "Set queues_by_member, for example A: broker-a:0, broker-a:1.",
            field="queues_by_member",
        )
    view = GroupView(cluster, wish.group)
    by_label = {actor.label: actor for actor in view.actors}
    lists: dict[str, list[str]] = {}
    for label, rows in queues_by_member.items():
        if label not in by_label:
            raise ActionRefused(
                422,
                "{member} is not a member of {group} here.",
                "Available members: {known}.",
                field="queues_by_member",
                member=label,
                group=wish.group,
                known=", ".join(by_label),
            )
        if label in absent:
            continue
        topics = [subscription.topic for subscription in by_label[label].settings.subscriptions]
        lists[label] = [mq.key for row in _rows(label, rows) for mq in _queues(view, topics, row)]
    return lists


def _rows(label: str, rows: Any) -> list[str]:
    if isinstance(rows, str):
        return [row.strip() for row in rows.split(",") if row.strip()]
    if isinstance(rows, list | tuple) and all(isinstance(row, str) for row in rows):
        return list(rows)
    raise ActionRefused(
        422,
        "The queues of {member} must be a list.",
        "List the queues in the form broker-a:3.",
        field="queues_by_member",
        member=label,
    )


def _queues(view: GroupView, topics: list[str], row: str) -> list[MessageQueue]:
    """Return the queues that `row` names: `broker-a:3` of every topic that has it, or `orders/broker-a/3` alone."""
    if "/" in row:
        topics = [row.split("/", 1)[0]]
    queues = [mq for topic in topics for mq in view.read_queues(topic) if row in (mq.row, mq.key)]
    if not queues:
        raise ActionRefused(
            422, "{queue} is not a readable queue.", "Use the form broker-a:3.", field="queues_by_member", queue=row
        )
    return queues
