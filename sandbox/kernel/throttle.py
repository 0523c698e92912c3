"""Rate limit by token buckets: a burst at once, and a rate per second in the long run."""

from collections import OrderedDict
from math import inf


class Throttle:
    """Token bucket for each key, full at first.  `now_s` is the caller's monotonic time.

    With more than `keys` keys, the one that was used longest ago is removed.
    """

    def __init__(self, per_s: float, burst: float = 1.0, *, keys: float = inf) -> None:
        self.per_s, self.burst = per_s, burst
        self._keys = keys
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # key → (left, when that was so)

    def take(self, now_s: float, key: str = "") -> bool:
        """Take a token; return False if none is left."""
        left = self._left(now_s, key)
        if left < 1:
            return False  # the bucket stays as it is: adding up small times would round
        self._buckets[key] = left - 1, now_s
        return True

    def wait_s(self, now_s: float, key: str = "") -> float:
        """Take a token in any case; return the seconds until it is available, 0 for now."""
        left = self._left(now_s, key) - 1
        self._buckets[key] = left, now_s
        return max(0.0, -left / self.per_s)

    def forget(self) -> None:
        """Make all buckets full."""
        self._buckets.clear()

    def __len__(self) -> int:
        return len(self._buckets)

    def _left(self, now_s: float, key: str) -> float:
        left, at_s = self._buckets.setdefault(key, (self.burst, now_s))
        self._buckets.move_to_end(key)
        if len(self._buckets) > self._keys:
            self._buckets.popitem(last=False)
        return min(self.burst, left + (now_s - at_s) * self.per_s)
