"""Actions on topics, groups, settings and files."""

from collections.abc import Callable
from typing import Any

from sandbox.broker.broker import Broker
from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.cluster import Cluster
from sandbox.cluster.presets import FIXED_BY_FIRST_MESSAGE, OF_NEW_CLIENTS, REAL, preset_of, whole_number
from sandbox.commands.actors import check_topic_name
from sandbox.commands.executors import executes
from sandbox.commands.outcome import CarryOut
from sandbox.control.actions import (
    AgeFiles,
    ChangeBroker,
    ChangeGroup,
    ChangeTopic,
    CleanFiles,
    CreateTopic,
    DeleteTopic,
)
from sandbox.journal.events import BrokerConfigChanged
from sandbox.kernel.errors import ActionRefused
from sandbox.message.topic_names import is_system
from sandbox.remoting.bodies import TopicConfig

DELETING_IS_FOR = "Only topics created by users can be changed."

GROUP_KEYS: dict[str, tuple[type, int, int]] = {
    "consume_enable": (bool, 0, 1),
    "consume_broadcast_enable": (bool, 0, 1),
    "retry_queues": (int, 0, 16),
    "retry_max_times": (int, 0, 16),
    "notify_ids_changed": (bool, 0, 1),
}

LOCK_LIFE_KEY = "lock_max_live_ms"
LOCK_LIFE_MS = (1_000, 600_000)


@executes(CreateTopic)
def create_topic(cluster: Cluster, action: CreateTopic) -> CarryOut:
    check_topic_name(action.topic)
    _refuse_system(action.topic)
    brokers = _scope(cluster, action.scope)
    if any(action.topic in broker.topics.table for broker in brokers):
        raise ActionRefused(
            409,
            "Topic {topic} already exists.",
            "Change the existing topic instead.",
            field="topic",
            topic=action.topic,
        )
    config = TopicConfig(
        action.topic, read_queues=action.read_queues, write_queues=action.write_queues, permission=action.permission
    )
    return _update_topic(cluster, brokers, lambda _: config, _how(action.scope))


@executes(ChangeTopic)
def change_topic(cluster: Cluster, action: ChangeTopic) -> CarryOut:
    _refuse_system(action.topic)
    brokers = [broker for broker in _scope(cluster, action.scope) if action.topic in broker.topics.table]
    if not brokers:
        raise _no_topic(action.topic)

    def wanted(broker: Broker) -> TopicConfig:
        now = broker.topics.table[action.topic]
        return now._replace(
            read_queues=now.read_queues if action.read_queues is None else action.read_queues,
            write_queues=now.write_queues if action.write_queues is None else action.write_queues,
            permission=now.permission if action.permission is None else action.permission,
        )

    return _update_topic(cluster, brokers, wanted, _how(action.scope))


def _update_topic(
    cluster: Cluster, brokers: list[Broker], config_for: Callable[[Broker], TopicConfig], how: str
) -> CarryOut:
    """Check the limits of all brokers, then return the function that changes the topic on all of them."""
    limits = cluster.limits
    topics: dict[str, int] = {}  # application topics of the whole sandbox and their queues after the change
    for node in cluster.nodes.masters():
        for name, config in node.running.topics.table.items():
            if node.running.topics.counts(name):
                topics[name] = topics.get(name, 0) + max(config.read_queues, config.write_queues)
    for broker in brokers:
        config = config_for(broker)
        old = broker.topics.table.get(config.topic)
        most = max(config.read_queues, config.write_queues)
        cluster.limit_guard.check("queues_per_topic", most, limits.queues_per_topic, config.topic)
        topics[config.topic] = (
            topics.get(config.topic, 0) + most - (max(old.read_queues, old.write_queues) if old is not None else 0)
        )
        cluster.limit_guard.check("topics", len(topics), limits.topics, config.topic)
        cluster.limit_guard.check("queues", sum(topics.values()), limits.queues, config.topic)

    def carry_out(seq: int, by: str) -> None:
        for broker in brokers:
            broker.topics.update(config_for(broker), how)

    return carry_out


@executes(DeleteTopic)
def delete_topic(cluster: Cluster, action: DeleteTopic) -> CarryOut:
    """Delete a topic as the admin tool does: at every broker, then at every name server."""
    _refuse_system(action.topic)
    nodes = [node for node in cluster.nodes.masters() if action.topic in node.running.topics.table]
    if not nodes:
        raise _no_topic(action.topic)

    def carry_out(seq: int, by: str) -> None:
        for node in nodes:
            node.running.delete_topic(action.topic)
        for server in cluster.nodes.name_servers:
            if server.name_server is not None:
                server.name_server.delete_topic(action.topic)

    return carry_out


@executes(ChangeGroup)
def change_group(cluster: Cluster, action: ChangeGroup) -> CarryOut:
    changes = {key: _group_value(key, value) for key, value in action.changes.items()}
    if not changes:
        raise ActionRefused(422, "Nothing to change.", "Enter at least one setting.", field="changes")
    brokers = [
        node.running for node in cluster.nodes.masters() if action.group in node.running.subscription_groups.table
    ]
    if not brokers:
        raise ActionRefused(
            404,
            "Group {group} does not exist.",
            "Add a consumer to the group first.",
            field="group",
            group=action.group,
        )

    def carry_out(seq: int, by: str) -> None:
        for broker in brokers:
            broker.subscription_groups.change(action.group, **changes)

    return carry_out


@executes(ChangeBroker)
def change_broker(cluster: Cluster, action: ChangeBroker) -> CarryOut:
    """Change settings of a broker: the lock expiry at once, sizes and flushing by a restart of the broker now.

    Properties of client processes, such as the lock renewal interval, apply to processes started later.
    """
    node = cluster.nodes.broker(action.broker)
    running = node.running
    if not action.changes:
        raise ActionRefused(422, "Nothing to change.", "Enter at least one setting.", field="changes")
    changes = dict(action.changes)
    if not node.has_slave and changes.get("replication", REAL.replication) != REAL.replication:
        raise ActionRefused(
            422,
            "{broker} has no slave to wait for.",
            "Keep replication at ASYNC_MASTER.",
            field="replication",
            broker=action.broker,
        )
    lock_life_ms = changes.pop(LOCK_LIFE_KEY, None)
    if lock_life_ms is not None:
        lock_life_ms = whole_number(LOCK_LIFE_KEY, lock_life_ms, *LOCK_LIFE_MS)
    preset = preset_of(cluster.record.preset, {**cluster.record.changes, **changes})
    restart = bool(changes.keys() - set(OF_NEW_CLIENTS))
    hung = [each for each in cluster.nodes.brokers if each.state == "hung"]
    if restart and hung:
        raise ActionRefused(
            409, "{broker} is hung and cannot stop cleanly.", "Resume the broker, or kill it.", broker=hung[0].node
        )
    fixed = [key for key in changes if key in FIXED_BY_FIRST_MESSAGE]
    if fixed and running.store.max_physical_offset > 0:
        raise ActionRefused(
            409,
            "{key} is fixed by the files that already exist.",
            "Change this setting before the first message is stored.",
            field=fixed[0],
            key=fixed[0],
        )

    def carry_out(seq: int, by: str) -> None:
        if lock_life_ms is not None:
            running.locks.max_live_ms = lock_life_ms
            node.lock_life_ms = lock_life_ms
        if changes:
            cluster.record.changes.update(changes)
            cluster.change_preset(preset)
        if restart:
            cluster.nodes.restart()
        cluster.journal.write(BrokerConfigChanged(node.name, node.record.broker_id, dict(action.changes)))

    return carry_out


@executes(AgeFiles)
def age_files(cluster: Cluster, action: AgeFiles) -> CarryOut:
    node = cluster.nodes.broker(action.broker)
    store = node.running.store
    if action.hours < 1 or action.hours != int(action.hours):
        raise ActionRefused(
            422,
            "The age of files is in whole hours, not {value}.",
            "Enter at least one hour.",
            field="hours",
            value=f"{action.hours:g}",
        )
    return lambda seq, by: store.age_files(int(action.hours))


@executes(CleanFiles)
def clean_files(cluster: Cluster, action: CleanFiles) -> CarryOut:
    node = cluster.nodes.broker(action.broker)
    store = node.running.store
    return lambda seq, by: store.clean(manual=True)


def _scope(cluster: Cluster, scope: str) -> list[Broker]:
    """Return all running masters, or the one that `scope` names.  Raises ActionRefused (404, 409)."""
    nodes: list[BrokerNode] = cluster.nodes.masters() if scope == "cluster" else [cluster.nodes.broker(scope)]
    if not nodes:
        raise ActionRefused(409, "No broker is running.", "Start a broker first.")
    return [node.running for node in nodes]


def _how(scope: str) -> str:
    return "cluster" if scope == "cluster" else "broker"


def _refuse_system(topic: str) -> None:
    if is_system(topic) or topic.startswith("%"):
        raise ActionRefused(
            422, "{topic} is a system topic of the brokers.", DELETING_IS_FOR, field="topic", topic=topic
        )


def _no_topic(topic: str) -> ActionRefused:
    return ActionRefused(404, "Topic {topic} does not exist.", "Choose an existing topic.", field="topic", topic=topic)


def _group_value(key: str, value: Any) -> int | bool:
    if key not in GROUP_KEYS:
        raise ActionRefused(
            422,
            "Setting {key} does not exist.",
            "Available settings: {known}.",
            field=key,
            key=key,
            known=", ".join(GROUP_KEYS),
        )
    kind, low, high = GROUP_KEYS[key]
    if kind is bool:
        if str(value).lower() not in ("true", "on", "1", "false", "off", "0"):
            raise ActionRefused(
                422,
                "{key} must be true or false, not {value}.",
                "Use true or false.",
                field=key,
                key=key,
                value=str(value)[:40],
            )
        return str(value).lower() in ("true", "on", "1")
    return whole_number(key, value, low, high)
