"""State of each queue that a lite pull consumer reads, and the messages fetched but not yet returned by `poll`."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from sandbox.client.process_queue import ProcessQueue
from sandbox.kernel.clock import Clock
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue

LEAST_WAIT_S = 0.001  # Java counts milliseconds; a shorter wait may not advance a floating-point clock


class AssignedQueue:
    """State of one assigned queue.  RocketMQ: `AssignedMessageQueue.MessageQueueState`.

    Offsets are None while unknown.  `pull_offset`: start of the next pull; `consume_offset`: the offset a commit
    would store; `seek_offset`: the offset that the application seeks.
    """

    def __init__(self, mq: MessageQueue, pq: ProcessQueue) -> None:
        self.mq = mq
        self.pq = pq
        self.paused = False
        self.pull_offset: int | None = None
        self.consume_offset: int | None = None
        self.seek_offset: int | None = None


class AssignedQueues:
    """State of all assigned queues of one consumer.  RocketMQ: `AssignedMessageQueue`."""

    def __init__(self) -> None:
        self._table: dict[MessageQueue, AssignedQueue] = {}

    def __contains__(self, mq: MessageQueue) -> bool:
        return mq in self._table

    def get(self, mq: MessageQueue) -> AssignedQueue | None:
        return self._table.get(mq)

    def queues(self) -> list[MessageQueue]:
        return sorted(self._table)

    def states(self) -> list[AssignedQueue]:
        return [self._table[mq] for mq in sorted(self._table)]

    def update(
        self,
        queues: Iterable[MessageQueue],
        queue_of: Callable[[MessageQueue], ProcessQueue],
        *,
        topic: str | None = None,
    ) -> None:
        """Replace the assigned queues, of one topic or of all.

        Queues that stay keep their state; the others are dropped.
        """
        assigned = sorted(queues)
        for mq in [mq for mq in self._table if topic in (None, mq.topic) and mq not in assigned]:
            self._table.pop(mq).pq.dropped = True
        for mq in assigned:
            if mq not in self._table:
                self._table[mq] = AssignedQueue(mq, queue_of(mq))

    def forget(self, topic: str) -> None:
        """Remove the queues of a topic that is no longer subscribed."""
        for mq in [mq for mq in self._table if mq.topic == topic]:
            del self._table[mq]


class Fetched(NamedTuple):
    """One pulled batch that waits for a `poll`.  RocketMQ: `ConsumeRequest`."""

    messages: list[Message]
    pq: ProcessQueue


class FetchedBatches:
    """Pulled batches of all queues, in the order of their pulls."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: deque[Fetched] = deque()
        self._pollers: list[asyncio.Future[None]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, batch: Fetched) -> None:
        self._waiting.append(batch)
        for poller in self._pollers:
            _wake(poller)

    def remove(self, mq: MessageQueue) -> None:
        """Remove the batches of a queue, because the application seeks another offset in it."""
        self._waiting = deque(batch for batch in self._waiting if batch.pq.mq != mq)

    async def take(self, timeout_s: float) -> Fetched | None:
        """Return the oldest batch whose queue this consumer still owns; None if none arrives within `timeout_s`."""
        ends_s = self._clock.monotonic() + timeout_s
        while True:
            while self._waiting:
                batch = self._waiting.popleft()
                if not batch.pq.dropped:
                    return batch
            left_s = ends_s - self._clock.monotonic()
            if left_s < LEAST_WAIT_S:
                return None
            poller: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._pollers.append(poller)
            timer = self._clock.call_later(left_s, partial(_wake, poller))
            try:
                await poller
            finally:
                timer.cancel()
                self._pollers.remove(poller)


def _wake(poller: "asyncio.Future[None]") -> None:
    if not poller.done():
        poller.set_result(None)
