"""The identity of a queue."""

from typing import NamedTuple


class MessageQueue(NamedTuple):
    """One queue of one topic on one broker; sorted as clients sort: topic, broker name, queue id.

    RocketMQ: `MessageQueue`.  Queue ids start at 0 again on every broker.
    """

    topic: str
    broker: str
    queue_id: int

    @property
    def key(self) -> str:
        """`orders/broker-a/3`, the name of the queue in events and addresses."""
        return f"{self.topic}/{self.broker}/{self.queue_id}"

    @classmethod
    def from_key(cls, key: str) -> "MessageQueue":
        topic, broker, queue_id = key.split("/")
        return cls(topic, broker, int(queue_id))

    @property
    def row(self) -> str:
        """`broker-a:3`, the name of the queue of a known topic on boards and in page addresses."""
        return f"{self.broker}:{self.queue_id}"
