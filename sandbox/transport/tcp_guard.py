"""What all listening ports of one sandbox share: their limits, and the count of whom they refused."""

import logging
from collections import Counter

from sandbox.journal.events import ConnectionRefused, LimitReached
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.transport.tcp_limits import TcpLimits

log = logging.getLogger(__name__)

CONNECTIONS = "connections"  # too many of them
PROTOCOL = "protocol"  # bytes that are no frame
UNREAD = "unread"  # the other side does not read its answers
UNFINISHED = "unfinished"  # too many frames that do not come to their end
PENDING = "pending_requests"  # a refused request; its connection goes on

TELL_EVERY_S = 1.0


class TcpGuard:
    """Counts connections and refusals.  `clock` is the machine's: what it protects is the machine.

    Boards read `connections`, `unfinished_bytes`, `refused` (by reason) and `untold` (refusals without an event).
    """

    def __init__(self, limits: TcpLimits, *, clock: Clock, journal: Journal) -> None:
        self.limits = limits
        self.clock = clock
        self._journal = journal
        self.connections = 0
        self.unfinished_bytes = 0
        self.refused: Counter[str] = Counter()
        self.untold = 0
        self._second_s = 0.0
        self._told = 0
        self._told_pending_s = -TELL_EVERY_S

    def admit(self, address: str) -> bool:
        """May one more connection stay?  Who was admitted must `leave`."""
        if self.connections >= self.limits.connections:
            self.refuse(address, CONNECTIONS, f"{self.connections} connections are open")
            return False
        self.connections += 1
        return True

    def leave(self) -> None:
        self.connections -= 1

    def refuse(self, address: str, reason: str, remark: str, request_code: int | None = None) -> None:
        """A connection is not taken, or ended.  All are counted; the first of a second are told to journal and log."""
        self.refused[reason] += 1
        now_s = self.clock.monotonic()
        if now_s - self._second_s >= TELL_EVERY_S:
            self._second_s, self._told = now_s, 0
        if self._told >= self.limits.refusals_told_per_s:
            self.untold += 1
            return
        self._told += 1
        log.info("refused %s: %s, %s", address, reason, remark)
        self._journal.write(ConnectionRefused(address=address, reason=reason, request_code=request_code,
                                              remark=remark))

    def too_many_pending(self, address: str) -> None:
        """A request is answered with code 2.  Told at most once a second."""
        self.refused[PENDING] += 1
        now_s, allowed = self.clock.monotonic(), self.limits.pending_requests
        if now_s - self._told_pending_s >= TELL_EVERY_S:
            self._told_pending_s = now_s
            self._journal.write(LimitReached(limit=PENDING, value=allowed + 1, allowed=allowed, who=address))
