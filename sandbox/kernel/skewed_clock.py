"""Clock of a machine whose wall clock is wrong."""

from collections.abc import Callable, Coroutine
from typing import Any

from sandbox.kernel.clock import Clock, TimerHandle


class SkewedClock:
    """Clock whose `now_ms` is wrong by `skew_ms`; its durations and timers are right."""

    def __init__(self, clock: Clock, skew_ms: int = 0) -> None:
        self._clock = clock
        self.skew_ms = skew_ms

    def now_ms(self) -> int:
        return self._clock.now_ms() + self.skew_ms

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def ms_at(self, moment: float) -> int:
        return self._clock.ms_at(moment) + self.skew_ms

    def call_later(self, delay: float, fn: Callable[[], None]) -> TimerHandle:
        return self._clock.call_later(delay, fn)

    def sleep(self, delay: float) -> Coroutine[Any, Any, None]:
        return self._clock.sleep(delay)
