"""Watch for changed queues of topics, for an application that chooses its queues itself."""

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
    """Comparison of a topic's queues with those of the last check.  RocketMQ: `fetchTopicMessageQueuesAndCompare`."""

    def __init__(self, fetch: Callable[[str], Awaitable[list[MessageQueue]]]) -> None:
        self.listeners: dict[str, TopicListener] = {}
        self._fetch = fetch
        self._known: dict[str, list[MessageQueue]] = {}

    async def begin(self) -> None:
        """Record the current queues without reporting a change.  Raises ClientError if a topic is unknown."""
        for topic in list(self.listeners):
            self._known.setdefault(topic, await self._fetch(topic))

    async def run(self, clock: Clock, period_ms: int) -> None:
        """Compare first after 10 s, then every `period_ms`, until the caller cancels."""
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
