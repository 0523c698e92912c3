"""What all listening ports of one sandbox share: their limits, and the count of whom they refused."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from sandbox.journal.events import ConnectionRefused, LimitReached
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.remoting.command import RemotingCommand
from sandbox.transport.tcp_limits import TcpLimits

log = logging.getLogger(__name__)

CONNECTIONS = "connections"  # too many of them
PROTOCOL = "protocol"  # bytes that are no frame
TOO_LARGE = "frame_bytes"  # a frame or a header over its limit
UNREAD = "unread"  # the other side does not read its answers
UNFINISHED = "unfinished"  # too many frames that do not come to their end
IDLE = "idle"  # silent in both directions for too long
TLS = "tls"  # it greeted with TLS, and the two did not agree
PENDING = "pending_requests"  # a refused request; its connection goes on
REASONS = (CONNECTIONS, PROTOCOL, TOO_LARGE, UNREAD, UNFINISHED, IDLE, TLS, PENDING)

TELL_EVERY_S = 1.0

Tap = Callable[[str, str, RemotingCommand, bytes], None]
"""Who sent it, who receives it, and its frame as it was on the wire."""


class Reader(Protocol):
    """A connection whose other end may leave answers unread."""

    unread_since_s: float | None

    def count_unread(self) -> int: ...
    def end_unread(self) -> None: ...


class TcpGuard:
    """Counts connections and refusals.  `clock` is the machine's: what it protects is the machine.

    Boards read `connections`, `unfinished_bytes`, `unread_bytes`, `refused` (by reason) and `untold` (refusals without
    an event).  The log has a line for each refusal that is told, and a second later one that counts the others.
    """

    def __init__(self, limits: TcpLimits, *, clock: Clock, journal: Journal) -> None:
        self.limits = limits
        self.clock = clock
        self._journal = journal
        self.tap: Tap | None = None  # sees every command that comes or goes
        self.connections = 0
        self.unfinished_bytes = 0
        self.unread_bytes = 0  # as last counted: what was read since is still in it
        self.refused: Counter[str] = Counter()
        self.untold = 0
        self._unlogged: Counter[str] = Counter()
        self._timer: TimerHandle | None = None
        self._second_s = 0.0
        self._told = 0
        self._told_pending_s = -TELL_EVERY_S
        self._readers: dict[Reader, int] = {}  # who left something unread when last counted, and how much

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
        """A connection is not taken, or ended.  All are counted; the first of a second are told to journal and log.

        `request_code`: the request at which it happened, where one is known.
        """
        self.refused[reason] += 1
        now_s = self.clock.monotonic()
        if now_s - self._second_s >= TELL_EVERY_S:
            self._second_s, self._told = now_s, 0
        if self._told >= self.limits.refusals_told_per_s:
            self.untold += 1
            self._log_later(reason)
            return
        self._told += 1
        at = "" if request_code is None else f" (request {request_code})"
        log.info("refused %s: %s, %s%s", address, reason, remark, at)
        self._journal.write(ConnectionRefused(address=address, reason=reason, request_code=request_code,
                                              remark=remark))

    def too_many_pending(self, address: str) -> None:
        """A request is answered with code 2.  Told at most once a second."""
        self.refused[PENDING] += 1
        self._log_later(PENDING)
        now_s, allowed = self.clock.monotonic(), self.limits.pending_requests
        if now_s - self._told_pending_s >= TELL_EVERY_S:
            self._told_pending_s = now_s
            self._journal.write(LimitReached(limit=PENDING, value=allowed + 1, allowed=allowed, who=address))

    def close(self) -> None:
        """Log what is counted and not logged yet."""
        if self._timer is not None:
            self._timer.cancel()
            self._log_untold()

    # Answers nobody reads, over all connections.

    def unread(self, reader: Reader, size: int) -> None:
        """One connection has so many bytes unread now.  Over the limit, who has not read for longest goes first."""
        before = self._readers.pop(reader, 0)
        if size:
            self._readers[reader] = size
        self.unread_bytes += size - before
        if self.unread_bytes <= self.limits.unread_total_bytes:
            return
        self._readers = {each: left for each in self._readers if (left := each.count_unread())}
        self.unread_bytes = sum(self._readers.values())
        for slowest in sorted(self._readers, key=lambda each: each.unread_since_s or 0.0):
            if self.unread_bytes <= self.limits.unread_total_bytes:
                break
            self.unread_bytes -= self._readers.pop(slowest)
            slowest.end_unread()

    # The log.

    def _log_later(self, reason: str) -> None:
        self._unlogged[reason] += 1
        if self._timer is None:
            self._timer = self.clock.call_later(TELL_EVERY_S, self._log_untold)

    def _log_untold(self) -> None:
        self._timer = None
        counted = ", ".join(f"{reason} {count}" for reason, count in sorted(self._unlogged.items()))
        log.info("refused %d more: %s", self._unlogged.total(), counted)
        self._unlogged.clear()
