"""Queue selectors: an application's own choice of the queue of a message."""

from collections.abc import Callable, Sequence

from sandbox.kernel.errors import ClientError
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.message.string_hash import java_hash

QueueSelector = Callable[[Sequence[MessageQueue], Message], MessageQueue]
"""Picks one of the topic's queues; any function of the queues and the message will do.

Such a send is tried once: another queue would break the order.  (An asynchronous one is repeated, at the same queue.)
"""


def chosen_by(selector: QueueSelector, queues: Sequence[MessageQueue], message: Message) -> MessageQueue:
    """Return the queue the selector picks.  Raises ClientError when it fails, which concerns the application only."""
    try:
        return selector(queues, message)
    except Exception as error:
        raise ClientError(f"select message queue threw exception: {error}") from error


def by_hash(argument: str) -> QueueSelector:
    """One key, one queue, as long as the number of queues stays.  RocketMQ: `SelectMessageQueueByHash`."""
    index = abs(java_hash(argument))
    return lambda queues, _message: queues[index % len(queues)]


def by_key(queues: Sequence[MessageQueue], message: Message) -> MessageQueue:
    """`by_hash` of the message's own keys."""
    return by_hash(message.keys)(queues, message)


def by_id(queue_id: int) -> QueueSelector:
    """The queue at that place of the list, counted over all brokers; too high a number wraps around."""
    return lambda queues, _message: queues[queue_id % len(queues)]
