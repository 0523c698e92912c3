"""Producer of messages."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from sandbox.client.async_send import AsyncSends, OnSent
from sandbox.client.config import ProducerConfig
from sandbox.client.fault_strategy import FaultStrategy
from sandbox.client.lifecycle import LifeCycle, Startable, Steps
from sandbox.client.members import OnCheck
from sandbox.client.outgoing import check, pack, pack_batch
from sandbox.client.queue_selectors import QueueSelector, chosen_by
from sandbox.client.results import SendResult
from sandbox.client.send import Send
from sandbox.client.sender import Sender
from sandbox.kernel.errors import ClientError, SandboxError, SendTimeout
from sandbox.message import properties
from sandbox.message.message import Message
from sandbox.message.namespaces import with_namespace
from sandbox.message.queue import MessageQueue

if TYPE_CHECKING:
    from sandbox.client.instance import ClientInstance


class Producer(Startable):
    """Producer of one group, on a client instance that it may share.  RocketMQ: `DefaultMQProducer`.

    A send without a chosen queue uses all queues in turn and has up to three attempts within one timeout.  The
    message keeps its UNIQ_KEY, so consumers can recognise a duplicate.
    """

    def __init__(self, config: ProducerConfig, instance: "ClientInstance") -> None:
        self.config = config = replace(config, group=with_namespace(config.namespace, config.group))
        self.group = config.group
        self.instance = instance
        self.life = LifeCycle("producer", config.group, instance, {}, halt=lambda: None)
        self.faults = FaultStrategy(
            instance.chance.fork(f"producer {config.group}"), instance.clock.now_ms, enabled=config.avoid_faulty
        )
        self.on_check: OnCheck | None = None
        self.async_sends = AsyncSends(config.group, config.async_sends, instance.tasks)
        self._sender = Sender(
            config,
            self.faults,
            client_id=instance.client_id,
            clock=instance.clock,
            journal=instance.journal,
            api=instance.api,
            routes=instance.routes,
            name_servers=instance.name_servers,
        )

    # Life.

    async def _start(self, steps: Steps) -> None:
        """Execute the start steps.  The producer is ready to send after the first heartbeat."""
        with steps.step("register"):
            self.instance.register_producer(self)
        with steps.step("start instance"):
            await self.instance.start()
        self.life.running()
        with steps.step("heartbeat"):
            await self.instance.heartbeat()

    async def _stop(self, steps: Steps) -> None:
        with steps.step("unregister"):
            self.instance.producers.pop(self.group, None)
            await self.instance.unregister(producer_group=self.group)
        await self.instance.shutdown(steps)

    def topics(self) -> list[str]:
        """Return the topics whose routes the instance refreshes for this producer."""
        return list(self._sender.topics)

    # Results.

    @property
    def sent(self) -> int:
        return self._sender.sent

    @property
    def failed(self) -> int:
        return self._sender.failed

    @property
    def retried(self) -> int:
        """Number of attempts that were followed by another attempt."""
        return self._sender.retried

    @property
    def answers(self) -> dict[str, int]:
        """Number of attempts by result: a send status, a response code or an error."""
        return self._sender.answers

    # Sending.

    async def send(
        self,
        message: Message,
        *,
        selector: QueueSelector | None = None,
        queue: MessageQueue | None = None,
        timeout_ms: int | None = None,
    ) -> SendResult:
        """Send a message and return the broker's result.

        With a `queue` or a `selector` the producer tries once, otherwise up to `retry_times` more.  Raises
        ClientError, BrokerRefused or RemotingError if the message may not have been stored.
        """
        await self._ready()
        check(message, self.config.max_message_bytes)
        self._mark(message)
        deadline_ms = self._deadline(timeout_ms)
        born_ms = self.instance.clock.now_ms() if message.born_ms is None else message.born_ms
        outgoing = pack(message, self.config, born_ms=born_ms)
        if queue is None and selector is not None:
            queue = chosen_by(selector, await self._sender.queues(message.topic), message)
        send = Send(self._sender, outgoing, message.unique_key or "", deadline_ms)
        return await (send.in_turn(message.topic) if queue is None else send.to(queue))

    async def send_batch(
        self, messages: list[Message], *, queue: MessageQueue | None = None, timeout_ms: int | None = None
    ) -> SendResult:
        """Send several messages of one topic at once; they get consecutive offsets of one queue."""
        await self._ready()
        for message in messages:
            check(message, self.config.max_message_bytes)
            self._mark(message)
        deadline_ms = self._deadline(timeout_ms)
        outgoing = pack_batch(messages, self.config, born_ms=self.instance.clock.now_ms())
        keys = ",".join(message.unique_key or "" for message in messages)
        send = Send(self._sender, outgoing, keys, deadline_ms)
        return await (send.in_turn(messages[0].topic) if queue is None else send.to(queue))

    async def send_oneway(
        self, message: Message, *, selector: QueueSelector | None = None, queue: MessageQueue | None = None
    ) -> None:
        """Send a message without waiting for an answer; the result stays unknown."""
        await self._ready()
        check(message, self.config.max_message_bytes)
        self._mark(message)
        outgoing = pack(message, self.config, born_ms=self.instance.clock.now_ms())
        if queue is None:
            queues = await self._sender.queues(message.topic)
            queue = chosen_by(selector, queues, message) if selector else self.faults.select(queues, None)
        address = await self._sender.master(queue.topic, queue.broker)
        await self.instance.api.send_oneway(address, outgoing.to(queue), outgoing.body)
        self._sender.sent += 1

    def send_async(
        self,
        message: Message,
        *,
        on_done: OnSent | None = None,
        selector: QueueSelector | None = None,
        queue: MessageQueue | None = None,
        timeout_ms: int | None = None,
    ) -> "asyncio.Future[SendResult]":
        """Send without waiting; return the future of the result, and call `on_done` with the result or the error.

        Raises ClientError at once if `async_sends` of the configuration are already under way.
        """
        deadline_ms = self._deadline(timeout_ms)

        async def run() -> SendResult:
            try:
                await self._ready()
                check(message, self.config.max_message_bytes)
                self._mark(message)
                outgoing = pack(message, self.config, born_ms=self.instance.clock.now_ms())
                chosen, queues = queue, [] if queue is not None else await self.publish_queues(message.topic)
                if chosen is None and selector is not None:
                    chosen, queues = chosen_by(selector, queues, message), []
                first = chosen if chosen is not None else self.faults.select(queues, None)
                send = Send(self._sender, outgoing, message.unique_key or "", deadline_ms)
                return await send.unattended(first, queues)
            except SandboxError:
                self._sender.failed += 1
                await self.instance.clock.going_on()
                raise

        return self.async_sends.begin(run, on_done)

    async def request(
        self,
        message: Message,
        timeout_ms: int,
        *,
        selector: QueueSelector | None = None,
        queue: MessageQueue | None = None,
    ) -> Message:
        """Send a message and return the reply to it (`request_reply.reply_to`).

        Raises ClientError if the message could not be sent, SendTimeout if no reply arrived in time.
        """
        await self._ready()
        instance = self.instance
        began_ms = instance.clock.now_ms()
        correlation_id, reply = instance.requests.begin()
        message.properties |= {
            properties.CORRELATION_ID: correlation_id,
            properties.REPLY_TO_CLIENT: instance.client_id,
            properties.TTL: str(timeout_ms),
        }

        def sent(result: SendResult | SandboxError) -> None:
            if isinstance(result, SandboxError) and not reply.done():
                reply.set_exception(ClientError(f"send request message to <{message.topic}> fail: {result}"))

        def give_up() -> None:
            if not reply.done():
                reply.set_exception(
                    SendTimeout(
                        f"send request message to <{message.topic}> OK, but wait reply message "
                        f"timeout, {timeout_ms} ms."
                    )
                )

        try:
            if not instance.routes.knows(message.topic):  # so that its brokers can push the reply
                await self.publish_queues(message.topic)
                await instance.heartbeat()
            left_ms = timeout_ms - (instance.clock.now_ms() - began_ms)
            self.send_async(message, on_done=sent, selector=selector, queue=queue, timeout_ms=left_ms)
            timer = instance.clock.call_later(left_ms / 1000, give_up)
            try:
                return await reply
            finally:
                timer.cancel()
        finally:
            instance.requests.end(correlation_id)

    async def publish_queues(self, topic: str) -> list[MessageQueue]:
        """Return the queues to which a message of the topic may be sent.  Raises ClientError if no route is known."""
        return await self._sender.publish_queues(topic)

    def _mark(self, message: Message) -> None:
        """Give the message its UNIQ_KEY, once: a retry keeps it."""
        if properties.UNIQ_KEY not in message.properties:
            message.properties[properties.UNIQ_KEY] = self.instance.keys.next(self.instance.clock.now_ms())

    def _deadline(self, timeout_ms: int | None) -> int:
        allowed = self.config.send_timeout_ms if timeout_ms is None else timeout_ms
        return self.instance.clock.now_ms() + allowed

    async def _ready(self) -> None:
        await self.instance.clock.going_on()
        if self.state != "running" and self is not self.instance.inner_producer:
            raise ClientError(f"producer {self.group} is {self.state}, not running")
