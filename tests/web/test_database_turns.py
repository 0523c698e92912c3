"""Questions to the database before boards are opened: in a row, and for a share of the time."""

import asyncio

from sandbox.live.database_turns import DatabaseTurns
from sandbox.sim.loop import SimLoop
from tests.web.stage import BOARD, Stage

TAKES_S = 0.01


class Row:
    """Sockets that ask again as soon as they have an answer."""

    def __init__(self, turns: DatabaseTurns) -> None:
        self.turns = turns
        self.answers: dict[int, int] = {}

    async def question(self) -> None:
        await asyncio.sleep(TAKES_S)

    async def ask_always(self, number: int) -> None:
        while True:
            await self.turns.ask(self.question)
            self.answers[number] = self.answers.get(number, 0) + 1


async def opened(share: float) -> Row:
    return Row(DatabaseTurns(share))


def test_sixty_who_ask_always_get_their_turns_and_a_share_of_the_time() -> None:
    loop = SimLoop()
    row = loop.run(opened(0.25))
    tasks = [loop.create_task(row.ask_always(number)) for number in range(60)]
    loop.run_for(12)
    assert sum(row.answers.values()) * TAKES_S <= 12 * 0.25 + TAKES_S
    assert set(row.answers.values()) == {5}
    for task in tasks:
        task.cancel()
    loop.run_until_idle()
    loop.close()


def test_who_asks_first_does_not_wait() -> None:
    loop = SimLoop()
    row = loop.run(opened(0.25))
    began_s = loop.time()
    loop.run(row.turns.ask(row.question))
    assert loop.time() - began_s < 2 * TAKES_S
    loop.close()


def test_who_watches_a_sandbox_is_not_asked_about_again_for_its_other_boards(stage: Stage) -> None:
    tab = stage.tab(BOARD)
    tab.may_see = False  # as the next look at all rights will find
    stage.port.show("board/s/g/t2", {"queues": {}}, seq=1)
    stage.do(stage.hub.join(tab.viewer, "board/s/g/t2"))
    stage.run_for(0.06)
    assert tab.kinds() == ["snap", "snap"]
