"""Assigned and held queues of a group: each member's view, and the moves (channel `rebalance/<slug>/<group>`).

Shapes: `queries.rows.rebalance`.  In broadcasting groups every member reads every queue, so they have no trouble and
no moves between members.
"""

from collections.abc import Iterable

from sandbox.client.config import ClientConfig
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.queue_assignment import Round
from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.cluster import Cluster
from sandbox.message.queue import MessageQueue
from sandbox.queries.rebalance_history import GroupHistory
from sandbox.queries.rows.board import MemberRow
from sandbox.queries.rows.groups import GroupView, topics_of
from sandbox.queries.rows.rebalance import (
    Belief,
    Division,
    HeldBy,
    MemberCard,
    MemberMind,
    MissedRound,
    Rebalance,
    RebalanceGroup,
    RebalanceLives,
    RebalanceMember,
    RebalanceQueue,
    RebalanceWait,
)
from sandbox.queries.snapshot.board import group_strategy, shares
from sandbox.queries.snapshot.client_waits import waits
from sandbox.queries.snapshot.member_words import THERE
from sandbox.queries.snapshot.members import member_rows
from sandbox.queries.snapshot.queues import lock_row
from sandbox.queries.snapshot_cache import cache_of

TOPICS_SHOWN = 16
WAITS_FOR = ("lock", "master", "offset")


def read_rebalance(cluster: Cluster, group: str) -> Rebalance:
    view, history = GroupView(cluster, group), cache_of(cluster).rebalances.group(group)
    topics = {topic: view.routed_queues(topic) for topic in topics_of(view)[:TOPICS_SHOWN]}
    members = _members(cluster, view)
    return {
        "group": _group(cluster, view, members),
        "lives": _lives(view),
        "brokers": {
            node.name: {"state": node.state, "members": _known(view, node.name)}
            for node in cluster.nodes.brokers
            if node.is_master
        },
        "topics": {
            topic: {"queues": _counted(mqs), "retry": topic.startswith("%RETRY%")} for topic, mqs in topics.items()
        },
        "members": members,
        "beliefs": _beliefs(view, members, topics),
        "queues": {
            mq.key: row for topic, mqs in topics.items() for mq, row in _queues(cluster, view, history, topic, mqs)
        },
        "waits": _waits(cluster, view),
        "rounds": {row["seq"]: row.copy() for row in history.rounds},
        "moves": {row["seq"]: row.copy() for row in history.moves},
        "labels": _labels(cluster, history, members),
    }


def _labels(cluster: Cluster, history: GroupHistory, members: dict[str, RebalanceMember]) -> dict[str, str]:
    named: set[str | None] = {row["client_id"] for row in history.rounds}
    named |= {row["from"] for row in history.moves} | {row["to"] for row in history.moves}
    named |= {row["who"] for row in history.happenings}
    return {
        client_id: label
        for client_id in sorted(filter(None, named - members.keys()))
        if (label := cluster.actors.label_of(client_id)) is not None
    }


def _group(cluster: Cluster, view: GroupView, members: dict[str, RebalanceMember]) -> RebalanceGroup:
    broadcasting = view.model == "BROADCASTING"
    strategies = {client_id: row["strategy"] for client_id, row in members.items() if row["strategy"] is not None}
    subscriptions = [row["subscription"] for row in members.values() if row["subscription"] is not None]
    apart = ["strategy"] if len(set(strategies.values())) > 1 else []
    apart += ["subscription"] if any(subscription != subscriptions[0] for subscription in subscriptions) else []
    orderly = next((actor.settings.listener == "orderly" and not broadcasting for actor in view.actors), None)
    return {
        "group": view.group,
        "model": view.model,
        "orderly": orderly,
        "strategy": None if broadcasting else group_strategy(cluster, view).name,
        "strategies": strategies,
        "apart": [] if broadcasting else apart,
    }


def _lives(view: GroupView) -> RebalanceLives:
    """Return the periods of a running member, else RocketMQ's defaults."""
    running = next((actor.instance.config for actor in view.actors if actor.lives and actor.instance is not None), None)
    config = running or ClientConfig
    return {"rebalance_ms": config.rebalance_ms, "route_ms": config.poll_name_server_ms}


def _known(view: GroupView, broker: str) -> list[str] | None:
    running = view.masters.get(broker)
    if running is None:
        return None
    group = running.consumers.groups.get(view.group)
    return [] if group is None else sorted(group.client_ids())


def _counted(mqs: list[MessageQueue] | None) -> dict[str, int] | None:
    if mqs is None:
        return None
    counts: dict[str, int] = {}
    for mq in mqs:
        counts[mq.broker] = max(counts.get(mq.broker, 0), mq.queue_id + 1)
    return counts


def _members(cluster: Cluster, view: GroupView) -> dict[str, RebalanceMember]:
    known = {name: set(members) for name in view.masters if (members := _known(view, name)) is not None}
    ids = {key: client_id for client_id in view.registered() for key in view.twins(client_id)}
    ids |= {key: actor.client_id for key, actor in view.by_row.items()}
    rows: dict[str, RebalanceMember] = {}
    for key, row in member_rows(cluster, view, None).items():
        actor = view.by_row.get(key)
        known_to = sorted(name for name, members in known.items() if ids.get(key, key) in members)
        if actor is not None and actor.is_copy and not actor.lives:
            known_to = []
        rows[key] = {**member_card(row), **_own(actor), "subscription": subscription_of(row), "known_to": known_to}
    return rows


def member_card(row: MemberRow) -> MemberCard:
    return {
        "actor": row["actor"],
        "letter": row["letter"],
        "colour": row["colour"],
        "state": row["state"],
        "transport": row["transport"],
        "kind": row["kind"],
        "language": row["language"],
        "release": row.get("release"),
        "since_ms": row["since_ms"],
        "expires_at_ms": row["expires_at_ms"],
    }


def subscription_of(row: MemberRow) -> dict[str, str] | None:
    """Return the expression by topic of a running member; None if the member does not report it."""
    if row["subscriptions"] is None or row["state"] not in THERE:
        return None
    return {sub["topic"]: sub["expression"] or "*" for sub in row["subscriptions"]}


def _own(actor: ConsumerActor | None) -> MemberMind:
    """Return the state that only the process itself has; the caller fills in `subscription`."""
    if actor is None or actor.consumer is None or not actor.lives:
        return {"strategy": None, "subscription": None, "due_ms": None, "route_due_ms": None, "rounds": None}
    consumer = actor.consumer
    table = consumer.instance.timer_rows()
    route = table.get("route")
    return {
        "strategy": None if actor.settings.model == "BROADCASTING" else consumer.strategy.name,
        "subscription": None,
        "due_ms": table["rebalance"].due_ms,
        "route_due_ms": None if route is None else route.due_ms,
        "rounds": table["rebalance"].runs,
    }


def _beliefs(view: GroupView, members: Iterable[str], topics: dict[str, list[MessageQueue]]) -> dict[str, Belief]:
    truth, rows = view.online_members(), dict[str, Belief]()
    for key in members:
        actor = view.by_row.get(key)
        client_id = key if actor is None else actor.client_id
        consumer = actor.consumer if actor is not None and actor.lives else None
        if consumer is None and client_id not in truth:
            continue  # no member's belief
        for topic, mqs in topics.items():
            if consumer is not None and topic not in consumer.subscriptions:
                continue
            known = consumer.rebalancer.rounds.get(topic) if consumer is not None else None
            route = consumer.instance.routes.subscribe_queues(topic) if consumer is not None else None
            sent = [client_id] if view.model == "BROADCASTING" else truth
            rows[f"{key}|{topic}"] = {
                "client_id": key,
                "topic": topic,
                "route": _counted(route),
                **_belief(known, client_id, sent, mqs),
            }
    return rows


def _belief(known: Round | None, client_id: str, truth: list[str], mqs: list[MessageQueue]) -> Division:
    missed: MissedRound = {"missed_ms": None, "missed_why": None}
    if known is not None and known.missed_ms is not None:
        missed = {"missed_ms": known.missed_ms, "missed_why": known.missed_why}
    if known is None or known.division is None:
        return {
            "members": None,
            "queues": None,
            "mine": None,
            "asked_ms": None,
            "trigger": None,
            "index": None,
            "agrees": None,
            **missed,
        }
    division = known.division
    return {
        "members": division.members,
        "queues": _counted(division.queues),
        "mine": [mq.key for mq in division.mine],
        "asked_ms": division.at_ms,
        "trigger": known.trigger,
        "index": division.members.index(client_id) if client_id in division.members else None,
        "agrees": division.members == truth and division.queues == mqs,
        **missed,
    }


def _queues(
    cluster: Cluster, view: GroupView, history: GroupHistory, topic: str, mqs: list[MessageQueue]
) -> list[tuple[MessageQueue, RebalanceQueue]]:
    """Return the queues that brokers have or that members still claim or hold."""
    broadcasting = view.model == "BROADCASTING"
    due = shares(cluster, view, topic, mqs) if not broadcasting else dict.fromkeys(view.online_members(), mqs)
    alive = {key: actor.consumer for key, actor in view.by_row.items() if actor.consumer is not None and actor.lives}
    ours = {consumer.client_id for consumer in alive.values()}
    claims = {
        key: set(known.division.mine)
        for key, consumer in alive.items()
        if (known := consumer.rebalancer.rounds.get(topic)) is not None and known.division is not None
    }
    secret = any(client_id not in ours and not view.is_leftover(client_id) for client_id in view.online_members())
    thought_of = {mq for mine in claims.values() for mq in mine if mq.topic == topic}
    thought_of |= {mq for consumer in alive.values() for mq in consumer.process_queues if mq.topic == topic}
    rows: list[tuple[MessageQueue, RebalanceQueue]] = []
    for mq in sorted({*mqs, *thought_of}):
        claimed = {
            key: history.claimed_since_ms(alive[key].client_id, mq) for key, mine in claims.items() if mq in mine
        }
        held: dict[str, HeldBy] = {
            key: {"since_ms": pq.taken_at_ms, "letting_go": pq.dropped}
            for key, consumer in alive.items()
            if (pq := consumer.process_queues.get(mq)) is not None
        }
        wire = view.wire_owner(mq)
        for key in (wire, *view.twins(wire)) if wire is not None else ():  # with one id they read the same queues
            held[key] = {"since_ms": None, "letting_go": None}
        hidden = secret and not (view.shared_ids() and not any(mq in mine for mine in due.values()))
        trouble, since_ms = (None, None) if broadcasting else _trouble(history, mq, claimed, held, secret=hidden)
        broker = view.masters.get(mq.broker)
        rows.append(
            (
                mq,
                {
                    "topic": topic,
                    "broker": mq.broker,
                    "queue_id": mq.queue_id,
                    "claims": claimed,
                    "held": held,
                    "due": [
                        key for client_id, mine in due.items() if mq in mine for key in view.rows_of_client(client_id)
                    ],
                    "lock": None if broker is None else lock_row(view, broker, mq),
                    "trouble": trouble,
                    "since_ms": since_ms,
                },
            )
        )
    return rows


def _trouble(
    history: GroupHistory, mq: MessageQueue, claims: dict[str, int | None], held: dict[str, HeldBy], *, secret: bool
) -> tuple[str | None, int | None]:
    """Return the trouble of one queue and its begin.  `secret`: some members do not report the queues they compute."""
    if len(claims) > 1 or len(held) > 1:
        begun = sorted(
            ms
            for ms in (claims.values() if len(claims) > 1 else [row["since_ms"] for row in held.values()])
            if ms is not None
        )
        return "twice", begun[1] if len(begun) > 1 else None
    mind = next(iter(claims), None)
    holder = next(iter(held), None)
    if mind is None and holder is None:
        return (None, None) if secret else ("nobody", history.unclaimed_since_ms(mq))
    if mind == holder or (mind is None and held[str(holder)]["since_ms"] is None):
        return None, None  # an external member reports only what it holds
    since_ms = history.unclaimed_since_ms(mq) if mind is None else claims[mind]
    return "waits" if holder is None else "lingers", since_ms


def _waits(cluster: Cluster, view: GroupView) -> dict[str, RebalanceWait]:
    """Return the queues that members claim and cannot acquire yet."""
    return {
        f"{member}|{key}": {"client_id": member, "holder": None, "holder_state": None, **row}
        for member, actor in view.by_row.items()
        if isinstance(actor.consumer, PushConsumer) and actor.lives
        for key, row in waits(cluster, view, actor.consumer).items()
        if row["why"] in WAITS_FOR
    }
