"""Topics, queue by queue: who may write, who may read, and what waits where (product page Topics)."""

from typing import TYPE_CHECKING, Any

from sandbox.broker.broker import Broker
from sandbox.broker.config import PERM_READ, PERM_WRITE
from sandbox.broker.topic_names import is_system
from sandbox.hosting.snapshot.tape import kind_of
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import TopicConfig

if TYPE_CHECKING:
    from sandbox.hosting.sandbox import Sandbox

Row = dict[str, Any]
MAX_GROUPS = 16  # whose backlog a queue names


def read_topics(sandbox: "Sandbox") -> Row:
    """{"topics": [{"topic", "kind", "brokers": [{"broker", "write_queues", "read_queues", "permission", "how"}],
    "groups": [name], "queues": [{"broker", "queue_id", "min", "max", "rate_per_s", "use", "waiting"}]}]}.

    `use`: `rw`, `wo` (written, and nobody may read it), `ro` (readable, and nobody may write it) or `none` (neither:
    left behind by a shrink).  `waiting`: group → messages behind its committed offset, None where it never committed.
    """
    rows: dict[str, Row] = {}
    for node in sandbox.nodes.masters():
        broker = node.running
        last_ids = dict(broker.store.queues())  # sorted, so the highest id of each topic stays
        for name, config in sorted(broker.topics.table.items()):
            if is_system(name) or broker.topics.is_system(name):
                continue
            row = rows.setdefault(name, {"topic": name, "kind": kind_of(name), "brokers": [], "groups": [],
                                         "queues": []})
            row["brokers"].append({"broker": node.name, "write_queues": config.write_queues,
                                   "read_queues": config.read_queues, "permission": config.permission,
                                   "how": sandbox.origins.of(name, node.name)})
            groups = _groups(broker, name)
            row["groups"] = sorted({*row["groups"], *groups})
            row["queues"] += _queues(sandbox, broker, config, groups, last_ids.get(name, -1))
    return {"topics": [rows[name] for name in sorted(rows, key=lambda name: (kind_of(name) != "normal", name))]}


def _groups(broker: Broker, topic: str) -> list[str]:
    """Clustering groups that read the topic now, or did: those whose progress the broker keeps."""
    found = {key.group for key in broker.consumer_offsets.table if key.topic == topic}
    found |= {name for name, group in broker.consumers.groups.items()
              if topic in group.subscriptions and group.model == "CLUSTERING"}
    return sorted(found)[:MAX_GROUPS]


def _queues(sandbox: "Sandbox", broker: Broker, config: TopicConfig, groups: list[str],
            last_id: int) -> list[Row]:
    """Every queue the counts name, and those a shrink left messages in."""
    topic, store = config.topic, broker.store
    count = max(config.read_queues, config.write_queues, last_id + 1)
    rows: list[Row] = []
    for queue_id in range(count):
        high = store.max_offset(topic, queue_id)
        low = max(0, store.min_offset(topic, queue_id))
        rows.append({"broker": broker.config.name, "queue_id": queue_id, "min": str(low), "max": str(high),
                     "rate_per_s": sandbox.memory.rate(MessageQueue(topic, broker.config.name, queue_id), high),
                     "use": _use(config, queue_id),
                     "waiting": {group: _waiting(broker, group, topic, queue_id, low, high) for group in groups}})
    return rows


def _use(config: TopicConfig, queue_id: int) -> str:
    writable = queue_id < config.write_queues and config.permission & PERM_WRITE
    readable = queue_id < config.read_queues and config.permission & PERM_READ
    return "rw" if writable and readable else "wo" if writable else "ro" if readable else "none"


def _waiting(broker: Broker, group: str, topic: str, queue_id: int, low: int, high: int) -> str | None:
    """Messages from the committed offset (or the oldest, if that is later) to the newest; an empty queue has none."""
    if high == 0:
        return "0"
    committed = broker.consumer_offsets.get(group, topic, queue_id)
    return None if committed is None else str(max(0, high - max(low, committed)))
