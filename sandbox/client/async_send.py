"""Sending without waiting: the answer comes later, to a future and on wish to a callback."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sandbox.client.outgoing import Outgoing
from sandbox.client.results import SendResult, SendStatus
from sandbox.client.send_attempts import SendAttempts, status_text
from sandbox.kernel.errors import ClientError, RemotingError, SandboxError
from sandbox.message.queue import MessageQueue

if TYPE_CHECKING:
    from sandbox.client.producer import Producer

OnSent = Callable[[SendResult | SandboxError], None]
"""Called once with what came of it.  RocketMQ: `SendCallback`."""


class Packed(NamedTuple):
    """A message ready to go; `queues` are those a retry may choose a broker from, none when the queue was chosen."""

    queue: MessageQueue
    queues: list[MessageQueue]
    outgoing: Outgoing
    unique_key: str
    deadline_ms: int


class AsyncSends:
    """Sends of one producer that are under way.

    Tried again (`retry_times_async`) only after a failure of the connection or for want of an answer, never after an
    answer.  A retry goes to another broker with the header it had, so the queue id stays; with a chosen queue it goes
    to the same broker.  All attempts share the time one has, so a timeout is the last.
    RocketMQ: `DefaultMQProducerImpl.send` with a callback (spec client-behaviour 11).
    """

    def __init__(self, producer: "Producer", attempts: SendAttempts) -> None:
        self._producer = producer
        self._attempts = attempts
        self.under_way = 0

    def begin(self, packing: Callable[[], Awaitable[Packed]], on_done: OnSent | None) -> "asyncio.Future[SendResult]":
        """Accept a send; everything that goes wrong later comes with the future.

        Raises ClientError at once when `async_sends` are under way: the application is faster than the brokers.
        """
        if self.under_way >= self._producer.config.async_sends:
            raise ClientError(f"executor rejected: {self.under_way} asynchronous sends are under way")
        self.under_way += 1
        future: asyncio.Future[SendResult] = asyncio.get_running_loop().create_future()
        future.add_done_callback(partial(self._ended, on_done))
        task = self._producer.instance.tasks.spawn(self._story(packing, future), "send")
        if task is None:
            future.set_exception(ClientError(f"the client of {self._producer.group} is closed"))
        else:
            task.add_done_callback(lambda _: future.cancel())  # the process ended meanwhile; else it is done already
        return future

    def _ended(self, on_done: OnSent | None, future: "asyncio.Future[SendResult]") -> None:
        self.under_way -= 1
        if future.cancelled():
            return
        error = future.exception()  # asked for, so nobody has to await it
        if on_done is not None:
            on_done(error if isinstance(error, SandboxError) else future.result())

    async def _story(self, packing: Callable[[], Awaitable[Packed]], future: "asyncio.Future[SendResult]") -> None:
        try:
            result = await self._send(await packing())
        except SandboxError as why:
            self._producer.failed += 1
            await self._producer.instance.clock.going_on()
            if not future.done():
                future.set_exception(why)
            return
        if not future.done():
            future.set_result(result)

    async def _send(self, packed: Packed) -> SendResult:
        mq, producer = packed.queue, self._producer
        broker = mq.broker
        for attempt in range(1, producer.config.retry_times_async + 2):
            last = attempt > producer.config.retry_times_async
            try:
                result = await self._attempts.once(
                    mq, packed.outgoing, packed.unique_key, packed.deadline_ms, at=broker, waits=False
                )
            except SandboxError as why:
                retried = isinstance(why, RemotingError) and not last and self._time_left(packed)
                self._attempts.note_failure(mq.topic, broker, status_text(why), attempt, retried=retried)
                if not retried:
                    raise
                if packed.queues:
                    broker = producer.faults.select(packed.queues, broker).broker
                continue
            if result.status is not SendStatus.SEND_OK:
                self._attempts.note_failure(mq.topic, broker, result.status.value, attempt, retried=False)
            return result
        raise AssertionError("the last attempt returns or raises")

    def _time_left(self, packed: Packed) -> bool:
        return self._producer.instance.clock.now_ms() < packed.deadline_ms
