"""Monotonic counters: averages over 10 s, 60 s and 600 s, values at midnight, rates."""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable

from sandbox.kernel.clock import Clock

SPANS_S = (10, 60, 600)
DAY_S = 86_400
WINDOW_S = 10
LEAST_S = 1.0  # a rate of less time is unknown


class Total:
    """A number that only grows, with its past values.

    RocketMQ: the lists of `StoreStatsService`, one sample a second.
    A second without a change needs no sample: the one before is still valid.
    """

    __slots__ = ("_boot_s", "_samples", "value")

    def __init__(self, boot_s: float) -> None:
        self.value = 0
        self._boot_s = boot_s
        self._samples: deque[tuple[int, int]] = deque()  # second since the start, and the number at its begin

    def add(self, at_s: float, count: int) -> None:
        second = int(at_s - self._boot_s)
        if not self._samples or self._samples[-1][0] != second:
            self._samples.append((second, self.value))
            while self._samples[0][0] < second - SPANS_S[-1] - 1:
                self._samples.popleft()
        self.value += count

    def means(self, at_s: float) -> str:
        """Return the averages over 10 s, 60 s and 600 s, separated by blanks.

        Averages over more than the broker's age are left out, except the first.
        """
        second = int(at_s - self._boot_s)
        known = [self._mean(second, span_s) if span_s == SPANS_S[0] or second >= span_s else "" for span_s in SPANS_S]
        return " ".join(known)

    def _mean(self, second: int, span_s: int) -> str:
        """Return the mean per second over the last `span_s` whole seconds; the current one does not count."""
        return str((self._at(second) - self._at(second - span_s)) / span_s)

    def _at(self, second: int) -> int:
        """Return the value at the begin of a second: that of the first sample from there on."""
        index = bisect_right(self._samples, second - 1, key=lambda sample: sample[0])
        return self._samples[index][1] if index < len(self._samples) else self.value


class Mornings:
    """The value of a total at the begin of today and yesterday.  RocketMQ: `BrokerStats.record`, at midnight."""

    def __init__(self, clock: Clock, utc_offset_minutes: int) -> None:
        self.today = 0
        self.yesterday = 0
        local_s = clock.now_ms() / 1000 + utc_offset_minutes * 60
        self._midnight_s = clock.monotonic() + DAY_S - local_s % DAY_S

    def catch_up(self, at_s: float, total: int) -> None:
        """Record the midnights that have passed.  Call it before the total grows, and before it is read."""
        while at_s >= self._midnight_s:
            self.yesterday, self.today = self.today, total
            self._midnight_s += DAY_S


class Turn(dict[str, list[int]]):
    """Messages, bytes and requests of one turn by topic, so that counting reads the clock once per turn."""

    __slots__ = ()

    def note(self, topic: str, count: int, size: int) -> None:
        noted = self.get(topic)
        if noted is None:
            self[topic] = [count, size, 1]
        else:
            noted[0] += count
            noted[1] += size
            noted[2] += 1


class Rate:
    """Counts per second for the last ten whole seconds and the current one.  `since_s`: when counting began."""

    __slots__ = ("_bytes", "_counts", "_second", "_since_s", "bytes", "count")

    def __init__(self, since_s: float) -> None:
        self._since_s = since_s
        self._counts = [0] * (WINDOW_S + 1)
        self._bytes = [0] * (WINDOW_S + 1)
        self._second = 0
        self.count = 0
        self.bytes = 0

    def add(self, now_s: int, count: int, size: int) -> None:
        if now_s != self._second:
            self._turn(now_s)
        slot = now_s % (WINDOW_S + 1)
        self._counts[slot] += count
        self._bytes[slot] += size
        self.count += count
        self.bytes += size

    def per_s(self, now_s: int) -> float | None:
        """Return the average of the last ten whole seconds, or of the time since counting began.

        The current second is left out, so the figure does not flicker.  None: too little time to measure.
        """
        if now_s != self._second:
            self._turn(now_s)
        counted_s = min(float(WINDOW_S), now_s - self._since_s)
        if counted_s < LEAST_S:
            return None
        return (sum(self._counts) - self._counts[now_s % (WINDOW_S + 1)]) / counted_s

    def _turn(self, now_s: int) -> None:
        for second in range(max(self._second + 1, now_s - WINDOW_S), now_s + 1):
            slot = second % (WINDOW_S + 1)
            self._counts[slot] = self._bytes[slot] = 0
        self._second = now_s


def total_per_s(rates: Iterable[float | None]) -> float | None:
    """Return the sum of the rates; None if one of them is unknown.

    >>> total_per_s([1.5, 2.0]), total_per_s([1.5, None])
    (3.5, None)
    """
    known = list(rates)
    return None if None in known else sum(rate for rate in known if rate is not None)
