"""Clock of the engine, passed down as a value.

`Clock` is the interface; `ScaledClock` implements it on any asyncio-like loop, real or simulated.  Only this module
reads a loop's time, and only here seconds have no unit in their names.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, Protocol

log = logging.getLogger(__name__)

SETTLE_TURNS = 24  # loop turns between two timers of a step, so that what one started can finish first
DUE_PER_TURN = 512  # timers run in one loop turn; the rest waits, so that a fast clock cannot block the loop


def wall_ms() -> int:
    """Return the machine's time in ms.  Only for code that creates a clock; other code receives a clock."""
    return time.time_ns() // 1_000_000


class TimerHandle(Protocol):
    """Pending call of a timer; `when` is in `monotonic` seconds."""

    when: float

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Interface of the engine's only source of time."""

    def now_ms(self) -> int: ...
    def monotonic(self) -> float: ...
    def ms_at(self, moment: float) -> int: ...
    def call_later(self, delay: float, fn: Callable[[], None]) -> TimerHandle: ...
    async def sleep(self, delay: float) -> None: ...


class Loop(Protocol):
    """Interface of an asyncio loop as far as the clock needs it; `sim.loop.SimLoop` implements it too."""

    def time(self) -> float: ...
    def call_soon(self, callback: Callable[..., Any], *args: Any) -> Any: ...
    def call_later(self, delay: float, callback: Callable[..., Any], *args: Any) -> Any: ...
    def create_future(self) -> "asyncio.Future[Any]": ...


class Timer:
    """Entry of the clock's heap of timers."""

    __slots__ = ("_clock", "fn", "when")

    def __init__(self, clock: "ScaledClock", when: float, fn: Callable[[], None] | None) -> None:
        self._clock = clock
        self.when = when
        self.fn = fn

    def cancel(self) -> None:
        if self.fn is not None:
            self.fn = None
            self._clock.forget_one()


class ScaledClock:
    """Clock with virtual time: `rate` virtual seconds per loop second.

    All timers wait in a heap of the clock; the loop has one timer, for the earliest.  A change of rate re-arms only
    that timer.  `now_ms` starts at `start_ms`.
    """

    def __init__(self, loop: Loop, *, start_ms: int, rate: float = 1.0) -> None:
        self._loop = loop
        self._start_ms = start_ms
        self._rate = rate
        self._virtual_base = 0.0
        self._real_base = loop.time()
        self._timers: list[tuple[float, int, Timer]] = []
        self._count = 0
        self._cancelled = 0
        self._alarm: Any = None
        self._step_until: float | None = None
        self._closed = False

    @property
    def rate(self) -> float:
        return self._rate

    def now_ms(self) -> int:
        return self._start_ms + int(self.monotonic() * 1000 + 1e-6)

    def ms_at(self, moment: float) -> int:
        """Return the value of `now_ms` at a `monotonic` time; the same time always gives the same number."""
        return self._start_ms + int(moment * 1000 + 1e-6)

    def monotonic(self) -> float:
        if self._rate == 0.0:
            return self._virtual_base
        return self._virtual_base + (self._loop.time() - self._real_base) * self._rate

    def set_rate(self, rate: float) -> None:
        """Set the rate: 0 pauses, 0.1 is slow motion, 60 is a minute per second.  Ends a step."""
        if rate < 0:
            raise ValueError(f"rate must not be negative, got {rate}")
        self._rebase(self.monotonic())
        self._step_until = None
        self._rate = rate
        self._arm()

    def jump_to(self, now_ms: int) -> None:
        """Move forward to `now_ms` at once; timers due on the way run in order."""
        ahead_s = (now_ms - self.now_ms()) / 1000
        if ahead_s > 0:
            self._rebase(self.monotonic() + ahead_s)
            self._arm()

    def step(self, seconds: float) -> None:
        """Advance by `seconds` as fast as the work allows, then pause again."""
        if seconds < 0:
            raise ValueError(f"a step goes forward, got {seconds}")
        self.set_rate(0)
        self._step_until = self._virtual_base + seconds
        self._settle(SETTLE_TURNS)

    @property
    def stepping(self) -> bool:
        return self._step_until is not None

    def stop_step(self) -> None:
        """End a step now (the expected event has happened)."""
        self._step_until = None

    def call_later(self, delay: float, fn: Callable[[], None]) -> Timer:
        when = self.monotonic() + max(0.0, delay)
        timer = Timer(self, when, fn)
        self._count += 1
        heappush(self._timers, (when, self._count, timer))
        if self._timers[0][2] is timer:
            self._arm()
        return timer

    async def sleep(self, delay: float) -> None:
        future = self._loop.create_future()
        timer = self.call_later(delay, lambda: None if future.done() else future.set_result(None))
        try:
            await future
        finally:
            timer.cancel()

    def close(self) -> None:
        """Drop every timer.  Nothing fires afterwards."""
        self._closed = True
        self._timers.clear()
        self._disarm()

    def forget_one(self) -> None:
        """Count a cancelled timer; clean the heap if most of its timers are cancelled."""
        self._cancelled += 1
        if self._cancelled > 64 and self._cancelled * 2 > len(self._timers):
            self._timers = [entry for entry in self._timers if entry[2].fn is not None]
            heapify(self._timers)
            self._cancelled = 0

    def _rebase(self, virtual: float) -> None:
        self._virtual_base = virtual
        self._real_base = self._loop.time()

    def _disarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _arm(self) -> None:
        self._disarm()
        if not self._timers or self._closed:
            return
        wait = self._timers[0][0] - self.monotonic()
        if wait <= 0:
            self._alarm = self._loop.call_later(0, self._ring)
        elif self._rate > 0:  # paused: no timer in the loop
            self._alarm = self._loop.call_later(wait / self._rate, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        now = self.monotonic() + 1e-9
        for _ in range(DUE_PER_TURN):
            if not self._timers or self._timers[0][0] > now:
                break
            self._run_first()
        self._arm()

    def _run_first(self) -> None:
        timer = heappop(self._timers)[2]
        fn, timer.fn = timer.fn, None
        if fn is None:
            self._cancelled = max(0, self._cancelled - 1)
            return
        try:
            fn()
        except Exception:  # one failing timer must not stop the others
            log.exception("a timer failed")

    def _settle(self, turns: int) -> None:
        """Run a step: wait some turns, run the next due timer at its own time, wait again."""
        until = self._step_until
        if until is None or self._closed:
            return
        if turns > 0:
            self._loop.call_soon(self._settle, turns - 1)
            return
        while self._timers and self._timers[0][2].fn is None:
            heappop(self._timers)
            self._cancelled = max(0, self._cancelled - 1)
        if self._timers and self._timers[0][0] <= until:
            self._rebase(max(self._virtual_base, self._timers[0][0]))
            self._run_first()
            self._loop.call_soon(self._settle, SETTLE_TURNS)
            return
        self._rebase(until)
        self._step_until = None
