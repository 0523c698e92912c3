"""How often one visitor may do something: a bucket per visitor and kind, in this process."""

import time
from collections import OrderedDict
from collections.abc import Callable

from sandbox.control.limits import HostLimits
from sandbox.kernel.errors import ActionRefused

KEPT_BUCKETS = HostLimits().counted_visitors


class Rate:
    """At most `burst` at once and `per_s` in the long run, for each key."""

    def __init__(self, per_s: float, burst: float, *, what: str, now: Callable[[], float] = time.monotonic) -> None:
        self.per_s, self.burst, self.what = per_s, burst, what
        self._now = now
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # key -> (left, at)

    def admits(self, key: str) -> bool:
        now = self._now()
        left, at = self._buckets.pop(key, (self.burst, now))
        left = min(self.burst, left + (now - at) * self.per_s)
        admitted = left >= 1
        self._buckets[key] = (left - 1 if admitted else left, now)
        if len(self._buckets) > KEPT_BUCKETS:
            self._buckets.popitem(last=False)
        return admitted

    def demand(self, key: str) -> None:
        """Raise the refusal with status 429 where the visitor is too fast."""
        if not self.admits(key):
            raise ActionRefused(429, "Too many {what} from you at once.", "Wait {wait_s} s and try again.",
                                what=self.what, wait_s=f"{max(1.0, 1 / self.per_s):g}")

    def forget(self) -> None:
        """Nobody has done anything yet."""
        self._buckets.clear()

    def __len__(self) -> int:
        return len(self._buckets)
