"""The whole sandbox in one value: first paint, JSON API, keyframes (catalogue 9)."""

from sandbox.broker.broker import Broker
from sandbox.client.config import INNER_PRODUCER_GROUP
from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.cluster import Cluster
from sandbox.cluster.nodes import NameServerNode
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import dead_letter_topic, is_system, retry_topic
from sandbox.queries.rows.board import Lock, LockRow, MemberRow, QueueRow
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.rows.member_words import SubscriptionRow
from sandbox.queries.rows.snapshot import (
    BrokerHeard,
    BrokerRow,
    DamagedTable,
    GroupCounts,
    GroupMemberRow,
    GroupQueueRow,
    GroupRow,
    LogRow,
    NameServerRow,
    ProducerRow,
    SandboxRow,
    Snapshot,
    TopicQueueRow,
    TopicRow,
)
from sandbox.queries.snapshot.board import group_strategy, known_queues, lag_of, queue_rows, with_retries
from sandbox.queries.snapshot.calm import rounded
from sandbox.queries.snapshot.groups import group_names, topics_read
from sandbox.queries.snapshot.member_words import members_differ
from sandbox.queries.snapshot.members import member_rows
from sandbox.queries.snapshot.retries import retrying
from sandbox.queries.snapshot.storage import log_row
from sandbox.queries.snapshot.tape import kind_of
from sandbox.queries.snapshot_cache import cache_of
from sandbox.remoting.channel import LOOPBACK
from sandbox.store.message_store import MessageStore


def draw_snapshot(cluster: Cluster) -> Snapshot:
    record = cluster.record
    return {
        "sandbox": _sandbox_row(cluster),
        "epoch": record.epoch,
        "seq": str(cluster.journal.next_seq - 1),
        "at_ms": cluster.clock.now_ms(),
        "wall_ms": cluster.environment.wall.now_ms(),
        "rate": cluster.clock.rate,
        "reached_rate": cluster.reached_rate,
        "rate_pinned": bool(cluster.wire_clients()),
        "name_servers": [name_server_row(node) for node in cluster.nodes.name_servers],
        "brokers": [broker_row(cluster, node) for node in cluster.nodes.brokers],
        "links": [
            {
                "a": row["a"],
                "b": row["b"],
                "state": row["state"],
                "one_way": row["one_way"],
                "delay_ms": row["delay_ms"],
            }
            for row in cluster.links.rows()
        ],
        "topics": topic_rows(cluster),
        "producers": producer_rows(cluster),
        "groups": [_group(cluster, name) for name in group_names(cluster)],
    }


def _sandbox_row(cluster: Cluster) -> SandboxRow:
    record = cluster.record
    row: SandboxRow = {
        "slug": record.slug,
        "name": record.slug,
        "template": record.template,
        "preset": record.preset,
        "state": "live",
        "expires_at": None,
        "trouble": cluster.disk_full.sentence,
        "trouble_why": cluster.disk_full.why,
        "notices": [
            {"pattern": notice.pattern, "values": notice.values, "dismissible": notice.dismissible}
            for notice in cluster.notices
        ],
        "client_rebalance_interval_ms": cluster.preset.client_rebalance_interval_ms,
    }
    if record.history_until:
        row["history_until"] = str(record.history_until)
    if record.lab:
        row["lab"] = record.lab["lab"]
    return row


def name_server_row(node: NameServerNode) -> NameServerRow:
    brokers: list[BrokerHeard] = []
    if node.name_server is not None:
        brokers = [
            {"broker": live.broker, "broker_id": live.broker_id, "last_update_ms": live.last_update_ms}
            for _, live in sorted(node.name_server.route_info.live.items())
        ]
    return {"name": node.name, "state": node.state, "brokers": brokers}


def broker_row(cluster: Cluster, node: BrokerNode) -> BrokerRow:
    store = node.broker.store if node.broker is not None else None
    row: BrokerRow = {
        "broker": node.name,
        "broker_id": node.record.broker_id,
        "role": "master" if node.is_master else "slave",
        "state": node.state,
        "address": node.record.address,
        "listening": cluster.listeners.listens(node.record.address),
        "flush": cluster.preset.flush,
        "replication": node.replication,
        "property_filter": cluster.preset.property_filter,
        "disk": store.disk_state if store is not None else None,
        "skew_ms": node.clock.skew_ms,
        "log": None if store is None else _log(store, store.replicated_offset if node.is_master else None),
    }
    if node.state == "damaged":
        row["damaged"] = damaged_tables(node)
    return row


def damaged_tables(node: BrokerNode) -> list[DamagedTable]:
    return [{"table": read.name, "file": read.first.path, "why": read.first.why} for read in node.damaged]


def _log(store: MessageStore, replicated: int | None) -> LogRow:
    row = log_row(store)
    return {
        "min": row["min"],
        "max": row["max"],
        "flushed": row["flushed"],
        "file_bytes": row["file_bytes"],
        "replicated": None if replicated is None else str(replicated),
    }


def topic_rows(cluster: Cluster) -> list[TopicRow]:
    """Return one row per topic over all brokers; counts and permission are those of the first broker that has it.

    A queue with `known_at_ms` is that of a master that is down, from its last report.
    """
    rows: dict[str, TopicRow] = {}
    for node in cluster.nodes.masters():
        broker = node.running
        for name, config in sorted(broker.topics.table.items()):
            if is_system(name) or broker.topics.is_system(name):
                continue
            row = rows.setdefault(
                name,
                {
                    "topic": name,
                    "kind": kind_of(name),
                    "permission": config.permission,
                    "read_queues": config.read_queues,
                    "write_queues": config.write_queues,
                    "queues": [],
                },
            )
            row["queues"] += _topic_queues(cluster, broker, name, max(config.read_queues, config.write_queues))
    for broker_name, known in cluster.nodes.down_masters().items():
        for name, then in known.topics.items():
            row = rows.setdefault(
                name,
                {
                    "topic": name,
                    "kind": kind_of(name),
                    "permission": then["permission"],
                    "read_queues": then["read_queues"],
                    "write_queues": then["write_queues"],
                    "queues": [],
                },
            )
            row["queues"] += [
                {
                    "broker": broker_name,
                    "queue_id": number,
                    "min": str(low),
                    "max": str(high),
                    "rate_per_s": 0.0,
                    "known_at_ms": known.at_ms,
                }
                for number, (low, high) in enumerate(then["ends"])
            ]
    return [rows[name] for name in sorted(rows, key=lambda name: (kind_of(name) != "normal", name))]


def _topic_queues(cluster: Cluster, broker: Broker, topic: str, count: int) -> list[TopicQueueRow]:
    rows: list[TopicQueueRow] = []
    for queue_id in range(count):
        high = broker.store.max_offset(topic, queue_id)
        rate = cache_of(cluster).rate(MessageQueue(topic, broker.config.name, queue_id), high)
        rows.append(
            {
                "broker": broker.config.name,
                "queue_id": queue_id,
                "min": str(max(0, broker.store.min_offset(topic, queue_id))),
                "max": str(high),
                "rate_per_s": rate,
                "known_at_ms": None,
            }
        )
    return rows


def producer_rows(cluster: Cluster) -> list[ProducerRow]:
    rows: list[ProducerRow] = []
    now_ms = cluster.clock.now_ms()
    for actor in cluster.actors.producers():
        until = actor.producer.faults.available_from_ms if actor.producer is not None else {}
        rows.append(
            {
                "client_id": actor.client_id or None,
                "actor": actor.label,
                "state": actor.state,
                "transport": "loopback",
                "topic": actor.settings.topic,
                "rate_per_s": rounded(actor.per_s),
                "sent": actor.sent,
                "failed": actor.failed,
                "unavailable": {broker: at_ms for broker, at_ms in sorted(until.items()) if at_ms > now_ms},
            }
        )
    return rows + _wire_producers(cluster)


def _wire_producers(cluster: Cluster) -> list[ProducerRow]:
    """Return the external producers.  Brokers have only their heartbeats, not the rate at which they will send."""
    senders = {
        info.client_id
        for node in cluster.nodes.masters()
        for group, channels in node.running.producers.groups.items()
        if group != INNER_PRODUCER_GROUP
        for channel, info in channels.items()
        if channel.transport_kind != LOOPBACK
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
        }
        for client_id in sorted(senders)
    ]


def _group(cluster: Cluster, name: str) -> GroupRow:
    view = GroupView(cluster, name)
    settings = next((actor.settings for actor in view.actors), None)
    members = member_rows(cluster, view, None)
    queues = {topic: queue_rows(cluster, view, topic) for topic in topics_read(view)}
    every = {(topic, key): row for topic, rows in queues.items() for key, row in rows.items()}
    counts = group_counts(cluster, view)
    return {
        "group": name,
        "model": view.model,
        "listener": settings.listener if settings is not None else None,
        "strategy": group_strategy(cluster, view).name,
        "subscription": _subscription(view),
        "members": [group_member(client_id, row) for client_id, row in members.items()],
        "lag": with_retries(lag_of(every), counts["retrying"]),
        **known_queues(every),
        "queues": [_queue(topic, key, row) for (topic, key), row in every.items()],
        "counts": counts,
        "members_differ": members_differ(members),
        "shared_ids": view.shared_ids(),
    }


def group_member(client_id: str, row: MemberRow) -> GroupMemberRow:
    return {
        "client_id": client_id,
        "actor": row["actor"],
        "kind": row["kind"],
        "state": row["state"],
        "transport": row["transport"],
        "language": row["language"],
        "version": row["version"],
        "queues": row["queues"],
        "buffered": row["buffered"],
        "buffered_bytes": row["buffered_bytes"],
        "fullest": row["fullest"],
        "span": row["span"],
        "busy": row["busy"],
        "threads": row["threads"],
        "since_ms": row["since_ms"],
        "timers": row["timers"],
        "subscriptions": row["subscriptions"],
        "model": row["model"],
        "listener": row["listener"],
        "dropped": row["dropped"],
        "passed_over": row["passed_over"],
        "same_id": row["same_id"],
    }


def group_queue(topic: str, key: str, row: QueueRow) -> GroupQueueRow:
    """Return a board's row as a row of the snapshot.  `key`: `broker-a:3` or `broker-a:3@<client id>`."""
    broker, _, number = key.partition("@")[0].rpartition(":")
    return {
        "topic": topic,
        "broker": broker,
        "queue_id": int(number),
        "committed": row["committed"],
        "from_zero": row["from_zero"],
        "in_memory": row["in_memory"],
        "next_pull": row["next_pull"],
        "owner": row["owner"],
        "lock": row["lock"],
        "oldest": row["oldest"],
        "flow_control": row["flow_control"],
        "held_until_ms": row["held_until_ms"],
        "cause": row["cause"],
        "down": row["down"],
    }


def _queue(topic: str, key: str, row: QueueRow) -> GroupQueueRow:
    return {**group_queue(topic, key, row), "lock": _lock(row["lock"])}


def _lock(row: LockRow | None) -> Lock | None:
    return (
        None
        if row is None
        else {
            "holder": row["holder"],
            "expires_at_ms": row["expires_at_ms"],
            "trusted_until_ms": row["trusted_until_ms"],
        }
    )


def _subscription(view: GroupView) -> list[SubscriptionRow]:
    """Return the subscription that brokers store for the group; before its first heartbeat, that of its actors."""
    expressions: dict[str, tuple[str, str]] = {
        sub.topic: (sub.expression, sub.kind) for actor in view.actors for sub in actor.settings.subscriptions
    }
    for broker in view.masters.values():
        group = broker.consumers.groups.get(view.group)
        if group is not None:
            expressions |= {
                topic: (data.sub_string, data.expression_type) for topic, data in group.subscriptions.items()
            }
    return [
        {"topic": topic, "expression": expressions[topic][0], "kind": expressions[topic][1]}
        for topic in sorted(expressions)
        if topic != retry_topic(view.group)
    ]


def group_counts(cluster: Cluster, view: GroupView) -> GroupCounts:
    """Return the message counts of a group.

    `retrying`: messages in the retry topic that are not consumed yet.  `dead_letters`: messages in the dead-letter
    topic.
    """
    dead = 0
    for broker in view.masters.values():
        dead += broker.store.max_offset(dead_letter_topic(view.group), 0)
    for known in view.down.values():
        letters = known.topics.get(dead_letter_topic(view.group))
        dead += letters["ends"][0][1] if letters is not None else 0
    stats = cluster.actors.group_stats.get(view.group)
    return {
        "delivered_again": None if stats is None else stats.delivered_again,
        "retrying": retrying(cluster, view),
        "dead_letters": dead,
    }
