"""What the sandbox's pulling applications do: a round of pulls by hand, or poll after poll."""

import logging
from collections.abc import Callable
from typing import Protocol

from sandbox.client.config import ConsumeFromWhere, MessageModel
from sandbox.client.consumption import INTERRUPTED, tell_consumed
from sandbox.client.listeners import ConsumeConcurrentlyContext
from sandbox.client.lite_pull_consumer import LitePullConsumer
from sandbox.client.process_queue import ProcessQueue, offset_of
from sandbox.client.pull_consumer import PullConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus, PullStatus, ReadOffsetType
from sandbox.client.start_offset import compute_pull_from_where
from sandbox.cluster.actors.listener import Work
from sandbox.control.actions import StartConsumer, Subscription
from sandbox.journal.events import QueueTaken
from sandbox.kernel.errors import ClientError, SandboxError
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue

log = logging.getLogger(__name__)

NOTHING_NEW_PAUSE_S = 1.0  # between two rounds of pulls that brought nothing: this is what pulling costs in delay
PULL_AT_MOST = 32
THREAD = 1  # the only one there is


class Loop(Protocol):
    """The application's main loop, over a started consumer."""

    busy: int

    async def run(self) -> None:
        """Until it is cancelled, or its consumer stops."""


class PullLoop:
    """Visits the queues of its share one after the other; pulls, works, notes how far it has got.

    RocketMQ: the example of a pull consumer.  Where it begins is its own decision: what its offset store knows, else
    what `from_where` says.  A message its work refuses is sent back and comes again by the retry topic, which is one
    of its topics.  `consumer` says how `settings` look now: a changed expression counts from the next pull.
    """

    def __init__(self, consumer: PullConsumer, work: Work, settings: Callable[[], StartConsumer],
                 timestamp_ms: int) -> None:
        self.busy = 0
        self._consumer = consumer
        self._work = work
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
            found = False
            for mq, pq in sorted(self._consumer.process_queues.items(), key=lambda item: item[0]):
                try:
                    found = await self._visit(mq, pq) or found
                except SandboxError as why:
                    log.info("pull of %s by hand failed: %s", mq.key, why)
            if not found:
                await self._clock.sleep(NOTHING_NEW_PAUSE_S)

    async def _visit(self, mq: MessageQueue, pq: ProcessQueue) -> bool:
        """One pull and the work it brings; True when it brought some."""
        consumer = self._consumer
        if pq.dropped or not await self._has_begun(mq, pq):
            return False
        pq.last_pull_ms = self._clock.now_ms()
        wanted = self._wanted(mq.topic)
        result = await consumer.pull(mq, pq.next_offset, expression=wanted.expression, expression_type=wanted.kind,
                                     max_messages=PULL_AT_MOST)
        if pq.dropped:
            return False
        if result.status is PullStatus.FOUND:
            pq.put(result.messages)
            for message in result.messages:
                if not await self._work_on(mq, pq, message):
                    return False
        pq.next_offset = result.next_offset
        if consumer.offset_store.read_memory(mq) != result.next_offset:
            consumer.update_consume_offset(mq, result.next_offset)
        return bool(result.messages)

    async def _work_on(self, mq: MessageQueue, pq: ProcessQueue, message: Message) -> bool:
        """False: the queue is another's now, or nobody took the refused message back; it is pulled again."""
        self.busy = 1
        pq.begin([message], self._clock.now_ms())
        pq.last_consume_ms = self._clock.now_ms()
        try:
            accepted = await work_through(self._consumer, self._work, mq, pq, message)
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
        """Decide where to begin in a queue that is new to the share."""
        if self._begun.get(mq) is pq:
            return True
        consumer, where = self._consumer, ConsumeFromWhere(self._settings().from_where)
        start = await compute_pull_from_where(mq, consumer.offset_store, consumer.instance, where=where,
                                              timestamp_ms=self._timestamp_ms,
                                              how=ReadOffsetType.MEMORY_FIRST_THEN_STORE)
        if start.offset is None or pq.dropped:
            return False
        pq.next_offset = start.offset
        consumer.offset_store.note_safe(mq, start.offset)
        self._begun[mq] = pq
        consumer.instance.journal.write(QueueTaken(
            group=consumer.group, client_id=consumer.client_id, topic=mq.topic, broker=mq.broker,
            queue_id=mq.queue_id, start_offset=start.offset, trace=start.trace, from_where=where.value))
        return True

    def _wanted(self, topic: str) -> Subscription:
        return next((sub for sub in self._settings().subscriptions if sub.topic == topic), Subscription(topic))


class PollLoop:
    """Polls, works, polls again; the consumer commits by itself.  RocketMQ: the example of a lite pull consumer.

    Its work cannot refuse anything: whatever a poll gave out counts as done.
    """

    def __init__(self, consumer: LitePullConsumer, work: Work) -> None:
        self.busy = 0
        self._consumer = consumer
        self._work = work

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
                    await work_through(consumer, self._work, mq, consumer.process_queues.get(mq), message)
                finally:
                    self.busy = 0


async def work_through(consumer: PullConsumer | LitePullConsumer, work: Work, mq: MessageQueue,
                       pq: ProcessQueue | None, message: Message) -> bool:
    """Work on one message, in the only thread there is, and tell the journal; False when the work refuses it."""
    instance, started_ms = consumer.instance, consumer.instance.clock.now_ms()
    outcome = INTERRUPTED
    try:
        status = await work.concurrently([message], ConsumeConcurrentlyContext(mq, THREAD))
        await instance.clock.going_on()
        accepted = status is ConsumeConcurrentlyStatus.CONSUME_SUCCESS
        outcome = "IGNORED" if pq is None or pq.dropped else "SUCCESS" if accepted else "LATER"
    finally:
        tell_consumed(instance.journal, mq, [message], group=consumer.group, client_id=consumer.client_id,
                      outcome=outcome, started_ms=started_ms, thread=THREAD, handler=work.handler)
    return accepted
