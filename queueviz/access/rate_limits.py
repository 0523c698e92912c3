"""Rate limits per visitor, counted in this process."""

import time
from collections.abc import Callable

from sandbox.control.limits import HostLimits
from sandbox.kernel.errors import ActionRefused
from sandbox.kernel.throttle import Throttle

KEPT_BUCKETS = HostLimits().counted_visitors


class Rate(Throttle):
    """A rate limit of the action `what`; each key is a visitor."""

    def __init__(self, per_s: float, burst: float, *, what: str, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(per_s, burst, keys=KEPT_BUCKETS)
        self.what = what
        self._now = now

    def admits(self, key: str) -> bool:
        return self.take(self._now(), key)

    def demand(self, key: str) -> None:
        """Raise ActionRefused (429) if the visitor's rate is above the limit."""
        if not self.admits(key):
            raise ActionRefused(
                429,
                "Too many {what} from you in a short time.",
                "Wait {wait_s} s and try again.",
                what=self.what,
                wait_s=f"{max(1.0, 1 / self.per_s):g}",
            )
