"""Browsers that connect: all that wait in the same moment share one look into the database.

After a restart a whole course connects at once.  One look for each would take minutes, and each browser waits for
seconds only and connects again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from sandbox.live.database_turns import DatabaseTurns

Asker = TypeVar("Asker")
Answer = TypeVar("Answer")

MOST_AT_ONCE = 50  # so that others' calls to the database wait for tens of milliseconds only


class Arrivals(Generic[Asker, Answer]):
    """The browsers of one loop that wait to be known.

    `look` returns an answer for each visitor and slug, None for one who may not come.
    """

    def __init__(self, look: Callable[[list[tuple[Asker, str]]], Awaitable[list[Answer | None]]]) -> None:
        self._look = look
        self._waiting: dict[asyncio.Future[Answer | None], tuple[Asker, str]] = {}
        self._work: asyncio.Task[None] | None = None

    async def ask(self, turns: DatabaseTurns, visitor: Asker, slug: str) -> Answer | None:
        """Return the answer for one browser.  Raises what `look` raises."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer | None] = loop.create_future()
        self._waiting[answer] = visitor, slug
        if self._work is None or self._work.done():
            self._work = loop.create_task(self._serve_all(turns))  # its own: a browser that is gone does not end it
        try:
            return await answer
        finally:
            self._waiting.pop(answer, None)

    async def _serve_all(self, turns: DatabaseTurns) -> None:
        while self._waiting:
            await turns.ask(self._serve)

    async def _serve(self) -> None:
        """Answer those who have waited longest."""
        served = dict(list(self._waiting.items())[:MOST_AT_ONCE])
        for answer in served:
            del self._waiting[answer]
        try:
            answers = await self._look(list(served.values()))
        except Exception as error:
            for answer in served:
                if not answer.done():
                    answer.set_exception(error)
            return
        for answer, value in zip(served, answers, strict=True):
            if not answer.done():
                answer.set_result(value)
