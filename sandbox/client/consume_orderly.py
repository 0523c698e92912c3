"""Orderly consumption: one batch of a queue at a time, under the broker's lock."""

import logging
from functools import partial

from sandbox.client.config import MessageModel, PushConsumerConfig
from sandbox.client.consumption import ListenerCalls
from sandbox.client.instance import ClientInstance
from sandbox.client.listeners import ConsumeOrderlyContext, OrderlyListener
from sandbox.client.owned_queues import OwnedQueues
from sandbox.client.process_queue import ProcessQueue
from sandbox.client.results import ConsumeOrderlyStatus
from sandbox.client.send_back import SendBack
from sandbox.client.tasks import Periodic, Tasks
from sandbox.message.message import Message

log = logging.getLogger(__name__)

FIRST_LOCK_ROUND_MS = 1_000
LOCK_AGAIN_AT_START_S = 0.1
LOCK_AGAIN_IN_LOOP_S = 0.01
GO_ON_LOCKED_MS = 10
GO_ON_NOT_LOCKED_MS = 3_000
LONGEST_RUN_MS = 60_000
GO_ON_AFTER_LONG_RUN_MS = 10
SUSPEND_RANGE_MS = (10, 30_000)

SUCCESSES = (ConsumeOrderlyStatus.SUCCESS, ConsumeOrderlyStatus.COMMIT)
SUSPEND = ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT


class ConsumeMessageOrderlyService:
    """Service that passes the messages of each queue to an orderly listener, one batch after the other.

    RocketMQ: same name (spec client-behaviour 8.2).  A failed batch blocks its queue until the listener succeeds,
    because the order must hold.
    """

    def __init__(
        self,
        config: PushConsumerConfig,
        instance: ClientInstance,
        tasks: Tasks,
        queues: OwnedQueues,
        calls: ListenerCalls,
        listener: OrderlyListener,
    ) -> None:
        self._config = config
        self._clustering = config.model is MessageModel.CLUSTERING
        self._clock = instance.clock
        self._lock_renew_ms = instance.config.lock_renew_ms
        self._tasks = tasks
        self._offset_store = queues.offset_store
        self._locks = queues.locks
        self._calls = calls
        self._listener = listener
        self._send_back = SendBack(config.group, instance, config.most_reconsume_times)
        self.threads = calls.threads
        self.lock_round: Periodic | None = None
        self._running: set[ProcessQueue] = set()
        self.suspended_until_ms: dict[ProcessQueue, int] = {}

    def start(self) -> None:
        if not self._clustering:
            return
        self.lock_round = Periodic(
            self._clock, first_ms=FIRST_LOCK_ROUND_MS, period_ms=self._lock_renew_ms, job=self._locks.lock_all
        )
        self._tasks.spawn(self.lock_round.run(), "renew locks")

    def submit(self, messages: list[Message], pq: ProcessQueue, *, wake: bool) -> None:
        if wake:
            self.threads.submit(partial(self._consume, pq))

    async def shutdown(self) -> None:
        """Let running listeners finish for the configured time, interrupt the rest, then release all locks."""
        await self._calls.close()
        if self._clustering:
            await self._locks.unlock_all()

    def stop(self) -> None:
        self.threads.cancel()
        self._locks.close()

    async def _consume(self, pq: ProcessQueue, thread: int) -> None:
        """Consume the cached messages of a queue.  Do nothing if another run of this queue is active."""
        if pq.dropped or pq in self._running:
            return
        if self._clustering and not self._locks.trusts(pq):
            self._lock_again(pq, LOCK_AGAIN_AT_START_S)
            return
        self._running.add(pq)
        self.suspended_until_ms.pop(pq, None)
        try:
            await self._run(pq, thread)
        finally:
            self._running.discard(pq)

    async def _run(self, pq: ProcessQueue, thread: int) -> None:
        began_ms = self._clock.now_ms()
        while not pq.dropped:
            if self._clustering and not self._locks.trusts(pq):
                self._lock_again(pq, LOCK_AGAIN_IN_LOOP_S)
                return
            if self._clock.now_ms() - began_ms > LONGEST_RUN_MS:
                self._go_on_later(pq, GO_ON_AFTER_LONG_RUN_MS)
                return
            messages = pq.take(self._config.consume_batch)
            if not messages or not await self._one_batch(messages, pq, thread):
                return

    async def _one_batch(self, messages: list[Message], pq: ProcessQueue, thread: int) -> bool:
        """Pass one batch to the listener; return True if the run may continue with the next batch."""
        context = ConsumeOrderlyContext(pq.mq, thread)
        status = await self._calls.call(partial(self._listener, messages, context), messages, pq, thread, SUCCESSES)
        return await self._settle(messages, pq, context, status or SUSPEND)

    async def _settle(
        self, messages: list[Message], pq: ProcessQueue, context: ConsumeOrderlyContext, status: ConsumeOrderlyStatus
    ) -> bool:
        """Apply the listener's status to the batch; return True if the run may continue."""
        commit = False
        if status is SUSPEND:
            if await self._must_suspend(messages):
                pq.again(messages)
                self._go_on_later(pq, context.suspend_ms)
                return False
            commit = context.auto_commit
        elif context.auto_commit:
            commit = True  # with automatic commit, COMMIT and ROLLBACK both commit
        elif status is ConsumeOrderlyStatus.ROLLBACK:
            pq.rollback()
            self._go_on_later(pq, context.suspend_ms)
            return False
        elif status is ConsumeOrderlyStatus.COMMIT:
            commit = True
        if commit and (offset := pq.commit()) >= 0 and not pq.dropped:
            self._offset_store.update_offset(pq.mq, offset, increase_only=False)
        return True

    async def _must_suspend(self, messages: list[Message]) -> bool:
        """Count one more attempt per message; return True if the queue must pause and retry the batch.

        A message that has used all its attempts is sent to the retry topic, where the broker moves it to the
        dead-letter queue.
        """
        suspend = False
        for message in messages:
            exhausted = message.reconsume_times >= self._config.most_reconsume_times
            if exhausted and await self._send_back.send_to_retry_topic(message):
                continue
            message.reconsume_times += 1
            suspend = True
        return suspend

    def _lock_again(self, pq: ProcessQueue, delay_s: float) -> None:
        self._tasks.spawn(self._lock_after(pq, delay_s), f"lock {pq.mq.key} again")

    async def _lock_after(self, pq: ProcessQueue, delay_s: float) -> None:
        await self._clock.sleep(delay_s)
        locked = await self._locks.lock(pq.mq)
        self._go_on_later(pq, GO_ON_LOCKED_MS if locked else GO_ON_NOT_LOCKED_MS)

    def _go_on_later(self, pq: ProcessQueue, suspend_ms: int) -> None:
        """Run over the queue again after `suspend_ms`; −1 means the consumer's setting."""
        low, high = SUSPEND_RANGE_MS
        wait_ms = min(max(self._config.suspend_ms if suspend_ms == -1 else suspend_ms, low), high)
        self.suspended_until_ms[pq] = self._clock.now_ms() + wait_ms
        self._clock.call_later(wait_ms / 1000, lambda: self.submit([], pq, wake=True))
