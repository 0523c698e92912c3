"""What the sandbox's listeners do with a message: take their time, sometimes refuse."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sandbox.client.config import RETRY_PREFIX
from sandbox.client.listeners import ConsumeConcurrentlyContext, ConsumeOrderlyContext
from sandbox.client.results import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from sandbox.cluster.actors.group_stats import GroupStats
from sandbox.cluster.actors.redelivery import Hold
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import Clock
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue

BY_ORDER = 0  # the thread of what an administrator asked for: no delivery of the queue's, and not counted as one
REJECT = "reject "  # a handler's label: `reject <key>` never accepts that key


class Working(NamedTuple):
    """What a thread is busy with."""

    thread: int
    offset: int
    key: str


@dataclass
class Slow:
    """What takes its own time: messages with `key`, or the one message that comes next in `queue` (broker-a:3).

    The one message is known by its unique key once it has come (`met`), so it is slow again when it is delivered again.
    """

    key: str
    ms: int
    queue: str = ""
    unique_key: str = ""
    met: bool = False

    def is_met(self, message: Message, mq: MessageQueue) -> bool:
        """Whether the message is slow; notes that it has come."""
        if not self.queue:
            found = message.keys == self.key
        elif self.met:
            found = message.unique_key == self.unique_key
        else:
            found = f"{mq.broker}:{mq.queue_id}" == self.queue and not mq.topic.startswith(RETRY_PREFIX)
            if found:
                self.key, self.unique_key = message.keys, message.unique_key or ""
        self.met = self.met or found
        return found


class Work:
    """One member's listener.  All fields may change while it runs; the next message notices.

    `work_ms`: from and to, drawn evenly.  `slow`: what takes its own time.  `handler`: a label for the
    journal; `reject <key>` refuses that key for ever, any other label only names what the listener does.  `hold`
    says of a queue since when its member has it.
    """

    def __init__(self, clock: Clock, chance: Chance, stats: GroupStats, *, work_ms: Sequence[int],
                 fail_percent: float, hold: Callable[[MessageQueue], Hold], account: str = "") -> None:
        self._clock = clock
        self._chance = chance
        self._stats = stats
        self._hold = hold
        self._account = account  # a broadcasting member's own, else the group's
        self.work_ms = spread(work_ms)
        self.fail_percent = fail_percent
        self.slow: Slow | None = None
        self.handler = "work"
        self.working: dict[MessageQueue, Working] = {}  # in order only: one per queue

    async def concurrently(self, messages: list[Message],
                           context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
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

    async def _accepts(self, messages: list[Message],
                       context: ConsumeConcurrentlyContext | ConsumeOrderlyContext) -> bool:
        if context.thread != BY_ORDER:
            hold = self._hold(context.queue)
            for message in messages:
                self._stats.delivered(context.queue, message, self._account, hold)
        await self._clock.sleep(sum(self._takes_ms(message, context.queue) for message in messages) / 1000)
        if self.fail_percent and self._chance.random() * 100 < self.fail_percent:
            return False
        if self.handler.startswith(REJECT) and any(m.keys == self.handler[len(REJECT):] for m in messages):
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
    """From and to, in order; one number stands for both.

    >>> spread((300,))
    (300, 300)
    """
    return (min(work_ms), max(work_ms)) if work_ms else (0, 0)
