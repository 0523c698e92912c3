"""A bell for a reader that lives on another asyncio loop."""

import asyncio
from contextlib import suppress


class LoopBell:
    """A bell for a reader that lives on another asyncio loop.

    However often it rings, one callback crosses until the reader has heard it; so the price of an event no one waits
    for is one attribute test.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._rung = False
        self._news = asyncio.Event()

    def ring(self) -> None:
        if self._rung:
            return
        self._rung = True
        with suppress(RuntimeError):  # the reader's loop is closed: no one is there to hear
            self._loop.call_soon_threadsafe(self._news.set)

    async def news(self) -> None:
        """Wait until there is news since the last call returned."""
        await self._news.wait()
        self._news.clear()
        self._rung = False  # after the clear: a ring from now on crosses again
