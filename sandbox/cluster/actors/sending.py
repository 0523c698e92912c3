"""Message sources of in-process producers: generated messages at a rate, listed rows, or rows of a feed."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

from sandbox.client.config import ProducerConfig
from sandbox.client.producer import Producer
from sandbox.client.queue_selectors import QueueSelector, by_key
from sandbox.client.transaction_producer import TransactionSendResult
from sandbox.cluster.actors.feeds import FlightsFeed
from sandbox.cluster.actors.send_rate_limit import SendRateLimit
from sandbox.control.actions import ChangeActor, SendMessages, StartProducer
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import BrokerRefused, ClientError, RemotingError
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.store.totals import Rate

LATE_S = 1.0  # a producer that is late by more does not catch up
IDLE_LOOK_S = 0.5  # how often a producer at rate 0 checks its rate

SELECTORS: dict[str, QueueSelector | None] = {"round_robin": None, "avoid_faulty": None, "hash": by_key, "queue": None}


class MessageSender:
    """Sender of one producer process, with its counts; a half message counts as sent, however its transaction ends."""

    def __init__(self, clock: Clock, wall: Clock, pace: SendRateLimit, producer: Producer, label: str) -> None:
        self._clock = clock
        self._wall = wall
        self._pace = pace
        self._producer = producer
        self._label = label
        self._rate = Rate(clock.monotonic())
        self.transact: Callable[[Message], Awaitable[TransactionSendResult]] | None = None  # transactional
        self.sent = 0
        self.failed = 0

    async def send(
        self, message: Message, *, selector: QueueSelector | None = None, queue: MessageQueue | None = None
    ) -> bool:
        """Send one message within the sandbox's rate limit; return False if all retries failed.

        The journal has the cause of a failure.
        """
        wait_s = self._pace.wait_s(self._label)
        if wait_s > 0:
            await self._wall.sleep(wait_s)
        try:
            if self.transact is not None:
                await self.transact(message)
            else:
                await self._producer.send(message, selector=selector, queue=queue)
        except (BrokerRefused, ClientError, RemotingError):
            self.failed += 1
            return False
        self.sent += 1
        self._rate.add(int(self._clock.monotonic()), 1, len(message.body))
        return True

    def per_s(self) -> float | None:
        return self._rate.per_s(int(self._clock.monotonic()))


class RateSource:
    """Source of generated messages at a rate."""

    def __init__(self, settings: StartProducer, clock: Clock, chance: Chance, sent_before: int) -> None:
        self.settings = settings
        self._clock = clock
        self._chance = chance
        self._number = sent_before

    async def run(self, sender: MessageSender) -> None:
        due_s = self._clock.monotonic()
        while True:
            rate = self.settings.rate_per_s
            if rate <= 0:
                await self._clock.sleep(IDLE_LOOK_S)
                due_s = self._clock.monotonic()
                continue
            due_s = max(due_s + 1 / rate, self._clock.monotonic() - LATE_S)
            if due_s > self._clock.monotonic():
                await self._clock.sleep(due_s - self._clock.monotonic())
            await sender.send(self._next(), selector=SELECTORS[self.settings.selector], queue=queue_of(self.settings))

    def _next(self) -> Message:
        self._number += 1
        settings = self.settings
        key = self._chance.choice(settings.keys) if settings.keys else numbered(settings.key, self._number)
        return Message.make(
            settings.topic, padded(f"{key} #{self._number}", settings.body_bytes), keys=key, tags=settings.tag
        )


class FeedSource:
    """Source of the rows of a table, `speed` times as fast as their time stamps."""

    def __init__(self, settings: StartProducer, clock: Clock, table: Path, position: int) -> None:
        self.settings = settings
        self._clock = clock
        self._feed = FlightsFeed(table, position)

    @property
    def position(self) -> int:
        return self._feed.position

    async def run(self, sender: MessageSender) -> None:
        due_s = self._clock.monotonic()
        for row in self._feed.rows():
            while self.settings.speed <= 0:
                await self._clock.sleep(IDLE_LOOK_S)
                due_s = self._clock.monotonic()
            due_s = max(due_s + row.gap_s / self.settings.speed, self._clock.monotonic() - LATE_S)
            if due_s > self._clock.monotonic():
                await self._clock.sleep(due_s - self._clock.monotonic())
            message = Message.make(self.settings.topic, row.body, keys=row.key, tags=row.tag)
            await sender.send(message, selector=SELECTORS[self.settings.selector], queue=queue_of(self.settings))


def changed(settings: StartProducer, change: ChangeActor) -> StartProducer:
    """Return a producer's settings with the fields of a `ChangeActor` that apply to producers."""
    values = {name: getattr(change, name) for name in ("rate_per_s", "speed") if getattr(change, name) is not None}
    return replace(settings, **values)


def messages_of(action: SendMessages) -> Iterator[Message]:
    """Yield the messages of a `SendMessages` action."""
    if action.rows:
        for row in action.rows:
            message = Message.make(
                action.topic, row.body.encode(), keys=row.key, tags=row.tag, delay_level=action.delay_level
            )
            message.born_ms = row.born_ms
            yield message
        return
    for number in range(1, (action.count or 1) + 1):
        key = numbered(action.key, number)
        body = action.body.encode() if action.body is not None else padded(f"{key} #{number}", action.body_bytes)
        yield Message.make(action.topic, body, keys=key, tags=action.tag, delay_level=action.delay_level)


def queue_of(settings: StartProducer) -> MessageQueue | None:
    """Return the fixed queue of a producer; None if its selector chooses."""
    if settings.queue is None:
        return None
    broker, _, number = settings.queue.rpartition(":")
    return MessageQueue(settings.topic, broker, int(number))


def numbered(pattern: str, number: int) -> str:
    """Replace `{n}` in a pattern by a number; a pattern without `{n}` stays unchanged.

    >>> numbered("order-{n}", 7)
    'order-7'
    """
    return pattern.replace("{n}", str(number))


def padded(text: str, size: int) -> bytes:
    """Return the text in UTF-8, padded with dots or cut to `size` bytes."""
    return text.encode().ljust(size, b".")[:size]


def producer_group(label: str) -> str:
    return f"PG_{label}"


def producer_config(label: str, *, avoid_faulty: bool, max_message_bytes: int) -> ProducerConfig:
    return ProducerConfig(group=producer_group(label), avoid_faulty=avoid_faulty, max_message_bytes=max_message_bytes)
