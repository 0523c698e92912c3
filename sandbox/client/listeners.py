"""Parameters and contexts of an application's message listeners."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from sandbox.client.results import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from sandbox.message.message import Message
from sandbox.message.namespaces import without_namespace
from sandbox.message.queue import MessageQueue


@dataclass(slots=True)
class ConsumeConcurrentlyContext:
    """Context of a concurrent listener's batch.  RocketMQ: same name.

    `ack_index`: index of the last message of the batch that counts as consumed.  `delay_level_when_next_consume`: −1
    sends failed messages to the dead-letter queue, 0 leaves the delay level to the broker, other values are the
    level.
    """

    queue: MessageQueue
    thread: int
    delay_level_when_next_consume: int = 0
    ack_index: int = 2**31 - 1


@dataclass(slots=True)
class ConsumeOrderlyContext:
    """Context of an orderly listener's batch.  `suspend_ms` −1 means the consumer's setting.  RocketMQ: same name."""

    queue: MessageQueue
    thread: int
    auto_commit: bool = True
    suspend_ms: int = -1


ConcurrentListener = Callable[[list[Message], ConsumeConcurrentlyContext], Awaitable[ConsumeConcurrentlyStatus | None]]
"""Any order, any number at once.  An exception or None counts as RECONSUME_LATER."""

OrderlyListener = Callable[[list[Message], ConsumeOrderlyContext], Awaitable[ConsumeOrderlyStatus | None]]
"""One batch of a queue at a time.  An exception or None suspends the queue a moment."""


def inside_namespace(namespace: str, listener: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Wrap a listener so that its messages have topics without the namespace.  RocketMQ: `resetRetryAndNamespace`."""

    async def heard(messages: list[Message], context: object) -> Any:
        return await listener(
            [replace(each, topic=without_namespace(namespace, each.topic)) for each in messages], context
        )

    return heard
