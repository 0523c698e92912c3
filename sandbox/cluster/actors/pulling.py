"""Main loops of applications that use a pull consumer or a lite pull consumer."""

import logging
from collections.abc import Callable
from typing import Protocol

from sandbox.client.config import ConsumeFromWhere, MessageModel
from sandbox.client.consumption import INTERRUPTED, report_consumed
from sandbox.client.listeners import ConsumeConcurrentlyContext
from sandbox.client.lite_pull_consumer import LitePullConsumer
from sandbox.client.process_queue import ProcessQueue, offset_of
from sandbox.client.pull_consumer import PullConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus, PullStatus, ReadOffsetType
from sandbox.client.start_offset import compute_pull_from_where
from sandbox.cluster.actors.listener import ActorListener
from sandbox.control.actions import StartConsumer, Subscription
from sandbox.journal.events import QueueTaken
from sandbox.kernel.errors import ClientError, SandboxError
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue

log = logging.getLogger(__name__)

NOTHING_NEW_PAUSE_S = 1.0  # between two rounds of pulls that found nothing: this is the delay that pulling costs
PULL_AT_MOST = 32
THREAD = 1  # the only one there is


class Loop(Protocol):
    """Main loop of an application, using a started consumer."""

    busy: int

    async def run(self) -> None:
        """Run until the loop is cancelled or its consumer stops."""


class PullLoop:
    """Main loop that visits its assigned queues in turn: pull, consume, update the offset.

    RocketMQ: the example of a pull consumer.  The loop chooses its own start offset: that of the offset store, else
    by `from_where`.  A message that its listener refuses is sent back and returns through the retry topic, which is
    one of its topics.  `settings` returns the current settings: a changed expression applies from the next pull.
    """

    def __init__(
        self, consumer: PullConsumer, listener: ActorListener, settings: Callable[[], StartConsumer], timestamp_ms: int
    ) -> None:
        self.busy = 0
        self._consumer = consumer
        self._listener = listener
        self._settings = settings
        self._timestamp_ms = timestamp_ms
        self._clock = consumer.instance.clock
        self._begun: dict[MessageQueue, ProcessQueue] = {}
        for subscription in settings().subscriptions:
            consumer.register(subscription.topic)
        if consumer.model is MessageModel.CLUSTERING:
            consumer.register(self._retry_topic)

    @property
    def _retry_topic(self) -> str:
        return f"%RETRY%{self._consumer.group}"

    async def run(self) -> None:
        while self._consumer.state in ("running", "hung"):
            pulled = False
            for mq, pq in sorted(self._consumer.process_queues.items(), key=lambda item: item[0]):
                try:
                    pulled = await self._visit(mq, pq) or pulled
                except SandboxError as error:
                    log.info("pull of %s by hand failed: %s", mq.key, error)
            if not pulled:
                await self._clock.sleep(NOTHING_NEW_PAUSE_S)

    async def _visit(self, mq: MessageQueue, pq: ProcessQueue) -> bool:
        """Pull once from the queue and consume the messages; return True if there were any."""
        consumer = self._consumer
        if pq.dropped or not await self._has_begun(mq, pq):
            return False
        pq.last_pull_ms = self._clock.now_ms()
        subscription = self._wanted(mq.topic)
        result = await consumer.pull(
            mq,
            pq.next_offset,
            expression=subscription.expression,
            expression_type=subscription.kind,
            max_messages=PULL_AT_MOST,
        )
        if pq.dropped:
            return False
        if result.status is PullStatus.FOUND:
            pq.put(result.messages)
            for message in result.messages:
                if not await self._consume(mq, pq, message):
                    return False
        pq.next_offset = result.next_offset
        if consumer.offset_store.read_memory(mq) != result.next_offset:
            consumer.update_consume_offset(mq, result.next_offset)
        return bool(result.messages)

    async def _consume(self, mq: MessageQueue, pq: ProcessQueue, message: Message) -> bool:
        """Consume one message and update the offset; return False if it must be pulled again.

        That is so if the queue was lost, or the broker did not accept the refused message back.
        """
        self.busy = 1
        pq.begin([message], self._clock.now_ms())
        pq.last_consume_ms = self._clock.now_ms()
        try:
            accepted = await consume_one(self._consumer, self._listener, mq, pq, message)
            pq.end([message])
            if not accepted and not await self._consumer.send_message_back(message):
                pq.clear()
                return False
        finally:
            self.busy = 0
        if pq.dropped:
            return False
        pq.remove([message])
        self._consumer.update_consume_offset(mq, offset_of(message) + 1)
        pq.next_offset = offset_of(message) + 1
        return True

    async def _has_begun(self, mq: MessageQueue, pq: ProcessQueue) -> bool:
        """Choose the start offset of a newly assigned queue; return False if it is unknown at present."""
        if self._begun.get(mq) is pq:
            return True
        consumer, where = self._consumer, ConsumeFromWhere(self._settings().from_where)
        start = await compute_pull_from_where(
            mq,
            consumer.offset_store,
            consumer.instance,
            where=where,
            timestamp_ms=self._timestamp_ms,
            how=ReadOffsetType.MEMORY_FIRST_THEN_STORE,
        )
        if start.offset is None or pq.dropped:
            return False
        pq.next_offset = start.offset
        consumer.offset_store.note_safe(mq, start.offset)
        self._begun[mq] = pq
        consumer.instance.journal.write(
            QueueTaken(
                group=consumer.group,
                client_id=consumer.client_id,
                topic=mq.topic,
                broker=mq.broker,
                queue_id=mq.queue_id,
                start_offset=start.offset,
                trace=start.trace,
                from_where=where.value,
            )
        )
        return True

    def _wanted(self, topic: str) -> Subscription:
        return next((sub for sub in self._settings().subscriptions if sub.topic == topic), Subscription(topic))


class PollLoop:
    """Main loop that polls and consumes in turn; the consumer commits.

    RocketMQ: the example of a lite pull consumer.  Its listener cannot refuse a message: every polled message counts
    as consumed.
    """

    def __init__(self, consumer: LitePullConsumer, listener: ActorListener) -> None:
        self.busy = 0
        self._consumer = consumer
        self._listener = listener

    async def run(self) -> None:
        consumer = self._consumer
        while True:
            try:
                messages = await consumer.poll()
            except ClientError:  # it is stopping
                return
            for message in messages:
                mq = MessageQueue(message.topic, message.broker or "", message.queue_id or 0)
                self.busy = 1
                try:
                    await consume_one(consumer, self._listener, mq, consumer.process_queues.get(mq), message)
                finally:
                    self.busy = 0


async def consume_one(
    consumer: PullConsumer | LitePullConsumer,
    listener: ActorListener,
    mq: MessageQueue,
    pq: ProcessQueue | None,
    message: Message,
) -> bool:
    """Process one message in the only thread and write it to the journal; return False if the listener refuses it."""
    instance, started_ms = consumer.instance, consumer.instance.clock.now_ms()
    outcome = INTERRUPTED
    try:
        status = await listener.concurrently([message], ConsumeConcurrentlyContext(mq, THREAD))
        await instance.clock.going_on()
        accepted = status is ConsumeConcurrentlyStatus.CONSUME_SUCCESS
        outcome = "IGNORED" if pq is None or pq.dropped else "SUCCESS" if accepted else "LATER"
    finally:
        report_consumed(
            instance.journal,
            mq,
            [message],
            group=consumer.group,
            client_id=consumer.client_id,
            outcome=outcome,
            started_ms=started_ms,
            thread=THREAD,
            handler=listener.handler,
        )
    return accepted
