"""Events of a coroutine that an action started have the action as their cause, in later turns too."""

from collections.abc import Callable, Coroutine, Generator
from typing import Any

from sandbox.journal.journal import Journal

Coro = Coroutine[Any, Any, None]


async def with_cause(cause: int | None, journal: Journal, begin: Callable[[], Coro]) -> None:
    """Run the coroutine that `begin` makes; events of its own steps, and no others between them, get `cause`.

    For coroutines that end: a member's start or stop.  Reactions of brokers and other members have no cause in the
    journal, so a context variable, which tasks and callbacks inherit, does not fit.
    """
    if cause is None:
        await begin()
    else:
        await _Caused(cause, journal, begin())


class _Caused:
    """Runs a coroutine step by step, so that the cause is set within each step and not while it waits."""

    def __init__(self, cause: int, journal: Journal, coroutine: Coro) -> None:
        self._cause = cause
        self._journal = journal
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, None]:
        steps = self._coroutine.__await__()
        step: Callable[[], Any] = lambda: next(steps)  # noqa: E731
        while True:
            try:
                with self._journal.caused_by(self._cause):
                    waits_for = step()
            except StopIteration:
                return
            try:
                yield waits_for
            except GeneratorExit:
                steps.close()
                raise
            except BaseException as why:
                thrown = why
                step = lambda: steps.throw(thrown)  # noqa: B023, E731
            else:
                step = lambda: next(steps)  # noqa: E731
