"""Concurrent consumption: many batches at once, in any order."""

import logging
from functools import partial

from sandbox.client.config import MessageModel, PushConsumerConfig
from sandbox.client.consumption import ListenerCalls
from sandbox.client.instance import ClientInstance
from sandbox.client.listeners import ConcurrentListener, ConsumeConcurrentlyContext
from sandbox.client.owned_queues import OwnedQueues
from sandbox.client.process_queue import ProcessQueue, offset_of
from sandbox.client.results import ConsumeConcurrentlyStatus
from sandbox.client.send_back import FIRST_RETRY_LEVEL, SendBack
from sandbox.client.tasks import Periodic, Tasks
from sandbox.journal.events import MessageRetried
from sandbox.message import properties
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue

log = logging.getLogger(__name__)

LOCAL_RETRY_S = 5.0
SUCCESSES = (ConsumeConcurrentlyStatus.CONSUME_SUCCESS,)
CLEAN_AT_MOST = 16  # messages per queue and round


class ConsumeMessageConcurrentlyService:
    """Service that passes batches to a concurrent listener and handles failed messages.

    RocketMQ: same name (spec client-behaviour 8.1).  A failed message is sent back to the broker and then counts as
    finished here, so the offset advances.
    """

    def __init__(
        self,
        config: PushConsumerConfig,
        instance: ClientInstance,
        tasks: Tasks,
        queues: OwnedQueues,
        calls: ListenerCalls,
        listener: ConcurrentListener,
    ) -> None:
        self._config = config
        self._clock = instance.clock
        self._journal = instance.journal
        self._tasks = tasks
        self._queues = queues
        self._calls = calls
        self._listener = listener
        self._send_back = SendBack(config.group, instance, config.most_reconsume_times)
        self.threads = calls.threads
        self.clean_round: Periodic | None = None

    def start(self) -> None:
        period_ms = self._config.consume_timeout_ms
        self.clean_round = Periodic(self._clock, first_ms=period_ms, period_ms=period_ms, job=self._clean_expired)
        self._tasks.spawn(self.clean_round.run(), "clean expired messages")

    def submit(self, messages: list[Message], pq: ProcessQueue, *, wake: bool) -> None:
        size = self._config.consume_batch
        for at in range(0, len(messages), size):
            batch = messages[at : at + size]
            self.threads.submit(partial(self._consume, batch, pq))

    async def shutdown(self) -> None:
        """Let running listeners finish for the configured time, then interrupt them."""
        await self._calls.close()

    def stop(self) -> None:
        self.threads.cancel()

    async def _consume(self, messages: list[Message], pq: ProcessQueue, thread: int) -> None:
        if pq.dropped:
            return
        context = ConsumeConcurrentlyContext(pq.mq, thread)
        status = await self._calls.call(partial(self._listener, messages, context), messages, pq, thread, SUCCESSES)
        if not pq.dropped:
            await self._settle(messages, pq, context, status)

    async def _settle(
        self,
        finished: list[Message],
        pq: ProcessQueue,
        context: ConsumeConcurrentlyContext,
        status: ConsumeConcurrentlyStatus | None,
    ) -> None:
        """Send failed messages back, remove the finished ones from the cache and note the new offset."""
        succeeded = status is ConsumeConcurrentlyStatus.CONSUME_SUCCESS
        last_good = min(context.ack_index, len(finished) - 1) if succeeded else -1
        failed = finished[last_good + 1 :]
        if self._config.model is MessageModel.BROADCASTING:
            for message in failed:
                log.warning("broadcasting drops the failed message %s", message.unique_key)
        elif failed:
            send_back = self._send_back.send_back
            kept = [m for m in failed if not await send_back(m, context.delay_level_when_next_consume)]
            if kept:
                self._again_here(kept, pq)
                finished = [message for message in finished if message not in kept]
        offset = pq.remove(finished)
        if offset >= 0 and not pq.dropped:
            self._queues.offset_store.update_offset(pq.mq, offset, increase_only=True)

    def _again_here(self, messages: list[Message], pq: ProcessQueue) -> None:
        """Keep messages that no broker accepted back in the cache and consume them again after 5 s."""
        for message in messages:
            message.reconsume_times += 1
            if self._journal.tracing:
                self._journal.write(_retried_here(self._config.group, pq.mq, message))
        self._clock.call_later(LOCAL_RETRY_S, lambda: self.submit(messages, pq, wake=False))

    async def _clean_expired(self) -> None:
        """Send messages back that a listener has processed for 15 minutes, because it may never return."""
        for _, pq in self._queues.items():
            for _ in range(CLEAN_AT_MOST):
                first = pq.first()
                if first is None or not self._is_expired(first):
                    break
                if not await self._send_back.send_back(first, FIRST_RETRY_LEVEL):
                    break
                if pq.first() is first:
                    pq.remove([first])

    def _is_expired(self, message: Message) -> bool:
        started = message.properties.get(properties.CONSUME_START_TIME)
        if started is None:
            return False
        return self._clock.now_ms() - int(started) > self._config.consume_timeout_ms


def _retried_here(group: str, mq: MessageQueue, message: Message) -> MessageRetried:
    return MessageRetried(
        group=group,
        topic=mq.topic,
        broker=mq.broker,
        queue_id=mq.queue_id,
        offset=offset_of(message),
        delay_level=0,
        reconsume_times=message.reconsume_times,
        why="result",
        target="local",
    )
