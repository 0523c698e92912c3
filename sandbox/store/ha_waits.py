"""Puts that wait for a slave's acknowledgement."""

from collections import deque
from collections.abc import Callable

from sandbox.kernel.clock import Clock, TimerHandle


class _Waiting:
    """A put that may be answered once some slave has the log up to `physical_end`."""

    __slots__ = ("done", "physical_end", "timer")

    timer: TimerHandle

    def __init__(self, physical_end: int, done: Callable[[bool], None]) -> None:
        self.physical_end = physical_end
        self.done = done


class ReplicaWaits:
    """Waiting puts, answered in order: each when any slave has acknowledged it, or at its timeout.

    RocketMQ: `HAService.GroupTransferService`; its check once a second is finer here.
    """

    def __init__(self, clock: Clock, timeout_ms: int) -> None:
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._waiting: deque[_Waiting] = deque()
        self.acknowledged = 0  # highest acknowledged offset; never decreases while the process runs

    def when_acknowledged(self, physical_end: int, done: Callable[[bool], None]) -> None:
        """Call `done(True)` once a slave has the log up to `physical_end`, `done(False)` after the timeout."""
        if self.acknowledged >= physical_end:
            done(True)
            return
        waiting = _Waiting(physical_end, done)
        waiting.timer = self._clock.call_later(self._timeout_ms / 1000, lambda: self._give_up(waiting))
        self._waiting.append(waiting)

    def acknowledge(self, offset: int) -> None:
        """Record that a slave has everything below `offset`, and answer the puts that wait for it."""
        self.acknowledged = max(self.acknowledged, offset)
        while self._waiting and self._waiting[0].physical_end <= self.acknowledged:
            waiting = self._waiting.popleft()
            waiting.timer.cancel()
            waiting.done(True)

    def stop(self) -> None:
        """Stop the timers.  Waiting puts are not answered: the process ends."""
        for waiting in self._waiting:
            waiting.timer.cancel()
        self._waiting.clear()

    def _give_up(self, waiting: _Waiting) -> None:
        if waiting in self._waiting:
            self._waiting.remove(waiting)
            waiting.done(False)
