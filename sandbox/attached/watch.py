"""Viewers of a cluster, and what they view.  Without viewers nothing is polled."""

import asyncio
from collections.abc import Awaitable, Callable

from sandbox.control.readings import Bell
from sandbox.kernel.clock import Clock

FOCUSED = 8
"""Groups, and topics, polled every second; of more, those viewed last."""


LEAST_PAUSE = 0.1
"""Share of a period to wait after a job that took longer."""


class Watch:
    """The record of viewers.  A bell, or a request within the last minute, keeps the polls running."""

    def __init__(self, clock: Clock, watched_s: float) -> None:
        self._clock = clock
        self._watched_s = watched_s
        self._bells: list[Bell] = []
        self._until_s = self._all_until_s = clock.monotonic()
        self._groups: dict[str, float] = {}
        self._topics: dict[str, float] = {}
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def watched(self) -> bool:
        return bool(self._bells)

    @property
    def wanted(self) -> bool:
        return bool(self._bells) or self._clock.monotonic() < self._until_s

    @property
    def groups(self) -> list[str]:
        """The groups whose channels are read, sorted."""
        return self._fresh(self._groups)

    @property
    def topics(self) -> list[str]:
        return self._fresh(self._topics)

    def look(self) -> None:
        """Record a request."""
        self._until_s = self._clock.monotonic() + self._watched_s
        self._wake()

    def look_at(self, *, group: str | None = None, topic: str | None = None) -> bool:
        """Record that a channel of this group or topic is read.  Return True if that was not recent."""
        self.look()
        is_new = False
        for name, table in ((group, self._groups), (topic, self._topics)):
            if name is not None:
                is_new = is_new or name not in table
                table.pop(name, None)
                table[name] = self._until_s
                while len(table) > FOCUSED:
                    del table[next(iter(table))]
        return is_new

    def look_at_all(self) -> None:
        """Record that the list of all groups is read."""
        self.look()
        self._all_until_s = self._until_s

    @property
    def all_groups(self) -> bool:
        return self._clock.monotonic() < self._all_until_s

    def subscribe(self, bell: Bell) -> None:
        if bell not in self._bells:
            self._bells.append(bell)
        self.look()

    def unsubscribe(self, bell: Bell) -> None:
        if bell in self._bells:
            self._bells.remove(bell)
            self.look()

    def ring(self) -> None:
        for bell in self._bells:
            bell.ring()

    async def until_wanted(self) -> None:
        while not self.wanted:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting

    def _fresh(self, table: dict[str, float]) -> list[str]:
        now_s = self._clock.monotonic()
        for name in [name for name, until_s in table.items() if until_s <= now_s]:
            del table[name]
        return sorted(table)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


class Again:
    """A job that is repeated while there are viewers.  After failures the pauses become longer."""

    def __init__(self, clock: Clock, watch: Watch, *, period_s: float, backoff_s: tuple[float, float]) -> None:
        self._clock = clock
        self._watch = watch
        self._period_s = period_s
        self._backoff_s = backoff_s
        self.failures = 0

    async def run(self, job: Callable[[], Awaitable[bool]], *, first_wait_s: float = 0.0) -> None:
        """Repeat `job`, which returns True on success and does not raise."""
        await self._clock.sleep(first_wait_s)
        while True:
            await self._watch.until_wanted()
            began_s = self._clock.monotonic()
            went_well = await job()
            self.failures = 0 if went_well else self.failures + 1
            took_s = self._clock.monotonic() - began_s if went_well else 0.0
            await self._clock.sleep(max(self._period_s * LEAST_PAUSE, self.wait_s - took_s))

    @property
    def wait_s(self) -> float:
        if not self.failures:
            return self._period_s
        first_s, most_s = self._backoff_s
        return max(self._period_s, min(most_s, first_s * (1 << min(self.failures - 1, 16))))
