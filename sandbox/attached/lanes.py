"""Limits of concurrent requests to a cluster, in total and for each broker."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sandbox.control.limits import AttachedLimits

T = TypeVar("T")


class Lanes:
    """The limits of concurrent requests to one cluster.

    A request waits for a slot of its broker first, then for one of the total.  So a broker that does not answer
    blocks only its own slots.  Requests to members have separate slots: a broker waits ten seconds for a member that
    does not answer.
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
