"""Message listener of an in-process consumer, with configurable processing time and failures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sandbox.client.config import RETRY_PREFIX
from sandbox.client.listeners import ConsumeConcurrentlyContext, ConsumeOrderlyContext
from sandbox.client.results import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from sandbox.cluster.actors.group_stats import GroupStats
from sandbox.cluster.actors.redelivery import Ownership
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import Clock
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue

BY_ORDER = 0  # thread number for messages an administrator has consumed; not counted as deliveries
REJECT = "reject "  # a handler's label: `reject <key>` never accepts that key


class Working(NamedTuple):
    """Message that a thread processes now."""

    thread: int
    offset: int
    key: str


@dataclass
class Slow:
    """Special processing time: for messages with `key`, or for the next message in `queue` (such as broker-a:3).

    In the second case, `unique_key` identifies that message once it was received (`met`), so a redelivery is slow
    again.
    """

    key: str
    ms: int
    queue: str = ""
    unique_key: str = ""
    met: bool = False

    def is_met(self, message: Message, mq: MessageQueue) -> bool:
        """Return True if the message is slow; record that it was received."""
        if not self.queue:
            matches = message.keys == self.key
        elif self.met:
            matches = message.unique_key == self.unique_key
        else:
            matches = f"{mq.broker}:{mq.queue_id}" == self.queue and not mq.topic.startswith(RETRY_PREFIX)
            if matches:
                self.key, self.unique_key = message.keys, message.unique_key or ""
        self.met = self.met or matches
        return matches


class ActorListener:
    """Listener of one in-process consumer.  All fields may change while it runs; they apply from the next message.

    `work_ms`: minimum and maximum processing time, drawn uniformly.  `slow`: exceptions from it.  `handler`: a label
    for the journal; `reject <key>` always refuses that key, any other label is only a name.  `ownership` returns
    since when its member owns a queue.
    """

    def __init__(
        self,
        clock: Clock,
        chance: Chance,
        stats: GroupStats,
        *,
        work_ms: Sequence[int],
        fail_percent: float,
        ownership: Callable[[MessageQueue], Ownership],
        account: str = "",
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._stats = stats
        self._ownership = ownership
        self._account = account  # a broadcasting member's own, else the group's
        self.work_ms = spread(work_ms)
        self.fail_percent = fail_percent
        self.slow: Slow | None = None
        self.handler = "work"
        self.working: dict[MessageQueue, Working] = {}  # orderly only: one per queue

    async def concurrently(
        self, messages: list[Message], context: ConsumeConcurrentlyContext
    ) -> ConsumeConcurrentlyStatus:
        if await self._accepts(messages, context):
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS
        return ConsumeConcurrentlyStatus.RECONSUME_LATER

    async def orderly(self, messages: list[Message], context: ConsumeOrderlyContext) -> ConsumeOrderlyStatus:
        self.working[context.queue] = Working(context.thread, messages[0].queue_offset or 0, messages[0].keys)
        try:
            accepted = await self._accepts(messages, context)
        finally:
            self.working.pop(context.queue, None)
        if accepted:
            return ConsumeOrderlyStatus.SUCCESS
        return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT

    async def _accepts(
        self, messages: list[Message], context: ConsumeConcurrentlyContext | ConsumeOrderlyContext
    ) -> bool:
        if context.thread != BY_ORDER:
            ownership = self._ownership(context.queue)
            for message in messages:
                self._stats.delivered(context.queue, message, self._account, ownership)
        await self._clock.sleep(sum(self._takes_ms(message, context.queue) for message in messages) / 1000)
        if self.fail_percent and self._chance.random() * 100 < self.fail_percent:
            return False
        if self.handler.startswith(REJECT) and any(m.keys == self.handler[len(REJECT) :] for m in messages):
            return False
        for message in messages:
            self._stats.done(message)
        return True

    def _takes_ms(self, message: Message, mq: MessageQueue) -> float:
        if self.slow is not None and self.slow.is_met(message, mq):
            return self.slow.ms
        low, high = self.work_ms
        return self._chance.between(low, high)


def spread(work_ms: Sequence[int]) -> tuple[int, int]:
    """Return minimum and maximum in order; a single number is both.

    >>> spread((300,))
    (300, 300)
    """
    return (min(work_ms), max(work_ms)) if work_ms else (0, 0)
