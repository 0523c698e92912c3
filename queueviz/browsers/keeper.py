"""Writes what browsers send: all entries that came in a moment in one transaction, then the receipts."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from queueviz.browsers.run_state import RunState
from queueviz.courses.lite_models import LiteEntry
from sandbox.control.limits import HostLimits
from sandbox.queries.rows.labs import LabRow

log = logging.getLogger(__name__)

FLUSH_S = 0.05  # entries that come within it share a transaction
CONNECTED_S = 10.0  # between two notes of who is connected


class Waiting(NamedTuple):
    """A run's new entries; `kept` is called once they are stored, `failed` if they cannot be."""

    state: RunState
    entries: list[LiteEntry]
    kept: Callable[[], None]
    failed: Callable[[], None]


class Keeper:
    """One writer for all browsers of a loop.

    `keep` stores runs and entries, `note` the labs as browsers say they are,
    `note_connected` the runs with an open socket.
    """

    def __init__(
        self,
        keep: Callable[..., Awaitable[Any]],
        note: Callable[..., Awaitable[Any]],
        note_connected: Callable[..., Awaitable[Any]],
    ) -> None:
        self._keep = keep
        self._note = note
        self._note_connected = note_connected
        self._counts: Counter[str] = Counter()
        self._connected: dict[RunState, None] = {}
        self._waiting: dict[RunState, Waiting] = {}
        self._rows: dict[RunState, LabRow] = {}
        self._dirty = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def has_room(self, address: str, limits: HostLimits) -> bool:
        """Return True if one more browser may connect from this address."""
        return self._counts.total() < limits.browsers and self._counts[address] < limits.browsers_per_address

    def count(self, address: str, change: int) -> None:
        self._counts[address] += change
        if self._counts[address] <= 0:
            del self._counts[address]

    def enter(self, state: RunState) -> None:
        self._connected[state] = None
        if not self._tasks:
            loop = asyncio.get_running_loop()
            self._tasks = [loop.create_task(self._write()), loop.create_task(self._note_all())]

    def leave(self, state: RunState) -> None:
        """Forget a browser that is gone.  What it has sent is still stored."""
        self._connected.pop(state, None)

    def add(self, state: RunState, entry: LiteEntry, kept: Callable[[], None], failed: Callable[[], None]) -> None:
        self._waiting.setdefault(state, Waiting(state, [], kept, failed)).entries.append(entry)
        self._dirty.set()

    def add_row(self, state: RunState, row: LabRow) -> None:
        self._rows[state] = row
        self._dirty.set()

    async def _write(self) -> None:
        while True:
            await self._dirty.wait()
            await asyncio.sleep(FLUSH_S)
            self._dirty.clear()
            waiting, self._waiting = list(self._waiting.values()), {}
            rows, self._rows = self._rows, {}
            if waiting:
                await self._store(waiting)
            if rows:
                try:
                    await self._note([(state.run, row) for state, row in rows.items()])
                except Exception:  # the next row of these labs has all that this one had
                    log.exception("the progress of %s labs was not stored", len(rows))

    async def _store(self, waiting: list[Waiting]) -> None:
        """Store all entries, or if that fails those of each run: one bad run must not hold back the others."""
        waiting = [each for each in waiting if not each.state.is_broken]
        if not waiting:
            return
        try:
            await self._keep([each.state.run for each in waiting], [row for each in waiting for row in each.entries])
        except Exception as error:
            if len(waiting) > 1:
                for each in waiting:
                    await self._store([each])
                return
            log.warning("entries of %s were not stored: %s", waiting[0].state.run, error)
            waiting[0].state.is_broken = True
            waiting[0].failed()
            return
        for each in waiting:
            each.state.stored = each.entries[-1].n
            each.kept()

    async def _note_all(self) -> None:
        while True:
            if self._connected:
                try:
                    await self._note_connected([state.run for state in self._connected])
                except Exception:
                    log.exception("connected browsers were not noted")
            await asyncio.sleep(CONNECTED_S)
