"""State of a broker when its process ended.  Snapshots show it, with its time, until the broker runs again."""

from typing import Any, NamedTuple

from sandbox.broker.broker import Broker
from sandbox.message.queue import MessageQueue

PERM_READ = 4


class LastKnown(NamedTuple):
    """Last state of a broker.  Saved in `sandbox.json`, because the server may end before the broker starts again."""

    at_ms: int  # of the sandbox's clock
    state: str  # stopped, killed, power_cut
    topics: dict[str, dict[str, Any]]  # name → permission, read_queues, write_queues, ends [[min, max]] by queue
    groups: dict[str, dict[str, dict[str, list[int | None]]]]  # group → topic → queue → [committed, its store time]
    locking: list[str]  # groups that held locks, which were lost with the memory
    settings: dict[str, dict[str, object]] | None = None  # group → its row in RocketMQ's table; None: not known
    delays: dict[str, int] | None = None  # delay level → offset; None: not known

    def read_queues(self, topic: str) -> int:
        """Return the number of read queues of the topic; 0 if it is unknown or not readable."""
        config = self.topics.get(topic)
        return config["read_queues"] if config is not None and config["permission"] & PERM_READ else 0

    def ends(self, mq: MessageQueue) -> tuple[int, int]:
        low, high = self.topics[mq.topic]["ends"][mq.queue_id]
        return low, high

    def committed(self, group: str, mq: MessageQueue) -> tuple[int | None, int | None]:
        """Return the committed offset and the store time of the message there; None if unknown."""
        offset, stored_ms = self.groups.get(group, {}).get(mq.topic, {}).get(str(mq.queue_id), (None, None))
        return offset, stored_ms


def last_known(broker: Broker, state: str, at_ms: int) -> LastKnown:
    """Read a broker's last state, before its store is closed."""
    store = broker.store
    topics = {
        name: {
            "permission": config.permission,
            "read_queues": config.read_queues,
            "write_queues": config.write_queues,
            "ends": [
                [max(0, store.min_offset(name, number)), store.max_offset(name, number)]
                for number in range(max(config.read_queues, config.write_queues))
            ],
        }
        for name, config in sorted(broker.topics.table.items())
        if not broker.topics.is_system(name)
    }
    groups: dict[str, dict[str, dict[str, list[int | None]]]] = {name: {} for name in sorted(broker.consumers.groups)}
    for key, queues in sorted(broker.consumer_offsets.table.items()):
        groups.setdefault(key.group, {})[key.topic] = {
            str(number): [
                offset,
                None if offset >= store.max_offset(key.topic, number) else store.store_time(key.topic, number, offset),
            ]
            for number, offset in queues.items()
        }
    locking = sorted(group for group, locks in broker.locks.table.items() if locks)
    settings = {name: config.to_json() for name, config in sorted(broker.subscription_groups.table.items())}
    return LastKnown(at_ms, state, topics, groups, locking, settings, broker.delay.to_json()["offsetTable"])
