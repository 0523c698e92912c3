"""Noticing that a topic got other queues, for an application that reads them by hand."""

import logging
from collections.abc import Awaitable, Callable

from sandbox.client.tasks import Periodic
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import SandboxError
from sandbox.message.queue import MessageQueue

log = logging.getLogger(__name__)

FIRST_CHECK_MS = 10_000

TopicListener = Callable[[str, list[MessageQueue]], None]
"""The queues of a topic changed, assigned here or not.  RocketMQ: `TopicMessageQueueChangeListener`."""


class TopicWatch:
    """Compares what name servers say now with what they said before.  RocketMQ: `fetchTopicMessageQueuesAndCompare`."""

    def __init__(self, fetch: Callable[[str], Awaitable[list[MessageQueue]]]) -> None:
        self.listeners: dict[str, TopicListener] = {}
        self._fetch = fetch
        self._known: dict[str, list[MessageQueue]] = {}

    async def begin(self) -> None:
        """Record the current queues, without reporting a change.  Raises ClientError for an unknown topic."""
        for topic in list(self.listeners):
            self._known.setdefault(topic, await self._fetch(topic))

    async def run(self, clock: Clock, period_ms: int) -> None:
        """First after 10 s, then every `period_ms`, as long as the caller lets it."""
        await Periodic(clock, first_ms=FIRST_CHECK_MS, period_ms=period_ms, job=self._compare).run()

    async def _compare(self) -> None:
        for topic, listener in list(self.listeners.items()):
            try:
                queues = await self._fetch(topic)
            except SandboxError as error:
                log.info("queues of %s not compared: %s", topic, error)
                continue
            if queues != self._known.get(topic):
                self._known[topic] = queues
                listener(topic, queues)
