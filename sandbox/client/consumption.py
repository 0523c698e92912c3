"""The common part of concurrent and orderly consumption: threads, and the calls of the listener."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine
from heapq import heappop, heappush
from typing import Any, NamedTuple, Protocol, TypeVar

from sandbox.client.config import PushConsumerConfig
from sandbox.client.instance import ClientInstance
from sandbox.client.pin_watch import PinWatch
from sandbox.client.process_queue import ProcessQueue, offset_of
from sandbox.client.tasks import Tasks
from sandbox.journal.events import MessagesConsumed
from sandbox.journal.journal import Journal
from sandbox.kernel.errors import SandboxError
from sandbox.message import properties
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue

log = logging.getLogger(__name__)

Status = TypeVar("Status")

TERMINATION_STEP_S = 0.01
SHARDING_KEY = "__SHARDINGKEY"
INTERRUPTED = "INTERRUPTED"  # outcome: the process ended, or its wait ended, while the listener worked

Work = Callable[[int], Coroutine[Any, Any, None]]
"""One request for a worker; its argument is the thread's number."""


class ConsumeService(Protocol):
    """Service that passes pulled messages to the listener."""

    threads: "Threads"

    def start(self) -> None: ...
    def submit(self, messages: list[Message], pq: ProcessQueue, *, wake: bool) -> None: ...
    async def shutdown(self) -> None: ...
    def stop(self) -> None:
        """Stop at once, without waiting for running listeners."""


class Working(NamedTuple):
    """The message that one thread is consuming now."""

    mq: MessageQueue
    offset: int
    key: str
    since_ms: int


class Threads:
    """Pool of `size` workers with an unbounded queue.  Idle workers cost nothing.

    RocketMQ: the consume executor.  A worker is a task that lives while it has work.  Its number is the lowest free
    one, like the thread names of a pool.
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
        """Interrupt the running work and discard the waiting work."""
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


class ListenerCalls:
    """Calls of one consumer's listener, batch by batch on its threads, each written to the journal.

    `handler` is a label that the journal records with every batch.  `consumed` counts the messages for which a
    listener has returned.
    """

    def __init__(self, config: PushConsumerConfig, instance: ClientInstance, watch: PinWatch) -> None:
        self.threads = Threads(config.threads, f"{instance.client_id} consume {config.group}")
        self.handler = ""
        self.consumed = 0
        self._config = config
        self._retry_topic = config.retry_topic
        self._instance = instance
        self._watch = watch

    async def call(
        self,
        listener: Callable[[], Awaitable[Status | None]],
        messages: list[Message],
        pq: ProcessQueue,
        thread: int,
        successes: Collection[Status],
    ) -> Status | None:
        """Call the listener and return its status; None if it raised an exception.

        A process stopped meanwhile receives the status when it resumes.  A cancelled batch is unfinished again, and
        the journal records that a listener had begun it.
        """
        clock, status = self._instance.clock, None
        started_ms = self._begin(messages, pq, thread)
        try:
            try:
                status = await listener()
            except Exception:
                log.debug("the listener of %s failed", self._config.group, exc_info=True)
            await clock.going_on()
        except asyncio.CancelledError:
            pq.end(messages)
            self._write(messages, pq, INTERRUPTED, started_ms, thread)
            raise
        if status is None:
            outcome = "FAILED"
        elif clock.now_ms() - started_ms >= self._config.consume_timeout_ms:
            outcome = "TIMEOUT"
        else:
            outcome = "SUCCESS" if status in successes else "LATER"
        pq.end(messages)
        self.threads.working.pop(thread, None)
        self.consumed += len(messages)
        self._write(messages, pq, "IGNORED" if pq.dropped else outcome, started_ms, thread)
        return status

    async def close(self) -> None:
        """Let running listeners finish for the configured time, then interrupt them."""
        clock = self._instance.clock
        ends_ms = clock.now_ms() + self._config.await_termination_ms
        while self.threads.busy and clock.now_ms() < ends_ms:
            await clock.sleep(TERMINATION_STEP_S)
        await self.threads.close()

    def _begin(self, messages: list[Message], pq: ProcessQueue, thread: int) -> int:
        """Restore topics of retried messages, mark all as being consumed, and return the start time in ms."""
        now_ms = self._instance.clock.now_ms()
        for message in messages:
            origin = message.properties.get(properties.RETRY_TOPIC)
            if origin is not None and message.topic == self._retry_topic:
                message.topic = origin
            message.properties[properties.CONSUME_START_TIME] = str(now_ms)
        pq.begin(messages, now_ms)
        pq.last_consume_ms = now_ms
        first = messages[0]
        self.threads.working[thread] = Working(pq.mq, offset_of(first), first.keys, now_ms)
        self._watch.begin()
        return now_ms

    def _write(self, messages: list[Message], pq: ProcessQueue, outcome: str, started_ms: int, thread: int) -> None:
        report_consumed(
            self._instance.journal,
            pq.mq,
            messages,
            group=self._config.group,
            client_id=self._instance.client_id,
            outcome=outcome,
            started_ms=started_ms,
            thread=thread,
            handler=self.handler,
        )


def report_consumed(
    journal: Journal,
    mq: MessageQueue,
    messages: list[Message],
    *,
    group: str,
    client_id: str,
    outcome: str,
    started_ms: int,
    thread: int,
    handler: str,
) -> None:
    """Write the outcome of messages of one queue to the journal, if the journal records details."""
    if not journal.tracing:
        return
    journal.write(
        MessagesConsumed(
            group=group,
            client_id=client_id,
            topic=mq.topic,
            broker=mq.broker,
            queue_id=mq.queue_id,
            offsets=tuple(map(offset_of, messages)),
            keys=tuple(message.keys for message in messages),
            sharding=tuple(message.properties.get(SHARDING_KEY) or message.keys for message in messages),
            outcome=outcome,
            reconsume_times=messages[0].reconsume_times,
            started_ms=started_ms,
            thread=thread,
            handler=handler,
        )
    )
