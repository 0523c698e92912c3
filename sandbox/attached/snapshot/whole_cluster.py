"""The whole cluster as one value, in the shape of a sandbox's snapshot (catalogue 9)."""

from sandbox.attached.picture import Picture, ServerSeen, is_built_in
from sandbox.attached.snapshot.brokers import broker_row
from sandbox.attached.snapshot.group_reports import GroupSeen
from sandbox.attached.snapshot.groups import retrying
from sandbox.attached.snapshot.queues import Causes, ends_row, queue_rows
from sandbox.control.limits import AttachedLimits
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import dead_letter_topic, retry_topic
from sandbox.queries.rows.board import MemberRow, ReportedQueueRow
from sandbox.queries.rows.member_words import SubscriptionRow
from sandbox.queries.rows.snapshot import (
    BrokerHeard,
    GroupMemberRow,
    GroupQueueRow,
    GroupRow,
    NameServerRow,
    ProducerRow,
    SnapshotLists,
    TopicRow,
)
from sandbox.queries.snapshot.tape import kind_of
from sandbox.queries.snapshot.whole_sandbox import group_member, group_queue


def draw(picture: Picture, limits: AttachedLimits, causes: Causes, looked_at: list[str]) -> SnapshotLists:
    """Return the snapshot except `sandbox`, `seq` and the times.

    `looked_at`: groups that are included even beyond the limit.
    """
    groups = picture.limited_groups(limits.groups)
    groups += [group for group in looked_at if group not in groups and GroupSeen(picture, group).exists]
    budget = Budget(limits)
    return {
        "name_servers": [name_server_row(server) for server in picture.servers.values()],
        "brokers": [broker_row(broker) for broker in picture.in_order()],
        "links": [],
        "topics": [topic_row(picture, topic, budget) for topic in picture.limited_topics(limits)],
        "producers": producer_rows(picture),
        "groups": [_group(picture, name, causes, budget) for name in groups],
    }


class Budget:
    """The number of rows that a snapshot may still add."""

    def __init__(self, limits: AttachedLimits) -> None:
        self._queues = {"topics": limits.queues, "groups": limits.queues}
        self._members = limits.members

    def left(self, where: str) -> bool:
        return self._queues[where] > 0

    def queues(self, where: str, requested: int) -> int:
        granted = min(requested, self._queues[where])
        self._queues[where] -= granted
        return granted

    def members(self, requested: int) -> int:
        granted = min(requested, self._members)
        self._members -= granted
        return granted


def name_server_row(server: ServerSeen) -> NameServerRow:
    brokers: list[BrokerHeard] = [
        {"broker": name, "broker_id": broker_id, "last_update_ms": None}
        for name, ids in (server.brokers or {}).items()
        for broker_id in ids
    ]
    return {
        "name": server.name,
        "address": server.address,
        "state": server.state,
        "answered_ms": server.answered_ms,
        "brokers": brokers,
        "trouble": server.trouble,
    }


def topic_row(picture: Picture, topic: str, budget: Budget) -> TopicRow:
    """Return a topic's row.  Counts and rights are those of the first broker that has the topic."""
    configs = picture.configs(topic)
    first = next(iter(configs.values()))
    mqs = [
        MessageQueue(topic, name, queue_id)
        for name, config in configs.items()
        for queue_id in range(max(config.read_queues, config.write_queues))
    ]
    return {
        "topic": topic,
        "kind": kind_of(topic),
        "permission": first.permission,
        "asked_at": picture.asked_ms(topic),
        "read_queues": first.read_queues,
        "write_queues": first.write_queues,
        "queues": [
            {
                "broker": mq.broker,
                "queue_id": mq.queue_id,
                **ends_row(picture, mq),
                "known_at_ms": picture.silent_since_ms(mq.broker),
            }
            for mq in mqs[: budget.queues("topics", len(mqs))]
        ],
    }


def producer_rows(picture: Picture) -> list[ProducerRow]:
    """Return the producers whose heartbeats brokers have.

    Every consumer has an internal producer, which is left out.
    """
    producers = {
        member.client_id: member
        for tables in picture.producers.values()
        for group, members in tables.items()
        if not is_built_in(group)
        for member in members.values()
    }
    return [
        {
            "client_id": client_id,
            "actor": None,
            "state": "running",
            "transport": "tcp",
            "topic": None,
            "rate_per_s": None,
            "sent": None,
            "failed": None,
            "unavailable": {},
            "language": member.language,
            "version": member.version,
        }
        for client_id, member in sorted(producers.items())
    ]


def _group(picture: Picture, name: str, causes: Causes, budget: Budget) -> GroupRow:
    view = GroupSeen(picture, name)
    members = list(view.member_rows().items())
    return {
        "group": name,
        "model": view.model,
        "listener": view.listener,
        "strategy": view.strategy,
        "subscription": _subscription(view),
        "members": [_member(client_id, row) for client_id, row in members[: budget.members(len(members))]],
        "queues": _queues(view, causes, budget),
        "counts": {"delivered_again": None, "retrying": retrying(view), "dead_letters": dead_letters(picture, name)},
        "members_differ": view.members_differ,
        "shared_ids": view.shared_ids,
    }


def _queues(view: GroupSeen, causes: Causes, budget: Budget) -> list[GroupQueueRow]:
    rows: list[GroupQueueRow] = []
    for topic in view.picture.topics_of_group(view.group):
        if not topic.startswith("%") and budget.left("groups"):
            drawn = queue_rows(view, topic, causes, divided=False)
            rows += [_queue(topic, key, row) for key, row in list(drawn.items())[: budget.queues("groups", len(drawn))]]
    return rows


def _member(client_id: str, row: MemberRow) -> GroupMemberRow:
    return {**group_member(client_id, row), "release": row["release"], "address": row["address"]}


def _queue(topic: str, key: str, row: ReportedQueueRow) -> GroupQueueRow:
    return {**group_queue(topic, key, row), "cells_from": row["cells_from"], "cached": row["cached"]}


def _subscription(view: GroupSeen) -> list[SubscriptionRow]:
    """Return the subscription that brokers store for the group.

    An offline group has none: return the topics it has offsets of, with expression None.
    """
    topics = view.picture.topics_of_group(view.group)
    expressions: dict[str, tuple[str | None, str | None]] = dict.fromkeys(topics, (None, None))
    expressions |= {
        sub.topic: (sub.sub_string, sub.expression_type)
        for table in view.picture.connections(view.group)
        for sub in table.subscriptions
    }
    return [
        {"topic": topic, "expression": expressions[topic][0], "kind": expressions[topic][1]}
        for topic in sorted(expressions)
        if topic != retry_topic(view.group)
    ]


def _all_known(picture: Picture, mqs: list[MessageQueue]) -> bool:
    return picture.all_topics_known and all(
        picture.end(mq) is not None and picture.silent_since_ms(mq.broker) is None for mq in mqs
    )


def dead_letters(picture: Picture, group: str) -> int | None:
    """Return the number of dead letters of the group; None if unknown.

    A group without dead letters has no dead-letter topic.
    """
    mqs = [MessageQueue(dead_letter_topic(group), name, 0) for name in picture.configs(dead_letter_topic(group))]
    if not _all_known(picture, mqs):
        return None
    return sum(end.max_offset for mq in mqs if (end := picture.end(mq)) is not None)
