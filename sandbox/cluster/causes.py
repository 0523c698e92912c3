"""Causes of events: an action is the cause of the events of the coroutines it started, in later turns too."""

import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from sandbox.journal.journal import Journal

Coro = Coroutine[Any, Any, None]


async def with_cause(cause: int | None, journal: Journal, begin: Callable[[], Coro]) -> None:
    """Run the coroutine of `begin`; events of its own steps, and no others between them, get `cause`.

    Used for coroutines that end: a member's start or stop.  Reactions of brokers and other members have no cause in
    the journal, so a context variable, which tasks and callbacks inherit, does not fit.
    """
    if cause is None:
        await begin()
    else:
        await _caused(cause, journal, begin())


@types.coroutine
def _caused(cause: int, journal: Journal, coroutine: Coro) -> Generator[Any, Any, None]:
    """Run a coroutine step by step; the cause is set during each step and not while it waits."""
    step: Callable[[Any], Any] = coroutine.send
    value: Any = None
    while True:
        try:
            with journal.caused_by(cause):
                waits_for = step(value)
        except StopIteration:
            return
        try:
            step, value = coroutine.send, (yield waits_for)
        except GeneratorExit:
            coroutine.close()
            raise
        except BaseException as error:
            step, value = coroutine.throw, error
