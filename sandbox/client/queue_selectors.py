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
    """Return the queue that the selector chooses.  Raises ClientError if the application's selector fails."""
    try:
        return selector(queues, message)
    except Exception as error:
        raise ClientError(f"select message queue threw exception: {error}") from error


def by_hash(argument: str) -> QueueSelector:
    """Return a selector that maps equal arguments to the same queue while the number of queues stays.

    RocketMQ: `SelectMessageQueueByHash`.
    """
    index = abs(java_hash(argument))
    return lambda queues, _message: queues[index % len(queues)]


def by_key(queues: Sequence[MessageQueue], message: Message) -> MessageQueue:
    """Select a queue by hash of the message's keys."""
    return by_hash(message.keys)(queues, message)


def by_id(queue_id: int) -> QueueSelector:
    """Return a selector of the queue at index `queue_id` in the list of all brokers' queues, modulo its length."""
    return lambda queues, _message: queues[queue_id % len(queues)]
