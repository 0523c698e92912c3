"""What a group has done, as its in-process members' listeners saw it: rates, delays, deliveries repeated.

The engine's own count, kept beside the journal so that it stays exact when flow is skipped.
"""

from collections import deque

from sandbox.broker.stats import Rate
from sandbox.kernel.clock import Clock
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue

DELAYS_KEPT = 200  # end-to-end times the percentiles are drawn from
AHEAD_KEPT = 10_000  # offsets remembered beyond a gap, per queue


class Delivered:
    """Which offsets of one queue a listener has been given: all below `low`, and those in `ahead`."""

    __slots__ = ("ahead", "low")

    def __init__(self, first: int) -> None:
        self.low = first
        self.ahead: set[int] = set()

    def note(self, offset: int) -> bool:
        """True when this offset was given before."""
        if offset < self.low or offset in self.ahead:
            return True
        if offset == self.low:
            self.low += 1
            while self.low in self.ahead:
                self.ahead.remove(self.low)
                self.low += 1
        else:
            self.ahead.add(offset)
            if len(self.ahead) > AHEAD_KEPT:
                self.low = min(self.ahead)  # what lies below was skipped by a filter or a reset
        return False


class GroupLedger:
    """One group's account."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.delivered_again = 0
        self._delivered: dict[MessageQueue, Delivered] = {}
        self._done = Rate()
        self._delays_ms: deque[int] = deque(maxlen=DELAYS_KEPT)
        self._percentiles: tuple[int, int | None, int | None] = (-1, None, None)
        self._noted = 0

    def delivered(self, message: Message) -> None:
        """A listener is about to see it."""
        if message.broker is None or message.queue_id is None or message.queue_offset is None:
            return
        mq = MessageQueue(message.topic, message.broker, message.queue_id)
        seen = self._delivered.get(mq)
        if seen is None:
            seen = self._delivered[mq] = Delivered(message.queue_offset)
        if seen.note(message.queue_offset):
            self.delivered_again += 1

    def done(self, message: Message) -> None:
        """A listener has accepted it."""
        now_ms = self._clock.now_ms()
        self._done.add(int(self._clock.monotonic()), 1, 0)
        if message.store_ms is not None:
            self._delays_ms.append(max(0, now_ms - message.store_ms))
            self._noted += 1

    def per_s(self) -> float:
        return self._done.per_s(int(self._clock.monotonic()))

    def delays_ms(self) -> tuple[int | None, int | None]:
        """Median and 99th percentile from store to acceptance, of the last 200; None before the first."""
        if self._percentiles[0] != self._noted and self._delays_ms:
            ordered = sorted(self._delays_ms)
            last = len(ordered) - 1
            self._percentiles = (self._noted, ordered[last // 2], ordered[last * 99 // 100])
        return self._percentiles[1], self._percentiles[2]
