"""A queue of calls to a process that may hang."""

from collections.abc import Callable

MAX_QUEUED = 10_000  # calls kept while hung; a connection's buffers are limited, too


class Inbox:
    """A gate for calls to a process: each runs at once; while the process hangs, calls wait and then run in order."""

    def __init__(self) -> None:
        self.halted: Callable[[], bool] = lambda: False
        self._queued: list[Callable[[], None]] = []

    def take(self, step: Callable[[], None]) -> None:
        if not self.halted():
            step()
        elif len(self._queued) < MAX_QUEUED:
            self._queued.append(step)

    def deliver(self) -> None:
        """Run the waiting calls in order, because the process continues."""
        queued, self._queued = self._queued, []
        for step in queued:
            step()

    def forget(self) -> None:
        self._queued.clear()
