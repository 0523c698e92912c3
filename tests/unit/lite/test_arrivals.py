"""Browsers that connect in the same moment, as all do after a restart: one look into the database serves many."""

import asyncio

from queueviz.browsers.arrivals import MOST_AT_ONCE, Arrivals
from sandbox.live.database_turns import DatabaseTurns
from sandbox.sim.loop import SimLoop

LOOK_S = 0.02


class Lobby:
    """Browsers whose visitors are numbers.  `looks`: the visitors of each look into the database."""

    def __init__(self, *, fails: bool = False) -> None:
        self.loop = SimLoop()
        self.looks: list[list[int]] = []
        self.fails = fails
        self.arrivals = self.loop.run(self._made())

    async def _made(self) -> Arrivals[int, str]:
        return Arrivals(self._look)

    async def _look(self, asked: list[tuple[int, str]]) -> list[str | None]:
        self.looks.append([visitor for visitor, _ in asked])
        await asyncio.sleep(LOOK_S)
        if self.fails:
            raise OSError("the database is busy")
        return [None if visitor < 0 else f"{slug} of {visitor}" for visitor, slug in asked]

    def come(self, *visitors: int) -> "list[asyncio.Task[str | None]]":
        turns = self.loop.run(_turns())
        return [self.loop.create_task(self.arrivals.ask(turns, visitor, "run")) for visitor in visitors]


async def _turns() -> DatabaseTurns:
    return DatabaseTurns(0.3)


def test_a_thousand_browsers_are_known_within_two_seconds() -> None:
    lobby = Lobby()
    known = lobby.come(*range(1_000))
    lobby.loop.run_for(2)
    assert [task.result() for task in known] == [f"run of {visitor}" for visitor in range(1_000)]
    assert max(map(len, lobby.looks)) <= MOST_AT_ONCE


def test_a_browser_that_is_gone_is_not_looked_for() -> None:
    lobby = Lobby()
    tasks = lobby.come(*range(MOST_AT_ONCE + 1))
    lobby.loop.run_for(LOOK_S / 2)
    tasks[-1].cancel()
    lobby.loop.run_for(1)
    assert MOST_AT_ONCE not in [visitor for look in lobby.looks for visitor in look]


def test_a_visitor_without_a_run_has_no_answer_and_a_failed_look_fails_for_all_who_asked() -> None:
    lobby = Lobby()
    [refused] = lobby.come(-1)
    lobby.loop.run_for(1)
    assert refused.result() is None
    failing = Lobby(fails=True)
    tasks = failing.come(1, 2)
    failing.loop.run_for(1)
    assert all(isinstance(task.exception(), OSError) for task in tasks)
    failing.fails = False
    [later] = failing.come(3)
    failing.loop.run_for(1)
    assert later.result() == "run of 3"
