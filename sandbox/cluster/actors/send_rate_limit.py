"""Limit of stored messages a second, counted in the machine's seconds."""

from sandbox.journal.events import LimitReached
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.kernel.throttle import Throttle


class SendRateLimit:
    """Lets `per_s` messages through each second; a sender that is too early gets the time to wait.

    In-process producers are slowed by it; a wire client is refused by the broker (code 2).
    """

    def __init__(self, wall: Clock, journal: Journal, per_s: int) -> None:
        self._wall = wall
        self._journal = journal
        self._per_s = per_s
        self._sends = Throttle(per_s, per_s)
        self._reports = Throttle(1)

    def wait_s(self, client: str) -> float:
        """Reserve one send; returns the machine's seconds to wait before it, 0 for none.

        The messages of one second may go at once, so bursts are possible.
        """
        now_s = self._wall.monotonic()
        wait_s = self._sends.wait_s(now_s)
        if wait_s and self._reports.take(now_s):
            self._journal.write(LimitReached("stored_messages_per_s", self._per_s + 1, self._per_s, client))
        return wait_s
