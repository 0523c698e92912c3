"""A coroutine started by an action: its events have the action as cause."""

import asyncio
from collections.abc import Callable

import pytest

from sandbox.cluster.causes import with_cause
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


async def test_each_step_of_the_coroutine_has_the_cause_and_other_events_meanwhile_have_none(journal: Journal) -> None:
    async def coroutine() -> None:
        journal.write(stopped("first"))
        await asyncio.sleep(0)
        journal.write(stopped("second"))

    task = asyncio.create_task(with_cause(7, journal, coroutine))
    await asyncio.sleep(0)
    journal.write(stopped("other"))
    await task
    journal.write(stopped("later"))
    assert causes(journal) == [("first", 7), ("other", None), ("second", 7), ("later", None)]


async def test_without_a_cause_nothing_is_named(journal: Journal) -> None:
    async def coroutine() -> None:
        journal.write(stopped("alone"))

    await with_cause(None, journal, coroutine)
    assert causes(journal) == [("alone", None)]


@pytest.mark.parametrize("end", [lambda task: task.cancel(), lambda task: None])
async def test_a_coroutine_cancelled_or_failing_keeps_its_cause_to_the_end(
    journal: Journal, end: Callable[[asyncio.Task[None]], object]
) -> None:
    async def coroutine() -> None:
        try:
            await asyncio.sleep(0)
            raise ValueError("it fails")
        finally:
            journal.write(stopped("goodbye"))

    task = asyncio.create_task(with_cause(9, journal, coroutine))
    await asyncio.sleep(0)
    end(task)
    with pytest.raises((ValueError, asyncio.CancelledError)):
        await task
    assert causes(journal) == [("goodbye", 9)]


async def test_a_coroutine_that_never_began_leaves_nothing_behind(journal: Journal) -> None:
    async def coroutine() -> None:
        journal.write(stopped("never"))

    with_cause(3, journal, coroutine).close()
    assert causes(journal) == []
