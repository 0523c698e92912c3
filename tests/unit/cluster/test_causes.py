"""An action's story, told over several turns, in the action's name."""

import asyncio
from collections.abc import Callable

import pytest

from sandbox.cluster.causes import in_the_name_of
from sandbox.journal.events import BrokerStopped
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import ScaledClock


def stopped(name: str) -> BrokerStopped:
    return BrokerStopped(broker=name, broker_id=0, how="clean")


@pytest.fixture
def journal() -> Journal:
    loop = asyncio.new_event_loop()
    loop.close()
    return Journal(ScaledClock(loop, start_ms=0))


def causes(journal: Journal) -> list[tuple[str, int | None]]:
    return [(entry.event.broker, entry.cause) for entry in journal.since(0)]  # type: ignore[union-attr]


async def test_each_step_of_the_story_has_the_cause_and_what_others_do_meanwhile_has_none(journal: Journal) -> None:
    async def story() -> None:
        journal.write(stopped("first"))
        await asyncio.sleep(0)
        journal.write(stopped("second"))

    task = asyncio.create_task(in_the_name_of(7, journal, story))
    await asyncio.sleep(0)
    journal.write(stopped("somebody"))
    await task
    journal.write(stopped("later"))
    assert causes(journal) == [("first", 7), ("somebody", None), ("second", 7), ("later", None)]


async def test_without_a_cause_nothing_is_named(journal: Journal) -> None:
    async def story() -> None:
        journal.write(stopped("alone"))

    await in_the_name_of(None, journal, story)
    assert causes(journal) == [("alone", None)]


@pytest.mark.parametrize("end", [lambda task: task.cancel(), lambda task: None])
async def test_a_story_cut_short_or_failing_ends_in_its_own_name(
    journal: Journal, end: Callable[[asyncio.Task[None]], object]
) -> None:
    async def story() -> None:
        try:
            await asyncio.sleep(0)
            raise ValueError("it fails")
        finally:
            journal.write(stopped("goodbye"))

    task = asyncio.create_task(in_the_name_of(9, journal, story))
    await asyncio.sleep(0)
    end(task)
    with pytest.raises((ValueError, asyncio.CancelledError)):
        await task
    assert causes(journal) == [("goodbye", 9)]


async def test_a_story_that_never_began_leaves_nothing_behind(journal: Journal) -> None:
    async def story() -> None:
        journal.write(stopped("never"))

    in_the_name_of(3, journal, story).close()
    assert causes(journal) == []
