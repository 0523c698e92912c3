"""A queue for database calls before channels are opened: one at a time, for a share of the time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

LONGEST_REST_S = 0.05  # a question that waited for others did not keep us busy


class DatabaseTurns:
    """A queue of database calls.  A socket has at most one in it, so that each socket gets its turn."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._now = asyncio.get_running_loop().time
        self._lock = asyncio.Lock()
        self._free_at_s = 0.0

    async def ask(self, question: Callable[[], Awaitable[T]]) -> T:
        async with self._lock:
            await asyncio.sleep(max(0.0, self._free_at_s - self._now()))
            began_s = self._now()
            try:
                return await question()
            finally:
                ended_s = self._now()
                self._free_at_s = ended_s + min(LONGEST_REST_S, (ended_s - began_s) * (1 / self._share - 1))
