"""What reaches a process that may be halted."""

from collections.abc import Callable

MAX_UNHEARD = 10_000  # steps kept while halted; a connection's buffers fill up, too


class Inbox:
    """Takes each step at once, or in its order when a halted process goes on."""

    def __init__(self) -> None:
        self.halted: Callable[[], bool] = lambda: False
        self._unheard: list[Callable[[], None]] = []

    def take(self, step: Callable[[], None]) -> None:
        if not self.halted():
            step()
        elif len(self._unheard) < MAX_UNHEARD:
            self._unheard.append(step)

    def deliver(self) -> None:
        """The process goes on."""
        unheard, self._unheard = self._unheard, []
        for step in unheard:
            step()

    def forget(self) -> None:
        self._unheard.clear()
