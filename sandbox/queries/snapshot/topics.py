"""Topics, queue by queue: permissions, readers and waiting messages (product page Topics)."""

from sandbox.broker.broker import Broker
from sandbox.broker.config import PERM_READ, PERM_WRITE
from sandbox.cluster.cluster import Cluster
from sandbox.cluster.last_known import LastKnown
from sandbox.message.queue import MessageQueue
from sandbox.message.topic_names import is_system
from sandbox.queries.rows.topics import QueueOfTopic, TopicAtBroker, TopicDown, Topics, TopicUse
from sandbox.queries.snapshot.tape import kind_of
from sandbox.queries.snapshot_cache import cache_of

MAX_GROUPS = 16  # groups per queue with a lag


def read_topics(cluster: Cluster) -> Topics:
    rows: dict[str, TopicUse] = {}
    for node in cluster.nodes.masters():
        broker = node.running
        last_ids = dict(broker.store.queues())  # sorted, so the highest id of each topic stays
        for name, config in sorted(broker.topics.table.items()):
            if is_system(name) or broker.topics.is_system(name):
                continue
            counts: TopicAtBroker = {
                "broker": node.name,
                "write_queues": config.write_queues,
                "read_queues": config.read_queues,
                "permission": config.permission,
                "how": cluster.origins.of(name, node.name),
                "down": None,
            }
            groups = _groups(broker, name)
            _add(rows, name, counts, groups, _queues(cluster, broker, name, counts, groups, last_ids.get(name, -1)))
    for master, known in cluster.nodes.down_masters().items():
        down: TopicDown = {"known_at_ms": known.at_ms, "kept": cluster.nodes.slave_of(master) is not None}
        for name, was in known.topics.items():
            if not is_system(name):
                counts = {
                    "broker": master,
                    "write_queues": was["write_queues"],
                    "read_queues": was["read_queues"],
                    "permission": was["permission"],
                    "how": cluster.origins.of(name, master),
                    "down": down,
                }
                groups = sorted(group for group, read in known.groups.items() if name in read)[:MAX_GROUPS]
                _add(rows, name, counts, groups, _queues_then(known, name, counts, groups))
    for row in rows.values():
        row["brokers"].sort(key=lambda counts: counts["broker"])
    return {"topics": [rows[name] for name in sorted(rows, key=lambda name: (kind_of(name) != "normal", name))]}


def _add(
    rows: dict[str, TopicUse], name: str, counts: TopicAtBroker, groups: list[str], queues: list[QueueOfTopic]
) -> None:
    row = rows.setdefault(name, {"topic": name, "kind": kind_of(name), "brokers": [], "groups": [], "queues": []})
    row["brokers"].append(counts)
    row["groups"] = sorted({*row["groups"], *groups})
    row["queues"] += queues


def _groups(broker: Broker, topic: str) -> list[str]:
    """Return the clustering groups that read the topic, or did: those whose offsets the broker stores."""
    groups = {key.group for key in broker.consumer_offsets.table if key.topic == topic}
    groups |= {
        name
        for name, group in broker.consumers.groups.items()
        if topic in group.subscriptions and group.model == "CLUSTERING"
    }
    return sorted(groups)[:MAX_GROUPS]


def _queues(
    cluster: Cluster, broker: Broker, topic: str, counts: TopicAtBroker, groups: list[str], last_id: int
) -> list[QueueOfTopic]:
    """Return every queue within the queue counts, and queues with messages beyond reduced counts."""
    store = broker.store
    count = max(counts["read_queues"], counts["write_queues"], last_id + 1)
    rows: list[QueueOfTopic] = []
    for queue_id in range(count):
        high = store.max_offset(topic, queue_id)
        low = max(0, store.min_offset(topic, queue_id))
        rows.append(
            {
                "broker": broker.config.name,
                "queue_id": queue_id,
                "min": str(low),
                "max": str(high),
                "rate_per_s": cache_of(cluster).rate(MessageQueue(topic, broker.config.name, queue_id), high),
                "use": _use(counts, queue_id),
                "waiting": {
                    group: _waiting(broker.consumer_offsets.get(group, topic, queue_id), low, high) for group in groups
                },
            }
        )
    return rows


def _queues_then(known: LastKnown, topic: str, counts: TopicAtBroker, groups: list[str]) -> list[QueueOfTopic]:
    rows: list[QueueOfTopic] = []
    for queue_id, (low, high) in enumerate(known.topics[topic]["ends"]):
        mq = MessageQueue(topic, counts["broker"], queue_id)
        rows.append(
            {
                "broker": mq.broker,
                "queue_id": queue_id,
                "min": str(low),
                "max": str(high),
                "rate_per_s": None,
                "use": _use(counts, queue_id),
                "waiting": {group: _waiting(known.committed(group, mq)[0], low, high) for group in groups},
            }
        )
    return rows


def _use(counts: TopicAtBroker, queue_id: int) -> str:
    writable = queue_id < counts["write_queues"] and counts["permission"] & PERM_WRITE
    readable = queue_id < counts["read_queues"] and counts["permission"] & PERM_READ
    return "rw" if writable and readable else "wo" if writable else "ro" if readable else "none"


def _waiting(committed: int | None, low: int, high: int) -> str:
    """Return the messages from the committed offset (or the oldest, if that is later) to the newest.

    Without an offset all of them wait (`rows.lag`).
    """
    return str(max(0, high - max(low, committed or 0)))
