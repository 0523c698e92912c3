"""The board: one group on one topic, with all queues and members (channel `board/<slug>/<group>/<topic>`).

Without a group it has the ends of the queues and no offsets.
"""

from collections.abc import Mapping
from typing import Any

from sandbox.client.allocate import AllocateMessageQueueStrategy
from sandbox.cluster.actors.strategies import make_strategy
from sandbox.cluster.cluster import Cluster
from sandbox.kernel.errors import ClientError
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import retry_topic
from sandbox.queries.rows.board import (
    Board,
    BoardHeader,
    KnownQueues,
    MasterState,
    NewMember,
    QueueRow,
)
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.rows.lag import row_lag
from sandbox.queries.snapshot.calm import CalmFigures, calm_member, calm_queue, rounded
from sandbox.queries.snapshot.flow import flow_of
from sandbox.queries.snapshot.member_words import members_differ
from sandbox.queries.snapshot.members import member_rows
from sandbox.queries.snapshot.queues import broadcast_row, queue_row
from sandbox.queries.snapshot.redelivery import redelivered_notes, redelivered_on_crash
from sandbox.queries.snapshot.retries import retrying
from sandbox.queries.snapshot_cache import cache_of
from sandbox.store.totals import total_per_s

Queues = dict[str, QueueRow]


def read_board(cluster: Cluster, view: GroupView, topic: str) -> Board:
    """Return header, queue rows and member rows, all of one turn.

    Figures that need not change at every frame change once a second (`calm`).
    """
    group = view.group
    figures = cache_of(cluster).calm(group, topic)
    figures.begin(cluster.environment.outside.monotonic())
    now_ms = cluster.clock.now_ms()
    queues, members = queue_rows(cluster, view, topic), member_rows(cluster, view, topic)
    for key, row in queues.items():
        calm_queue(row, key, figures, now_ms, _pulled_ms(view, topic, key))
    for client_id, member in members.items():
        calm_member(member, client_id, figures)
    header = _header(cluster, view, topic, queues, figures) | {
        "members_differ": members_differ(members),
        "shared_ids": view.shared_ids(),
    }
    if not group:
        header |= {
            "group": None,
            "model": None,
            "strategy": None,
            "redelivered_on_crash": None,
            "redelivered_notes": [],
            "out_per_s": None,
            "delivered_per_s": None,
            "retrying": None,
            "like": None,
        }
    return {"header": header, "queues": queues, "members": members}


def queue_rows(cluster: Cluster, view: GroupView, topic: str) -> Queues:
    """Return the rows by `broker-a:3`; when broadcasting, by `broker-a:3@<client id>`."""
    mqs = view.all_queues(topic)
    if view.model == "BROADCASTING":
        return {
            f"{mq.row}@{view.row_of(actor)}": broadcast_row(cluster, view, mq, actor, pq)
            for actor in view.actors
            if actor.consumer is not None and actor.lives
            for mq in mqs
            if (pq := actor.consumer.process_queues.get(mq)) is not None or mq.broker in view.down
        }
    assigned = assignment(cluster, view, topic, view.routed_queues(topic))
    return {mq.row: queue_row(cluster, view, mq, assigned.get(mq)) for mq in mqs}


def assignment(cluster: Cluster, view: GroupView, topic: str, mqs: list[MessageQueue]) -> dict[MessageQueue, str]:
    """Return the member to which each queue is assigned, by the members in the brokers' tables.

    If two members claim a queue, the last is returned.
    """
    return {mq: view.row_of_client(member) for member, mine in shares(cluster, view, topic, mqs).items() for mq in mine}


def shares(cluster: Cluster, view: GroupView, topic: str, mqs: list[MessageQueue]) -> dict[str, list[MessageQueue]]:
    """Return the queues that each member would compute now, by client id; cached until one of the inputs changes.

    Each member uses its own strategy, so two may claim the same queue, and another queue may have no owner.
    """
    members = view.online_members()
    own = {member: view.by_client[member].settings for member in members if member in view.by_client}
    inputs = (
        members,
        mqs,
        {member: (settings.strategy, settings.room) for member, settings in own.items()},
        str(cluster.actors.strategies.get(view.group)),
    )
    known = cache_of(cluster).assigned.get((view.group, topic))
    if known is not None and known[0] == inputs:
        return known[1]
    by_member: dict[str, list[MessageQueue]] = {}
    queues = set(mqs)
    for member in members:
        strategy = cluster.actors.strategy_for(own[member]) if member in own else group_strategy(cluster, view)
        try:
            mine = strategy.allocate(view.group, member, mqs, members)
        except ClientError:
            continue  # the strategy cannot divide these: no member gets any
        by_member[member] = [mq for mq in mine if mq in queues]
    cache_of(cluster).assigned[view.group, topic] = (inputs, by_member)
    return by_member


def group_strategy(cluster: Cluster, view: GroupView) -> AllocateMessageQueueStrategy:
    """Return the strategy of the group's members.

    RocketMQ's default (AVG) if all are external, as they do not report it.
    """
    name = next((actor.settings.strategy for actor in view.actors), "AVG")
    return make_strategy(cluster.actors.strategies.get(view.group) or {"strategy": name}, cluster.actors)


def _header(cluster: Cluster, view: GroupView, topic: str, queues: Queues, figures: CalmFigures) -> BoardHeader:
    stats = cluster.actors.group_stats.get(view.group)
    settings = next((actor.settings for actor in view.actors), None)
    p50_ms, p99_ms = figures.figure("delays", stats.delays_ms) if stats is not None else (None, None)
    in_per_s, flow = figures.figure("flow", lambda: (_in_per_s(view, topic), flow_of(cluster, view)))
    again = 0 if topic == retry_topic(view.group) else retrying(cluster, view)
    stored_ms = [row["oldest_stored_ms"] for row in queues.values() if row["oldest_stored_ms"] is not None]
    return {
        "group": view.group,
        "topic": topic,
        "model": view.model,
        "listener": settings.listener if settings is not None else None,
        "strategy": group_strategy(cluster, view).name,
        "lag": with_retries(lag_of(queues), again),
        "retrying": str(again),
        **known_queues(queues),
        "oldest_since_ms": min(stored_ms, default=None),
        "redelivered_on_crash": redelivered_on_crash(view, topic, cluster.clock.now_ms()),
        "redelivered_notes": redelivered_notes(view, topic),
        "in_per_s": in_per_s,
        "out_per_s": flow.consumed,
        "delivered_per_s": flow.delivered,
        "differs": flow.differs,
        "e2e_p50_ms": p50_ms,
        "e2e_p99_ms": p99_ms,
        "delivered_again": None if stats is None else stats.delivered_again,
        "rate": cluster.clock.rate,
        "members_differ": [],
        "shared_ids": [],
        "next_actor": cluster.actors.next_label(),
        "like": _like(cluster, view.group),
    }


def _like(cluster: Cluster, group: str) -> NewMember | None:
    newest = cluster.actors.newest_of(group)
    if newest is None:
        return None
    wishes = newest.settings
    return {
        "kind": wishes.kind,
        "model": wishes.model,
        "listener": wishes.listener,
        "strategy": wishes.strategy,
        "from_where": wishes.from_where,
        "threads": wishes.threads,
        "batch": wishes.batch,
        "work_ms": list(wishes.work_ms),
        "offset_store": wishes.offset_store,
    }


def _pulled_ms(view: GroupView, topic: str, key: str) -> int | None:
    """Return the time of the last pull of a row's queue, or None."""
    broker, _, number = key.partition("@")[0].rpartition(":")
    if broker not in view.answering:
        return None
    pull = view.answering[broker].pulls.get(view.group, MessageQueue(topic, broker, int(number)))
    return None if pull is None else pull.at_ms


def _in_per_s(view: GroupView, topic: str) -> float | None:
    return rounded(total_per_s(broker.store.stats.put_per_s(topic) for broker in view.masters.values()))


def lag_of(queues: Mapping[Any, QueueRow]) -> str | None:
    """Return the sum of the rows' known lags: mqadmin's number (`rows.lag`).  None: no queue's lag is known.

    `known_queues` returns the number of queues that count.
    """
    known = [lag for row in queues.values() if (lag := row_lag(row)) is not None]
    return str(sum(known)) if known else None


def with_retries(lag: str | None, again: int | None) -> str | None:
    """Return the lag plus the messages in the retry topic, which are not consumed either."""
    return str(int(lag or 0) + (again or 0)) if lag is not None or again else None


def known_queues(queues: Mapping[Any, MasterState]) -> KnownQueues:
    """Return the number of queues that are known now, and the lag in the last reports of masters that are down.

    If no queue's lag is known (no group, or none that reads the topic), only queues of masters that are down count
    as unknown.  The lag itself is then None.
    """
    down = [row["down"] for row in queues.values() if row["down"] is not None]
    lags = [row_lag(row) for row in queues.values() if row["down"] is None]
    unknown = lags.count(None) if any(lag is not None for lag in lags) else 0
    return {
        "queues_known": len(queues) - len(down) - unknown,
        "queues_all": len(queues),
        "lag_last_known": str(sum(int(mark["lag"] or 0) for mark in down)),
    }
