"""Consuming in any order, many at once."""

import logging
from functools import partial
from typing import TYPE_CHECKING

from sandbox.client.config import MessageModel
from sandbox.client.consumption import Batch, Threads, begin_batch, end_batch, hear
from sandbox.client.listeners import ConcurrentListener, ConsumeConcurrentlyContext
from sandbox.client.process_queue import ProcessQueue, offset_of
from sandbox.client.results import ConsumeConcurrentlyStatus
from sandbox.client.send_back import FIRST_RETRY_LEVEL, send_back
from sandbox.client.tasks import Periodic
from sandbox.journal.events import MessageRetried
from sandbox.message import properties
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue

if TYPE_CHECKING:
    from sandbox.client.push_consumer import PushConsumer

log = logging.getLogger(__name__)

LOCAL_RETRY_S = 5.0
CLEAN_AT_MOST = 16  # messages per queue and round


class ConsumeMessageConcurrentlyService:
    """Hands batches to the listener and looks after those that failed.  RocketMQ: same name (spec 8.1).

    A failed message is sent back to the broker and then counts as finished here, so the offset moves on.
    """

    def __init__(self, consumer: "PushConsumer", listener: ConcurrentListener) -> None:
        self._consumer = consumer
        self._listener = listener
        self.threads = Threads(consumer.config.threads, f"{consumer.client_id} consume {consumer.group}")
        self.clean_round: Periodic | None = None

    def start(self) -> None:
        period_ms = self._consumer.config.consume_timeout_ms
        self.clean_round = Periodic(
            self._consumer.clock, first_ms=period_ms, period_ms=period_ms, job=self._clean_expired
        )
        self._consumer.tasks.spawn(self.clean_round.run(), "clean expired messages")

    def submit(self, messages: list[Message], pq: ProcessQueue, *, wake: bool) -> None:
        size = self._consumer.config.consume_batch
        for at in range(0, len(messages), size):
            batch = messages[at : at + size]
            self.threads.submit(partial(self._consume, batch, pq))

    async def shutdown(self) -> None:
        """Let running listeners finish for the configured time, then interrupt them."""
        await self._consumer.let_finish(self.threads)
        await self.threads.close()

    def stop(self) -> None:
        self.threads.cancel()

    async def _consume(self, messages: list[Message], pq: ProcessQueue, thread: int) -> None:
        if pq.dropped:
            return
        consumer = self._consumer
        context = ConsumeConcurrentlyContext(pq.mq, thread)
        batch = begin_batch(consumer, messages, pq, thread)
        status = await hear(consumer, partial(self._listener, messages, context), batch)
        end_batch(consumer, batch, self._outcome(batch, status))
        if not pq.dropped:
            await self._settle(batch, context, status)

    def _outcome(self, batch: Batch, status: ConsumeConcurrentlyStatus | None) -> str:
        if status is None:
            return "FAILED"
        if self._consumer.clock.now_ms() - batch.started_ms >= self._consumer.config.consume_timeout_ms:
            return "TIMEOUT"
        return "SUCCESS" if status is ConsumeConcurrentlyStatus.CONSUME_SUCCESS else "LATER"

    async def _settle(
        self, batch: Batch, context: ConsumeConcurrentlyContext, status: ConsumeConcurrentlyStatus | None
    ) -> None:
        """Send failed messages back, forget the finished ones, note the offset."""
        consumer, pq, finished = self._consumer, batch.pq, batch.messages
        succeeded = status is ConsumeConcurrentlyStatus.CONSUME_SUCCESS
        last_good = min(context.ack_index, len(finished) - 1) if succeeded else -1
        failed = finished[last_good + 1 :]
        if consumer.config.model is MessageModel.BROADCASTING:
            for message in failed:
                log.warning("broadcasting drops the failed message %s", message.unique_key)
        elif failed:
            kept = [m for m in failed if not await send_back(consumer, m, context.delay_level_when_next_consume)]
            if kept:
                self._again_here(kept, pq)
                finished = [message for message in finished if message not in kept]
        offset = pq.remove(finished)
        if offset >= 0 and not pq.dropped:
            consumer.offset_store.update_offset(pq.mq, offset, increase_only=True)

    def _again_here(self, messages: list[Message], pq: ProcessQueue) -> None:
        """Nobody took them back: they stay cached and are consumed again after 5 s."""
        consumer = self._consumer
        for message in messages:
            message.reconsume_times += 1
            if consumer.journal.tracing:
                consumer.journal.write(_retried_here(consumer.group, pq.mq, message))
        consumer.clock.call_later(LOCAL_RETRY_S, lambda: self.submit(messages, pq, wake=False))

    async def _clean_expired(self) -> None:
        """Messages somebody has worked on for 15 minutes are sent back: their listener may never return."""
        for _, pq in sorted(self._consumer.process_queues.items(), key=lambda item: item[0]):
            for _ in range(CLEAN_AT_MOST):
                first = pq.first()
                if first is None or not self._is_expired(first):
                    break
                if not await send_back(self._consumer, first, FIRST_RETRY_LEVEL):
                    break
                if pq.first() is first:
                    pq.remove([first])

    def _is_expired(self, message: Message) -> bool:
        started = message.properties.get(properties.CONSUME_START_TIME)
        if started is None:
            return False
        return self._consumer.clock.now_ms() - int(started) > self._consumer.config.consume_timeout_ms


def _retried_here(group: str, mq: MessageQueue, message: Message) -> MessageRetried:
    return MessageRetried(
        group=group, topic=mq.topic, broker=mq.broker, queue_id=mq.queue_id, offset=offset_of(message),
        delay_level=0, reconsume_times=message.reconsume_times, why="result", target="local",
    )  # fmt: skip
