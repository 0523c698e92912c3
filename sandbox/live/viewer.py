"""A socket in the hub: its channels, its unacknowledged frames, and whether it keeps up."""

import logging
import math
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from typing import Any, NamedTuple

from sandbox.control.limits import HostLimits, SocketLimits
from sandbox.live.visible_parts import Sight

log = logging.getLogger(__name__)

BEHIND_GAP_S = 0.25  # between snapshots for a viewer that is behind: about one acknowledgement
SLOW_GAP_S = 0.5  # two frames a second
COST_MEMORY_S = 1.0  # what a viewer cost is forgotten like exp(-t / this)


class Sent(NamedTuple):
    n: int
    at_s: float


class Watch:
    """One channel of one viewer.  `behind`: the next frame must be the newest snapshot."""

    __slots__ = ("behind", "sent_at_s", "unacknowledged")

    def __init__(self) -> None:
        self.behind = True
        self.sent_at_s = float("-inf")
        self.unacknowledged: deque[Sent] = deque()

    def sent(self, n: int, now_s: float) -> None:
        self.sent_at_s = now_s
        self.unacknowledged.append(Sent(n, now_s))

    def acknowledge(self, n: int) -> None:
        while self.unacknowledged and self.unacknowledged[0].n <= n:
            self.unacknowledged.popleft()

    def age_s(self, now_s: float) -> float:
        """Return the age of the oldest unacknowledged frame in seconds."""
        return now_s - self.unacknowledged[0].at_s if self.unacknowledged else 0.0


def has_room(viewers: "Collection[Viewer]", address: str, limits: HostLimits) -> bool:
    """Return True if one more viewer from `address` is within the limits."""
    same = sum(viewer.address == address for viewer in viewers)
    return len(viewers) < limits.sockets and same < limits.sockets_per_address


class Viewer:
    """A socket.  `send` writes one text to the server's write buffer; it never waits for the client."""

    def __init__(
        self,
        send: Callable[[str], Awaitable[None]],
        close: Callable[[int], Awaitable[None]],
        may_see: Callable[[str], Awaitable[Sight]],
        address: str,
        limits: SocketLimits,
        who: Any = None,
    ) -> None:
        self._send = send
        self._close = close
        self.may_see = may_see
        self.who = who  # the visitor, for `Hub.still_see`
        self.address = address
        self.limits = limits
        self.watches: dict[str, Watch] = {}
        self.fact_cursors: dict[str, int] = {}  # facts channel -> newest seq sent
        self.scoreless: set[str] = set()  # slugs whose scores it is not shown
        self._cost, self._cost_at_s = 0.0, 0.0  # seconds a second, and when that was so
        self.hidden = False
        self.closed = False
        self.home: str | None = None  # slug of its first channel, whose beat it gets

    @property
    def channel_count(self) -> int:
        return len(self.watches) + len(self.fact_cursors)

    def look(self, slug: str, sight: Sight) -> bool:
        """Store what the viewer sees of `slug`.  Return True if that is anything."""
        if sight == Sight.ALL:
            self.scoreless.discard(slug)
        else:
            self.scoreless.add(slug)
        return bool(sight)

    async def send(self, text: str) -> None:
        if self.closed:
            return
        try:
            await self._send(text)
        except Exception as error:  # the socket went away; its consumer says so in a moment
            log.debug("sending to %s failed: %s", self.address, error)

    async def close(self, code: int) -> None:
        if not self.closed:
            self.closed = True
            await self._close(code)

    def charge(self, cost_s: float, now_s: float) -> None:
        """Add the cost, in seconds, of boards that were read for this viewer."""
        self._cost, self._cost_at_s = self.cost(now_s) + cost_s / COST_MEMORY_S, now_s

    def cost(self, now_s: float) -> float:
        """Return the viewer's recent cost: seconds of the engine's and the hub's time, per second."""
        return self._cost * math.exp((self._cost_at_s - now_s) / COST_MEMORY_S)

    @property
    def served_from_s(self) -> float:
        """The time at which the viewer's recent cost falls to its share."""
        over = self._cost / (self.limits.read_ms_per_s / 1000)
        return self._cost_at_s + COST_MEMORY_S * math.log(over) if over > 1 else float("-inf")

    def hide(self, *, hidden: bool) -> None:
        """Record that the tab is hidden or visible.

        A hidden tab gets no frames.  When it is visible again, it starts from the newest snapshot.
        """
        self.hidden = hidden
        for watch in self.watches.values():
            watch.behind = True
            watch.unacknowledged.clear()

    def oldest_age_s(self, now_s: float) -> float:
        return max((watch.age_s(now_s) for watch in self.watches.values()), default=0.0)

    def wants(self, watch: Watch, now_s: float) -> bool:
        """Return True if a frame may be sent now.  If the client does not keep up, mark the watch as behind."""
        if self.hidden or self.closed:
            watch.behind = True
            return False
        age_s = watch.age_s(now_s)
        if age_s < self.limits.behind_after_s:
            return True
        watch.behind = True
        gap_s = SLOW_GAP_S if age_s >= self.limits.slow_after_s else BEHIND_GAP_S
        return now_s - watch.sent_at_s >= gap_s
