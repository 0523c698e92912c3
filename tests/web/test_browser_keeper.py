"""The writer of what browsers send: of a run nothing is stored after an entry that was not."""

import asyncio
from typing import Any, cast

import pytest
from django.utils import timezone

from queueviz.browsers import keeper as keepers
from queueviz.browsers.keeper import Keeper
from queueviz.browsers.messages import CameMessage
from queueviz.browsers.run_state import RunState
from queueviz.courses.lite_models import LiteEntry, LiteRun

TURNS = 20  # of the loop, more than a flush needs


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keepers, "FLUSH_S", 0)


class Database:
    """Stores entries of runs, but refuses what it is asked to refuse."""

    def __init__(self) -> None:
        self.stored: list[tuple[int, int]] = []
        self.refused: set[tuple[int, int]] = set()

    async def keep(self, runs: list[LiteRun], entries: list[LiteEntry]) -> None:
        rows = [(entry.run_id, entry.n) for entry in entries]
        if self.refused & set(rows):
            raise OSError("no space")
        self.stored += rows

    async def nothing(self, *given: Any) -> None: ...


class Writer:
    def __init__(self, database: Database) -> None:
        self.keeper = Keeper(database.keep, database.nothing, database.nothing)
        self.failed: list[int] = []
        self.states = [RunState(LiteRun(pk=number, at_ms=0), []) for number in (1, 2)]
        for state in self.states:
            self.keeper.enter(state)

    def came(self, number: int, n: int) -> None:
        state = self.states[number - 1]
        message = CameMessage(n, 1, n, n, "SetRate", {"rate": 1.0}, "student student")
        entry = cast(LiteEntry, state.take(message, timezone.now()))
        self.keeper.add(state, entry, lambda: None, lambda: self.failed.append(number))

    async def flushed(self) -> None:
        for _ in range(TURNS):
            await asyncio.sleep(0)


async def _played(database: Database) -> Writer:
    writer = Writer(database)
    writer.came(1, 1)
    writer.came(2, 1)
    await writer.flushed()
    writer.came(1, 2)
    writer.came(2, 2)
    await writer.flushed()
    for task in writer.keeper._tasks:
        task.cancel()
    return writer


async def test_entries_of_many_runs_are_stored() -> None:
    database = Database()
    writer = await _played(database)
    assert database.stored == [(1, 1), (2, 1), (1, 2), (2, 2)]
    assert writer.failed == []
    assert [state.stored for state in writer.states] == [2, 2]


async def test_after_an_entry_that_was_refused_no_later_one_of_its_run_is_stored() -> None:
    database = Database()
    database.refused = {(1, 1)}
    writer = await _played(database)
    assert database.stored == [(2, 1), (2, 2)], "a list with a hole is no list"
    assert writer.failed == [1]
