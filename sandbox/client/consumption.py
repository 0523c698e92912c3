"""What both ways of consuming share: threads, the story of one batch, and the second chance."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from sandbox.client.process_queue import ProcessQueue, offset_of
from sandbox.client.tasks import Tasks
from sandbox.journal.events import MessagesConsumed
from sandbox.journal.journal import Journal
from sandbox.kernel.errors import SandboxError
from sandbox.message import properties
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue

if TYPE_CHECKING:
    from sandbox.client.push_consumer import PushConsumer

log = logging.getLogger(__name__)

Status = TypeVar("Status")

SHARDING_KEY = "__SHARDINGKEY"
INTERRUPTED = "INTERRUPTED"  # the process ended, or would wait no longer, while the listener worked

Work = Callable[[int], Coroutine[Any, Any, None]]
"""One request for a worker; it is told its thread's number."""


class ConsumeService(Protocol):
    """What stands between pulled messages and the listener."""

    threads: "Threads"

    def start(self) -> None: ...
    def submit(self, messages: list[Message], pq: ProcessQueue, *, wake: bool) -> None: ...
    async def shutdown(self) -> None: ...
    def stop(self) -> None:
        """At once, without a word."""


class Working(NamedTuple):
    """What one thread is doing now."""

    mq: MessageQueue
    offset: int
    key: str
    since_ms: int


class Threads:
    """A pool of `size` workers with an unbounded queue; idle workers cost nothing.

    RocketMQ: the consume executor.  A worker is a task that lives as long as there is work; its number is the
    lowest that is free, as the thread names of a pool would be.
    """

    def __init__(self, size: int, name: str) -> None:
        self.size = size
        self.working: dict[int, Working] = {}
        self._tasks = Tasks(name)
        self._waiting: deque[Work] = deque()
        self._free = list(range(1, size + 1))
        self._alive = 0
        self._closed = False

    @property
    def busy(self) -> int:
        return self._alive

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def submit(self, work: Work) -> None:
        if self._closed:
            return
        self._waiting.append(work)
        if self._alive < self.size:
            self._alive += 1
            number = heappop(self._free)
            self._tasks.spawn(self._work(number), f"thread {number}")

    async def close(self) -> None:
        """Interrupt what runs."""
        self._closed = True
        self._waiting.clear()
        await self._tasks.close()

    def cancel(self) -> None:
        self._closed = True
        self._waiting.clear()
        self._tasks.cancel()

    async def _work(self, number: int) -> None:
        try:
            while self._waiting:
                try:
                    await self._waiting.popleft()(number)
                except SandboxError:
                    log.exception("a batch could not be finished")
        finally:
            self._alive -= 1
            self.working.pop(number, None)
            heappush(self._free, number)


class Batch(NamedTuple):
    """One call of the listener: what it was given, when, and by which thread."""

    messages: list[Message]
    pq: ProcessQueue
    thread: int
    started_ms: int


def begin_batch(consumer: "PushConsumer", messages: list[Message], pq: ProcessQueue, thread: int) -> Batch:
    """Restore topics of retried messages, note the start, and mark the messages as being worked on."""
    now_ms = consumer.clock.now_ms()
    for message in messages:
        origin = message.properties.get(properties.RETRY_TOPIC)
        if origin is not None and message.topic == consumer.config.retry_topic:
            message.topic = origin
        message.properties[properties.CONSUME_START_TIME] = str(now_ms)
    pq.begin(messages, now_ms)
    pq.last_consume_ms = now_ms
    first = messages[0]
    consumer.service.threads.working[thread] = Working(pq.mq, offset_of(first), first.keys, now_ms)
    consumer.watch.begin()
    return Batch(messages, pq, thread, now_ms)


async def hear(consumer: "PushConsumer", listener: Callable[[], Awaitable[Status]], batch: Batch) -> Status | None:
    """What the listener says; None when it failed, which is the application's affair.

    A process stopped meanwhile hears it when it goes on; a cancelled batch is unfinished again, and the journal says
    that a listener had begun it.
    """
    status: Status | None = None
    try:
        try:
            status = await listener()
        except Exception:
            log.debug("the listener of %s failed", consumer.group, exc_info=True)
        await consumer.clock.going_on()
    except asyncio.CancelledError:
        batch.pq.end(batch.messages)
        _tell_end(consumer, batch, INTERRUPTED)
        raise
    return status


def end_batch(consumer: "PushConsumer", batch: Batch, outcome: str) -> None:
    """The listener has returned; tell the journal, once per batch."""
    batch.pq.end(batch.messages)
    consumer.service.threads.working.pop(batch.thread, None)
    consumer.consumed += len(batch.messages)
    _tell_end(consumer, batch, "IGNORED" if batch.pq.dropped else outcome)


def _tell_end(consumer: "PushConsumer", batch: Batch, outcome: str) -> None:
    tell_consumed(consumer.journal, batch.pq.mq, batch.messages, group=consumer.group, client_id=consumer.client_id,
                  outcome=outcome, started_ms=batch.started_ms, thread=batch.thread, handler=consumer.handler)


def tell_consumed(
    journal: Journal, mq: MessageQueue, messages: list[Message], *, group: str, client_id: str, outcome: str,
    started_ms: int, thread: int, handler: str,
) -> None:
    """What an application did with messages of one queue, while the journal takes details."""
    if not journal.tracing:
        return
    journal.write(MessagesConsumed(
        group=group, client_id=client_id, topic=mq.topic, broker=mq.broker, queue_id=mq.queue_id,
        offsets=tuple(map(offset_of, messages)), keys=tuple(message.keys for message in messages),
        sharding=tuple(message.properties.get(SHARDING_KEY) or message.keys for message in messages),
        outcome=outcome, reconsume_times=messages[0].reconsume_times, started_ms=started_ms, thread=thread,
        handler=handler,
    ))  # fmt: skip
