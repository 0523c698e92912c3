"""How many questions a cluster is asked at a time, and how few of them one slow broker may hold."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sandbox.control.limits import AttachedLimits

T = TypeVar("T")


class Lanes:
    """Whoever asks waits for a place in its broker's lane first, then for one among all.

    So what a silent broker holds is its own lane, and the others go on.  Questions to members have lanes of their own:
    a broker waits ten seconds for a member that does not answer.
    """

    def __init__(self, limits: AttachedLimits) -> None:
        self._limits = limits
        self._all = asyncio.Semaphore(limits.requests_in_flight)
        self._members = asyncio.Semaphore(limits.requests_in_flight)
        self._lanes: dict[str, asyncio.Semaphore] = {}

    async def through(self, address: str, ask: Callable[[], Awaitable[T]]) -> T:
        lane = self._lanes.setdefault(address, asyncio.Semaphore(self._limits.requests_per_broker))
        async with lane, self._all:
            return await ask()

    async def to_member(self, ask: Callable[[], Awaitable[T]]) -> T:
        async with self._members:
            return await ask()

    def forget(self, address: str) -> None:
        self._lanes.pop(address, None)
