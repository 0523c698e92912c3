"""What an action sets going runs on in later turns; what it writes there still names the action."""

from collections.abc import Callable, Coroutine, Generator
from typing import Any

from sandbox.journal.journal import Journal

Story = Coroutine[Any, Any, None]


async def in_the_name_of(cause: int | None, journal: Journal, begin: Callable[[], Story]) -> None:
    """Run the story that `begin` makes; its own steps, and nobody else's between them, are caused by `cause`.

    For stories that end: a member's start or stop.  What others do because of it has no cause in the journal, as the
    brokers and the other members decide for themselves.
    """
    if cause is None:
        await begin()
    else:
        await _Caused(cause, journal, begin())


class _Caused:
    """A story taken step by step, so that the cause holds within each and not while it waits."""

    def __init__(self, cause: int, journal: Journal, story: Story) -> None:
        self._cause = cause
        self._journal = journal
        self._story = story

    def __await__(self) -> Generator[Any, Any, None]:
        steps = self._story.__await__()
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
