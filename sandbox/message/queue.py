"""Identity of a queue."""

from typing import NamedTuple


class MessageQueue(NamedTuple):
    """One queue of one topic on one broker; sorts as clients sort: topic, broker name, queue id.

    RocketMQ: `MessageQueue`.  Queue ids start at 0 again on every broker.
    """

    topic: str
    broker: str
    queue_id: int

    @property
    def key(self) -> str:
        """`orders/broker-a/3`: how events and addresses name a queue."""
        return f"{self.topic}/{self.broker}/{self.queue_id}"

    @classmethod
    def from_key(cls, key: str) -> "MessageQueue":
        topic, broker, queue_id = key.split("/")
        return cls(topic, broker, int(queue_id))

    @property
    def row(self) -> str:
        """`broker-a:3`: how boards and page addresses name a queue of a known topic."""
        return f"{self.broker}:{self.queue_id}"
