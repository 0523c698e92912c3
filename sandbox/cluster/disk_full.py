"""Stop of a sandbox whose journal and record cannot be written: its further history would be unknown."""

import logging
from collections.abc import Callable

from sandbox.cluster.steps import Steps
from sandbox.journal.events import ClockChanged
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock, ScaledClock, TimerHandle
from sandbox.kernel.errors import ActionRefused

log = logging.getLogger(__name__)

TRY_AGAIN_S = 1.0  # seconds of the machine
GO_ON_BYTES = 4 * 1024 * 1024  # that must be free beside the refused bytes, or it would stop again at once
NOTHING_MORE = "The data home accepts no more data: {why}."


def said_by(error: OSError) -> str:
    """Return the operating system's error text in lower case, for use within a sentence."""
    return (error.strerror or str(error)).lower()


class DiskFull:
    """Stop of the sandbox's clock while the data home accepts no data; the clock restarts when it does.

    Acknowledged messages are in the brokers' files.  Journal entries wait in memory, and few are added, because the
    clock is stopped.  `why` is the error text of the operating system; None while the disk accepts data.
    """

    def __init__(
        self,
        clock: ScaledClock,
        wall: Clock,
        journal: Journal,
        steps: Steps,
        *,
        try_again: Callable[[], bool],
        stopped: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._wall = wall
        self._journal = journal
        self._steps = steps
        self._try_again = try_again
        self._stopped = stopped
        self._timer: TimerHandle | None = None
        self._over = False
        self.why: str | None = None
        self.rate_before: float | None = None
        self.refused_bytes = 0  # the largest write that was refused

    def begin(self, error: OSError, asked_bytes: int = 0) -> None:
        """Record that the disk refused a write, and stop the clock in the next turn.

        The clock does not stop at once, because the journal may be in the middle of an entry.
        """
        self.refused_bytes = max(self.refused_bytes, asked_bytes)
        if self.why is None and not self._over:
            self.why = said_by(error)
            log.error("standing still: %s", error)
            self._timer = self._wall.call_later(0, self._stop)

    @property
    def sentence(self) -> str | None:
        """Reason of the stop as an English sentence; translations fill `NOTHING_MORE` with `why`."""
        return None if self.why is None else NOTHING_MORE.format(why=self.why)

    def check(self) -> None:
        """Raise ActionRefused (503) while the sandbox is stopped by a full disk."""
        if self.why is not None:
            raise ActionRefused(
                503,
                "The sandbox is stopped, because its data cannot be stored: {why}.",
                "Free some space on the server; the sandbox resumes automatically.",
                why=self.why,
            )

    def end(self) -> None:
        """Stop checking, because the sandbox is closed."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop(self) -> None:
        self._stopped()
        self.rate_before = self._clock.rate
        self._steps.end()
        self._clock.set_rate(0)
        self._journal.write(ClockChanged(0.0, "disk", self._wall.now_ms()))
        self._timer = self._wall.call_later(TRY_AGAIN_S, self._look)

    def _look(self) -> None:
        if not self._try_again():
            self._timer = self._wall.call_later(TRY_AGAIN_S, self._look)
            return
        rate, self.rate_before, self.why, self._timer = self.rate_before or 0.0, None, None, None
        self.refused_bytes = 0
        self._clock.set_rate(rate)
        self._journal.write(ClockChanged(rate, "disk", self._wall.now_ms()))
