"""Sending messages."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from sandbox.client.async_send import AsyncSends, OnSent, Packed
from sandbox.client.config import ProducerConfig
from sandbox.client.fault_strategy import FaultStrategy
from sandbox.client.lifecycle import Lifecycle
from sandbox.client.outgoing import Outgoing, check, pack, pack_batch
from sandbox.client.queue_selectors import QueueSelector, chosen_by
from sandbox.client.request_reply import request
from sandbox.client.results import SendResult, SendStatus
from sandbox.client.send_attempts import SendAttempts, status_text
from sandbox.journal.events import MemberStateChanged
from sandbox.kernel.errors import BrokerRefused, ClientError, RemotingError, SandboxError, SendTimeout
from sandbox.message import properties
from sandbox.message.message import Message
from sandbox.message.namespaces import with_namespace
from sandbox.message.queue import MessageQueue
from sandbox.remoting.headers import CheckTransactionHeader

if TYPE_CHECKING:
    from sandbox.client.instance import ClientInstance

OnCheck = Callable[[CheckTransactionHeader, Message, str], None]
"""A broker asks what became of a transaction: its question, the message, and the broker's address."""


class Producer:
    """Sends messages of one group, over a client instance it may share.  RocketMQ: `DefaultMQProducer`.

    A send without a chosen queue goes round all queues and is tried up to three times, within one budget of time;
    the message keeps its UNIQ_KEY, so a duplicate can be told.
    """

    def __init__(self, config: ProducerConfig, instance: "ClientInstance") -> None:
        self.config = config = replace(config, group=with_namespace(config.namespace, config.group))
        self.group = config.group
        self.instance = instance
        self.state = "created"
        self.sent = 0
        self.failed = 0
        self.retried = 0  # attempts that another one followed
        self.answers: dict[str, int] = {}  # attempts by what came of them: a status, a response code, an error
        self.faults = FaultStrategy(
            instance.chance.fork(f"producer {config.group}"), instance.clock.now_ms, enabled=config.avoid_faulty
        )
        self.on_check: OnCheck | None = None
        self._attempts = SendAttempts(self)
        self.async_sends = AsyncSends(self, self._attempts)
        self._topics: dict[str, None] = {config.create_topic_key: None}  # so brokers hear of us before the first send

    # Life.

    async def start(self) -> None:
        """Ready to send after the first heartbeat.  Raises ClientError for a second start or a group name in use."""
        if self.state != "created":
            raise ClientError(f"producer {self.group} is {self.state} and cannot start again")
        self._become("starting")
        steps = self._lifecycle("start")
        try:
            with steps.step("register"):
                self.instance.register_producer(self)
            with steps.step("start instance"):
                await self.instance.start()
        except SandboxError:
            if self.instance.producers.get(self.group) is self:
                del self.instance.producers[self.group]
            self._become("refused")
            raise
        self._become("running")
        with steps.step("heartbeat"):
            await self.instance.heartbeat()

    async def shutdown(self) -> None:
        """Leave the group; the instance ends with its last user.  A hung process goes on first."""
        if self.state == "hung":
            self.resume()
        if self.state != "running":
            return
        self._become("stopping")
        steps = self._lifecycle("stop")
        with steps.step("unregister"):
            self.instance.producers.pop(self.group, None)
            await self.instance.unregister(producer_group=self.group)
        await self.instance.shutdown(steps)
        self._become("stopped")

    def crash(self) -> None:
        """The whole process dies."""
        self.instance.crash()

    def hang(self) -> None:
        self.instance.hang()

    def resume(self) -> None:
        self.instance.resume()

    def told(self, state: str) -> None:
        """The whole process crashed, hung or went on; an inner producer is nobody of its own."""
        if self is self.instance.inner_producer:
            return
        if self.state in ("running", "hung") or state == "crashed":
            self._become(state)

    def topics(self) -> list[str]:
        """Whose routes the instance keeps fresh for us."""
        return list(self._topics)

    # Sending.

    async def send(
        self, message: Message, *, selector: QueueSelector | None = None, queue: MessageQueue | None = None,
        timeout_ms: int | None = None,
    ) -> SendResult:
        """Send and wait for the broker's answer.

        With a `queue` or a `selector` there is one attempt, otherwise up to `retry_times` more.  Raises ClientError,
        BrokerRefused or RemotingError when the message may not have been stored.
        """
        await self._ready()
        check(message, self.config.max_message_bytes)
        self._mark(message)
        deadline_ms = self._deadline(timeout_ms)
        born_ms = self.instance.clock.now_ms() if message.born_ms is None else message.born_ms
        outgoing = pack(message, self.config, born_ms=born_ms)
        if queue is None and selector is not None:
            queue = chosen_by(selector, await self._queues(message.topic), message)
        if queue is None:
            return await self._send_round_robin(message.topic, outgoing, message.unique_key or "", deadline_ms)
        return await self._send_once(queue, outgoing, message.unique_key or "", deadline_ms)

    async def send_batch(
        self, messages: list[Message], *, queue: MessageQueue | None = None, timeout_ms: int | None = None
    ) -> SendResult:
        """Send many messages of one topic at once; they get neighbouring offsets of one queue."""
        await self._ready()
        for message in messages:
            check(message, self.config.max_message_bytes)
            self._mark(message)
        deadline_ms = self._deadline(timeout_ms)
        outgoing = pack_batch(messages, self.config, born_ms=self.instance.clock.now_ms())
        keys = ",".join(message.unique_key or "" for message in messages)
        if queue is None:
            return await self._send_round_robin(messages[0].topic, outgoing, keys, deadline_ms)
        return await self._send_once(queue, outgoing, keys, deadline_ms)

    async def send_oneway(
        self, message: Message, *, selector: QueueSelector | None = None, queue: MessageQueue | None = None
    ) -> None:
        """Send without waiting to hear; nobody learns whether it arrived."""
        await self._ready()
        check(message, self.config.max_message_bytes)
        self._mark(message)
        outgoing = pack(message, self.config, born_ms=self.instance.clock.now_ms())
        if queue is None:
            queues = await self._queues(message.topic)
            queue = chosen_by(selector, queues, message) if selector else self.faults.select(queues, None)
        address = await self._attempts.master(queue.topic, queue.broker)
        await self.instance.api.send_oneway(address, outgoing.to(queue), outgoing.body)
        self.sent += 1

    def send_async(
        self, message: Message, *, on_done: OnSent | None = None, selector: QueueSelector | None = None,
        queue: MessageQueue | None = None, timeout_ms: int | None = None,
    ) -> "asyncio.Future[SendResult]":
        """Send and go on at once; await the future, or have `on_done` called with the result or the error.

        Raises ClientError here when `async_sends` of the configuration are under way already.
        """
        deadline_ms = self._deadline(timeout_ms)

        async def packing() -> Packed:
            await self._ready()
            check(message, self.config.max_message_bytes)
            self._mark(message)
            outgoing = pack(message, self.config, born_ms=self.instance.clock.now_ms())
            chosen, queues = queue, [] if queue is not None else await self.publish_queues(message.topic)
            if chosen is None and selector is not None:
                chosen, queues = chosen_by(selector, queues, message), []
            first = chosen if chosen is not None else self.faults.select(queues, None)
            return Packed(first, queues, outgoing, message.unique_key or "", deadline_ms)

        return self.async_sends.begin(packing, on_done)

    async def request(
        self, message: Message, timeout_ms: int, *, selector: QueueSelector | None = None,
        queue: MessageQueue | None = None,
    ) -> Message:
        """Send, and wait for what somebody replies (`request_reply.reply_to`).

        Raises ClientError when the message could not be sent, SendTimeout when no reply came in time.
        """
        await self._ready()
        return await request(self, message, timeout_ms, selector=selector, queue=queue)

    async def publish_queues(self, topic: str) -> list[MessageQueue]:
        """Where the topic's messages may go.  Raises ClientError when no name server knows a way.

        An unknown topic borrows the route of the template topic (TBW102), which lets the broker create it.
        """
        topic = with_namespace(self.config.namespace, topic)
        routes, name_servers = self.instance.routes, self.instance.name_servers
        if topic not in self._topics or not routes.publish_queues(topic):
            self._topics[topic] = None
            await name_servers.learn_route(topic)
        if not routes.publish_queues(topic) and not routes.knows(topic):
            await name_servers.learn_default_route(
                topic, self.config.create_topic_key, self.config.default_topic_queues
            )
        queues = routes.publish_queues(topic)
        if not queues:
            raise ClientError(f"No route info of this topic: {topic}")
        return queues

    async def _queues(self, topic: str) -> list[MessageQueue]:
        """`publish_queues`; a topic without any counts as a failed send."""
        try:
            return await self.publish_queues(topic)
        except ClientError:
            self.failed += 1
            raise

    async def _send_round_robin(
        self, topic: str, outgoing: Outgoing, unique_key: str, deadline_ms: int
    ) -> SendResult:
        queues = await self._queues(topic)
        clock = self.instance.clock
        last_broker: str | None = None
        tried: list[str] = []
        problem: SandboxError | None = None
        for attempt in range(1, self.config.retry_times + 2):
            mq = self.faults.select(queues, last_broker)
            last_broker = mq.broker
            if clock.now_ms() >= deadline_ms:
                break
            tried.append(mq.broker)
            try:
                result = await self._attempts.once(mq, outgoing, unique_key, deadline_ms)
            except SandboxError as why:
                problem = why
                may_retry = self._may_retry(why)
                again = may_retry and attempt <= self.config.retry_times and clock.now_ms() < deadline_ms
                self._attempts.note_failure(mq.topic, mq.broker, status_text(why), attempt, retried=again)
                if not may_retry:
                    self.failed += 1
                    raise
                continue
            if result.status is SendStatus.SEND_OK:
                return result
            wanted = self.config.retry_another_broker_when_not_stored and attempt <= self.config.retry_times
            again = wanted and clock.now_ms() < deadline_ms
            self._attempts.note_failure(mq.topic, mq.broker, result.status.value, attempt, retried=again)
            if not again:
                return result
        raise self._given_up(topic, tried, problem)

    async def _send_once(
        self, mq: MessageQueue, outgoing: Outgoing, unique_key: str, deadline_ms: int
    ) -> SendResult:
        try:
            result = await self._attempts.once(mq, outgoing, unique_key, deadline_ms)
        except SandboxError as why:
            self._attempts.note_failure(mq.topic, mq.broker, status_text(why), 1, retried=False)
            self.failed += 1
            raise
        if result.status is not SendStatus.SEND_OK:
            self._attempts.note_failure(mq.topic, mq.broker, result.status.value, 1, retried=False)
        return result

    def _may_retry(self, why: SandboxError) -> bool:
        if isinstance(why, BrokerRefused):
            return why.code in self.config.retry_codes
        return isinstance(why, RemotingError | ClientError)

    def _given_up(self, topic: str, tried: list[str], problem: SandboxError | None) -> SandboxError:
        """What a send ends with when all attempts are used up, or the time is."""
        self.failed += 1
        if problem is None:
            return SendTimeout(f"no time was left to send to {topic}")
        if isinstance(problem, BrokerRefused):
            return problem
        return ClientError(f"sent {len(tried)} times to {topic} ({', '.join(tried)}), still failed: {problem}")

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

    def _become(self, state: str) -> None:
        self.state = state
        self.instance.journal.write(
            MemberStateChanged(group=self.group, client_id=self.instance.client_id, state=state, unfinished=())
        )

    def _lifecycle(self, phase: str) -> Lifecycle:
        return Lifecycle(self.instance.journal, self.instance.clock, group=self.group,
                         client_id=self.instance.client_id, phase=phase)  # fmt: skip
