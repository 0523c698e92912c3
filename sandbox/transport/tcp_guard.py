"""Limits and counters of refusals, shared by all listening ports of one sandbox."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from sandbox.journal.events import ConnectionRefused, LimitReached
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.kernel.throttle import Throttle
from sandbox.remoting.command import RemotingCommand
from sandbox.transport.tcp_limits import TcpLimits

log = logging.getLogger(__name__)

CONNECTIONS = "connections"  # too many of them
PROTOCOL = "protocol"  # bytes that are no frame
TOO_LARGE = "frame_bytes"  # a frame or a header over its limit
UNREAD = "unread"  # the other side does not read its answers
UNFINISHED = "unfinished"  # too many incomplete frames
IDLE = "idle"  # no bytes in both directions for too long
TLS = "tls"  # the TLS handshake failed
PENDING = "pending_requests"  # a refused request; its connection stays
REASONS = (CONNECTIONS, PROTOCOL, TOO_LARGE, UNREAD, UNFINISHED, IDLE, TLS, PENDING)

LOG_AFTER_S = 1.0

Tap = Callable[[str, str, RemotingCommand, bytes], None]
"""Sender, receiver, and the frame as it was on the wire."""


class Reader(Protocol):
    """A connection whose other end may leave answers unread."""

    unread_since_s: float | None

    def count_unread(self) -> int: ...
    def end_unread(self) -> None: ...


class TcpGuard:
    """The counters of connections and refusals, with their limits.  `clock` is the machine's clock.

    Snapshots read `connections`, `unfinished_bytes`, `unread_bytes`, `refused` (by reason) and `unreported`
    (refusals without an event).  The log has a line for each reported refusal, and a second later one that counts
    the others.
    """

    def __init__(
        self, limits: TcpLimits, *, clock: Clock, journal: Journal, check: Callable[[], None] = lambda: None
    ) -> None:
        """Set the limits.  `check` is called before bytes are sent."""
        self.limits = limits
        self.check = check
        self.clock = clock
        self._journal = journal
        self.tap: Tap | None = None  # sees every command received or sent
        self.connections = 0
        self.unfinished_bytes = 0
        self.unread_bytes = 0  # at the last count: bytes read since are included
        self.refused: Counter[str] = Counter()
        self.unreported = 0
        self._unlogged: Counter[str] = Counter()
        self._timer: TimerHandle | None = None
        self._reports = Throttle(limits.refusals_told_per_s, limits.refusals_told_per_s)
        self._pending_reports = Throttle(1)
        self._readers: dict[Reader, int] = {}  # bytes left unread at the last count

    def admit(self, address: str) -> bool:
        """Return True if one more connection is within the limit.  Each admitted one must call `leave`."""
        if self.connections >= self.limits.connections:
            self.refuse(address, CONNECTIONS, f"{self.connections} connections are open")
            return False
        self.connections += 1
        return True

    def leave(self) -> None:
        self.connections -= 1

    def refuse(self, address: str, reason: str, remark: str, request_code: int | None = None) -> None:
        """Count a connection that is refused or ended.

        A limited number per second is also written to journal and log.  `request_code`: the request that caused it,
        if known.
        """
        self.refused[reason] += 1
        if not self._reports.take(self.clock.monotonic()):
            self.unreported += 1
            self._log_later(reason)
            return
        at = "" if request_code is None else f" (request {request_code})"
        log.info("refused %s: %s, %s%s", address, reason, remark, at)
        self._journal.write(ConnectionRefused(address=address, reason=reason, request_code=request_code, remark=remark))

    def too_many_pending(self, address: str) -> None:
        """Count a request that is answered with code 2, because too many are pending.

        Reported at most once a second.
        """
        self.refused[PENDING] += 1
        self._log_later(PENDING)
        if self._pending_reports.take(self.clock.monotonic()):
            allowed = self.limits.pending_requests
            self._journal.write(LimitReached(limit=PENDING, value=allowed + 1, allowed=allowed, who=address))

    def close(self) -> None:
        """Log the refusals counted but not logged yet."""
        if self._timer is not None:
            self._timer.cancel()
            self._log_unreported()

    # Unread answers, over all connections.

    def unread(self, reader: Reader, size: int) -> None:
        """Set the number of bytes that one connection has unread.

        If the total is over the limit, connections are ended, beginning with the one idle for longest.
        """
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
            self._timer = self.clock.call_later(LOG_AFTER_S, self._log_unreported)

    def _log_unreported(self) -> None:
        self._timer = None
        counted = ", ".join(f"{reason} {count}" for reason, count in sorted(self._unlogged.items()))
        log.info("refused %d more: %s", self._unlogged.total(), counted)
        self._unlogged.clear()
