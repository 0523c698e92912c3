"""Totals of a whole broker with their means of 10 s, 60 s and 600 s, and how they stood in the morning (28)."""

from bisect import bisect_right
from collections import deque

SPANS_S = (10, 60, 600)
DAY_S = 86_400


class Total:
    """A number that only grows.  RocketMQ: the lists of `StoreStatsService`, one sample a second.

    A second in which nothing happened needs no sample: the one before it still says how the number stood.
    """

    __slots__ = ("_boot_s", "_samples", "value")

    def __init__(self, boot_s: float) -> None:
        self.value = 0
        self._boot_s = boot_s
        self._samples: deque[tuple[int, int]] = deque()  # a second since the start, and the number when it began

    def add(self, at_s: float, count: int) -> None:
        second = int(at_s - self._boot_s)
        if not self._samples or self._samples[-1][0] != second:
            self._samples.append((second, self.value))
            while self._samples[0][0] < second - SPANS_S[-1] - 1:
                self._samples.popleft()
        self.value += count

    def means(self, at_s: float) -> str:
        """Three figures, blank-separated; what the broker is too young for is left out, but not the first."""
        second = int(at_s - self._boot_s)
        known = [self._mean(second, span_s) if span_s == SPANS_S[0] or second >= span_s else "" for span_s in SPANS_S]
        return " ".join(known)

    def _mean(self, second: int, span_s: int) -> str:
        """Of the last whole seconds; the running one does not count."""
        return str((self._at(second) - self._at(second - span_s)) / span_s)

    def _at(self, second: int) -> int:
        """How it stood when that second began: as the first sample from there on says."""
        place = bisect_right(self._samples, second - 1, key=lambda sample: sample[0])
        return self._samples[place][1] if place < len(self._samples) else self.value


class Mornings:
    """How a total stood when today and yesterday began.  RocketMQ: `BrokerStats.record`, at midnight."""

    def __init__(self) -> None:
        self.today = 0
        self.yesterday = 0

    def midnight(self, total: int) -> None:
        self.yesterday, self.today = self.today, total
