"""Producer behind "send messages": one process for all messages sent by hand."""

from collections.abc import Iterable

from sandbox.client.config import ClientConfig, ProducerConfig
from sandbox.client.instance import ClientInstance
from sandbox.client.producer import Producer
from sandbox.client.queue_selectors import QueueSelector
from sandbox.cluster.actors.actors import Actors
from sandbox.cluster.actors.sending import MessageSender
from sandbox.cluster.context import Context
from sandbox.kernel.errors import BrokerRefused, ClientError, RemotingError
from sandbox.kernel.ids import instance_name
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue

LABEL = "console"
IP = "10.0.0.9"
BATCH_MESSAGES = 32


class Console:
    """Producer of messages sent by hand.

    Its process starts with the first message and lives until the sandbox sleeps.
    """

    def __init__(self, context: Context, actors: Actors, name_servers: list[str]) -> None:
        self._context = context
        self._actors = actors
        self._name_servers = tuple(name_servers)
        self.producer: Producer | None = None
        self._sender: MessageSender | None = None

    async def send(
        self,
        messages: Iterable[Message],
        *,
        per_s: float | None,
        selector: QueueSelector | None,
        queue: MessageQueue | None,
    ) -> None:
        """Send messages one after the other, at a rate or as fast as the limit allows."""
        sender = await self._started()
        clock = self._context.clock
        due_s = clock.monotonic()
        for message in messages:
            if per_s:
                due_s += 1 / per_s
                if due_s > clock.monotonic():
                    await clock.sleep(due_s - clock.monotonic())
            await sender.send(message, selector=selector, queue=queue)

    async def send_batches(self, messages: Iterable[Message], *, queue: MessageQueue | None) -> None:
        """Send messages in batches of 32, each to one queue."""
        sender = await self._started()
        waiting: list[Message] = []
        for message in messages:
            waiting.append(message)
            if len(waiting) == BATCH_MESSAGES:
                await self._send_batch(sender, waiting, queue)
                waiting = []
        if waiting:
            await self._send_batch(sender, waiting, queue)

    async def _send_batch(self, sender: MessageSender, messages: list[Message], queue: MessageQueue | None) -> None:
        assert self.producer is not None
        waits_s = [self._actors.pace.wait_s(LABEL) for _ in messages]
        await self._context.environment.wall.sleep(max(waits_s))
        try:
            await self.producer.send_batch(messages, queue=queue)
            sender.sent += len(messages)
        except (BrokerRefused, ClientError, RemotingError):
            sender.failed += len(messages)

    async def close(self) -> None:
        if self.producer is not None and self.producer.state == "running":
            await self.producer.shutdown()
            await self.producer.instance.shutdown()

    def crash(self) -> None:
        if self.producer is not None:
            self.producer.crash()

    async def instance(self) -> ClientInstance:
        """Return the producer's client instance, for other requests to brokers made by hand."""
        await self._started()
        assert self.producer is not None
        return self.producer.instance

    async def _started(self) -> MessageSender:
        if self._sender is None:
            context = self._context
            self._actors.processes += 1
            name = instance_name(4_000, self._actors.processes)
            config = ClientConfig(
                name_servers=self._name_servers,
                ip=IP,
                instance_name=name,
                pid=4_000,
                body_bytes=context.limits.body_bytes,
            )
            instance = ClientInstance(
                config,
                clock=context.clock,
                chance=context.chance.fork(LABEL),
                connector=context.network.connector(IP),
                journal=context.journal,
            )
            self.producer = Producer(ProducerConfig(group="PG_console"), instance)
            self._sender = MessageSender(
                instance.clock, context.environment.wall, self._actors.pace, self.producer, LABEL
            )
            await self.producer.start()
        return self._sender
