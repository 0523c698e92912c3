"""Limit of stored messages per second, measured in the machine's time."""

from sandbox.journal.events import LimitReached
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.kernel.throttle import Throttle


class SendRateLimit:
    """Limit of `per_s` messages each second; `wait_s` returns how long a sender has to wait.

    It slows in-process producers down; the broker refuses an external client instead (code 2).
    """

    def __init__(self, wall: Clock, journal: Journal, per_s: int) -> None:
        self._wall = wall
        self._journal = journal
        self._per_s = per_s
        self._sends = Throttle(per_s, per_s)
        self._reports = Throttle(1)

    def wait_s(self, client: str) -> float:
        """Reserve one send; return the seconds of the machine's time to wait before it, 0 for none.

        The messages of one second may be sent at once, so bursts are possible.
        """
        now_s = self._wall.monotonic()
        wait_s = self._sends.wait_s(now_s)
        if wait_s and self._reports.take(now_s):
            self._journal.write(LimitReached("stored_messages_per_s", self._per_s + 1, self._per_s, client))
        return wait_s
