"""Board, locks and topics of an attached cluster, as the live pages read them (catalogue 10)."""

from collections.abc import Mapping

from sandbox.attached.picture import RUNNING, Picture
from sandbox.attached.snapshot.group_reports import GroupSeen
from sandbox.attached.snapshot.groups import flow_of, retrying, with_retries
from sandbox.attached.snapshot.queues import (
    BROKER_LIFE_MS,
    CLIENT_LIFE_MS,
    RENEW_MS,
    Causes,
    down_row,
    ends_row,
    lag_of,
    lock_row,
    queue_rows,
    text,
)
from sandbox.broker.config import PERM_READ, PERM_WRITE
from sandbox.control.limits import AttachedLimits
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import retry_topic
from sandbox.queries.rows.board import Board, QueueRow, ReportedBoardHeader
from sandbox.queries.rows.locks import LockedQueue, Locks
from sandbox.queries.rows.topics import QueueOfTopic, Topics, TopicUse
from sandbox.queries.snapshot.locks import row_key
from sandbox.queries.snapshot.tape import kind_of
from sandbox.remoting.bodies import TopicConfig

MAX_GROUPS = 16  # whose backlog a queue names


def read_board(picture: Picture, group: str, topic: str, causes: Causes) -> Board:
    view = GroupSeen(picture, group)
    queues = queue_rows(view, topic, causes)
    return {"header": _header(view, topic, queues), "queues": queues, "members": view.member_rows(topic)}


def _header(view: GroupSeen, topic: str, queues: Mapping[str, QueueRow]) -> ReportedBoardHeader:
    """Return the header of a board.

    `lag` is that of the `queues_known` of `queues_all` and of the retry topic (`retrying`).  `lag_last_known` is
    that of the others when their master still answered.  The consumption rates are those of the whole group, for all
    its topics.
    """
    again = 0 if topic == retry_topic(view.group) else retrying(view)
    lag, flow = with_retries(lag_of(queues.values()), again), flow_of(view)
    rates = [row["rate_per_s"] for row in queues.values() if row["rate_per_s"] is not None]
    return {
        "group": view.group,
        "topic": topic,
        "model": view.model,
        "listener": view.listener,
        "strategy": view.strategy,
        "lag": text(lag.messages),
        "retrying": text(again),
        "queues_known": lag.queues,
        "queues_all": lag.of,
        "lag_last_known": text(lag.last_known),
        "asked_at": view.picture.asked_ms(topic),
        "oldest_since_ms": None,
        "redelivered_on_crash": None,
        "redelivered_notes": [],
        "in_per_s": round(sum(rates), 1) if rates else None,
        "out_per_s": flow.consumed,
        "delivered_per_s": flow.delivered,
        "differs": flow.differs,
        "e2e_p50_ms": None,
        "e2e_p99_ms": None,
        "delivered_again": None,
        "rate": 1.0,
        "next_actor": None,
        "like": None,
        "members_differ": view.members_differ,
        "shared_ids": view.shared_ids,
    }


def read_locks(picture: Picture, group: str) -> Locks:
    """Return the locks that their holders report (`told`).  Brokers do not report which clients wait or tried."""
    view = GroupSeen(picture, group)
    rows: dict[str, LockedQueue] = {}
    topics = picture.topics_of_group(group)
    for topic in topics:
        if topic.startswith("%"):
            continue
        mqs = picture.read_queues(topic)
        assigned = view.assigned(mqs)
        for mq in mqs:
            down = down_row(
                picture,
                mq,
                ends_row(picture, mq),
                text(picture.committed(group, mq)),
                from_zero=view.counts_from_zero(mq),
            )
            rows[row_key(mq, topics)] = {
                "topic": mq.topic,
                "assigned": assigned.get(mq),
                "lock": lock_row(view, mq),
                "waiting": [],
                "consuming": None,
                "suspended_until_ms": None,
                "down": down,
            }
    return {
        "lives": {"broker_ms": BROKER_LIFE_MS, "client_ms": CLIENT_LIFE_MS, "renew_ms": RENEW_MS, "assumed": True},
        "queues": rows,
        "members": view.member_rows(),
        "attempts": {},
        "brokers": {seen_broker.node: seen_broker.state for seen_broker in picture.in_order()},
        "told": {"locks": "holder" if view.all_report else "some holders", "waiting": None, "attempts": None},
    }


def read_topics(picture: Picture, limits: AttachedLimits) -> Topics:
    """Return all topics in the shape of a sandbox's (`queries.snapshot.topics`).  Their origin is unknown.

    Beyond `limits.queues` a topic's queues are counted in `brokers` and not shown: `left_out` says how many.
    """
    readers: dict[str, set[str]] = {}
    for table in picture.offsets.values():
        for group, topics in table.items():
            for topic in topics:
                readers.setdefault(topic, set()).add(group)
    rows: list[TopicUse] = []
    most_queues = limits.queues
    for topic in picture.limited_topics(limits):
        rows.append(_topic(picture, topic, sorted(readers.get(topic, ()))[:MAX_GROUPS], most_queues))
        most_queues -= len(rows[-1]["queues"])
    return {"topics": rows}


def _topic(picture: Picture, topic: str, groups: list[str], most_queues: int) -> TopicUse:
    configs = picture.configs(topic)
    places = [
        (MessageQueue(topic, name, queue_id), config)
        for name, config in configs.items()
        for queue_id in range(max(config.read_queues, config.write_queues))
    ]
    return {
        "topic": topic,
        "kind": kind_of(topic),
        "groups": groups,
        "left_out": max(0, len(places) - most_queues),
        "brokers": [
            {
                "broker": name,
                "write_queues": config.write_queues,
                "read_queues": config.read_queues,
                "permission": config.permission,
                "how": None,
            }
            for name, config in configs.items()
        ],
        "queues": [_topic_queue(picture, mq, config, groups) for mq, config in places[:most_queues]],
    }


def _topic_queue(picture: Picture, mq: MessageQueue, config: TopicConfig, groups: list[str]) -> QueueOfTopic:
    writable = mq.queue_id < config.write_queues and config.permission & PERM_WRITE
    readable = mq.queue_id < config.read_queues and config.permission & PERM_READ
    return {
        "broker": mq.broker,
        "queue_id": mq.queue_id,
        **ends_row(picture, mq),
        "use": "rw" if writable and readable else "wo" if writable else "ro" if readable else "none",
        "waiting": {group: _waiting(picture, group, mq) for group in groups},
    }


def _waiting(picture: Picture, group: str, mq: MessageQueue) -> str | None:
    """Return the number of messages that the group has not committed, as of a sandbox.

    None while the queue's broker has not reported ends or offsets.
    """
    end = picture.end(mq)
    if end is None or mq.broker not in picture.offsets:
        return None
    return str(max(0, end.max_offset - max(end.min_offset, picture.committed(group, mq) or 0)))


def is_there(picture: Picture, topic: str) -> bool:
    """Return True if the topic exists.

    While no broker answers, that is unknown: return True, so that the board stays.
    """
    return not any(broker.state == RUNNING for broker in picture.brokers.values()) or bool(picture.configs(topic))
