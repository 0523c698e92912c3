"""Consuming in order: one batch of a queue at a time, under the broker's lock."""

import logging
from functools import partial
from typing import TYPE_CHECKING

from sandbox.client.config import MessageModel
from sandbox.client.consumption import Batch, Threads, begin_batch, end_batch, hear
from sandbox.client.listeners import ConsumeOrderlyContext, OrderlyListener
from sandbox.client.process_queue import ProcessQueue
from sandbox.client.results import ConsumeOrderlyStatus
from sandbox.client.send_back import send_to_retry_topic
from sandbox.client.tasks import Periodic
from sandbox.message.message import Message

if TYPE_CHECKING:
    from sandbox.client.push_consumer import PushConsumer

log = logging.getLogger(__name__)

FIRST_LOCK_ROUND_MS = 1_000
LOCK_AGAIN_AT_START_S = 0.1
LOCK_AGAIN_IN_LOOP_S = 0.01
GO_ON_LOCKED_MS = 10
GO_ON_NOT_LOCKED_MS = 3_000
LONGEST_RUN_MS = 60_000
GO_ON_AFTER_LONG_RUN_MS = 10
SUSPEND_RANGE_MS = (10, 30_000)

SUCCESS = ConsumeOrderlyStatus.SUCCESS
SUSPEND = ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT


class ConsumeMessageOrderlyService:
    """Takes the oldest messages of a queue, waits for the listener, takes the next.  RocketMQ: same name (spec 8.2).

    A failure blocks its queue until it succeeds: that is the price of order.
    """

    def __init__(self, consumer: "PushConsumer", listener: OrderlyListener) -> None:
        self._consumer = consumer
        self._listener = listener
        self.threads = Threads(consumer.config.threads, f"{consumer.client_id} consume {consumer.group}")
        self.lock_round: Periodic | None = None
        self._running: set[ProcessQueue] = set()
        self.suspended_until_ms: dict[ProcessQueue, int] = {}

    def start(self) -> None:
        if not self._clustering:
            return
        consumer = self._consumer
        self.lock_round = Periodic(
            consumer.clock, first_ms=FIRST_LOCK_ROUND_MS, period_ms=consumer.instance.config.lock_renew_ms,
            job=consumer.locks.lock_all,
        )  # fmt: skip
        consumer.tasks.spawn(self.lock_round.run(), "renew locks")

    def submit(self, messages: list[Message], pq: ProcessQueue, *, wake: bool) -> None:
        if wake:
            self.threads.submit(partial(self._consume, pq))

    async def shutdown(self) -> None:
        """Let running listeners finish for the configured time, interrupt them, then give all locks back."""
        await self._consumer.let_finish(self.threads)
        await self.threads.close()
        if self._clustering:
            await self._consumer.locks.unlock_all()

    def stop(self) -> None:
        self.threads.cancel()
        self._consumer.locks.close()

    @property
    def _clustering(self) -> bool:
        return self._consumer.config.model is MessageModel.CLUSTERING

    async def _consume(self, pq: ProcessQueue, thread: int) -> None:
        """One run over a queue; a second one that comes meanwhile finds its work being done."""
        if pq.dropped or pq in self._running:
            return
        if self._clustering and not self._consumer.locks.trusts(pq):
            self._lock_again(pq, LOCK_AGAIN_AT_START_S)
            return
        self._running.add(pq)
        self.suspended_until_ms.pop(pq, None)
        try:
            await self._run(pq, thread)
        finally:
            self._running.discard(pq)

    async def _run(self, pq: ProcessQueue, thread: int) -> None:
        consumer = self._consumer
        began_ms = consumer.clock.now_ms()
        while not pq.dropped:
            if self._clustering and not consumer.locks.trusts(pq):
                self._lock_again(pq, LOCK_AGAIN_IN_LOOP_S)
                return
            if consumer.clock.now_ms() - began_ms > LONGEST_RUN_MS:
                self._go_on_later(pq, GO_ON_AFTER_LONG_RUN_MS)
                return
            messages = pq.take(consumer.config.consume_batch)
            if not messages or not await self._one_batch(messages, pq, thread):
                return

    async def _one_batch(self, messages: list[Message], pq: ProcessQueue, thread: int) -> bool:
        """True when the run may go on with the next batch."""
        consumer = self._consumer
        context = ConsumeOrderlyContext(pq.mq, thread)
        batch = begin_batch(consumer, messages, pq, thread)
        status = await hear(consumer, partial(self._listener, messages, context), batch)
        end_batch(consumer, batch, self._outcome(batch, status))
        return await self._settle(batch, context, status or SUSPEND)

    def _outcome(self, batch: Batch, status: ConsumeOrderlyStatus | None) -> str:
        if status is None:
            return "FAILED"
        if self._consumer.clock.now_ms() - batch.started_ms >= self._consumer.config.consume_timeout_ms:
            return "TIMEOUT"
        return "SUCCESS" if status in (SUCCESS, ConsumeOrderlyStatus.COMMIT) else "LATER"

    async def _settle(self, batch: Batch, context: ConsumeOrderlyContext, status: ConsumeOrderlyStatus) -> bool:
        """What the answer means for the taken messages; True when the run may go on."""
        pq = batch.pq
        commit = False
        if status is SUSPEND:
            if await self._must_suspend(batch.messages):
                pq.again(batch.messages)
                self._go_on_later(pq, context.suspend_ms)
                return False
            commit = context.auto_commit
        elif context.auto_commit:
            commit = True  # COMMIT and ROLLBACK are for those who commit themselves; here both commit
        elif status is ConsumeOrderlyStatus.ROLLBACK:
            pq.rollback()
            self._go_on_later(pq, context.suspend_ms)
            return False
        elif status is ConsumeOrderlyStatus.COMMIT:
            commit = True
        if commit and (offset := pq.commit()) >= 0 and not pq.dropped:
            self._consumer.offset_store.update_offset(pq.mq, offset, increase_only=False)
        return True

    async def _must_suspend(self, messages: list[Message]) -> bool:
        """Count one more try; those that had their last go to the retry topic, where the broker buries them."""
        suspend = False
        for message in messages:
            exhausted = message.reconsume_times >= self._consumer.config.most_reconsume_times
            if exhausted and await send_to_retry_topic(self._consumer, message):
                continue
            message.reconsume_times += 1
            suspend = True
        return suspend

    def _lock_again(self, pq: ProcessQueue, delay_s: float) -> None:
        self._consumer.tasks.spawn(self._lock_story(pq, delay_s), f"lock {pq.mq.key} again")

    async def _lock_story(self, pq: ProcessQueue, delay_s: float) -> None:
        await self._consumer.clock.sleep(delay_s)
        locked = await self._consumer.locks.lock(pq.mq)
        self._go_on_later(pq, GO_ON_LOCKED_MS if locked else GO_ON_NOT_LOCKED_MS)

    def _go_on_later(self, pq: ProcessQueue, suspend_ms: int) -> None:
        """Run over the queue again after a while; −1 takes the consumer's setting."""
        low, high = SUSPEND_RANGE_MS
        wait_ms = min(max(self._consumer.config.suspend_ms if suspend_ms == -1 else suspend_ms, low), high)
        self.suspended_until_ms[pq] = self._consumer.clock.now_ms() + wait_ms
        self._consumer.clock.call_later(wait_ms / 1000, lambda: self.submit([], pq, wake=True))
