"""Clock of one process that can be stopped (SIGSTOP) while time continues."""

import asyncio
from collections.abc import Callable

from sandbox.kernel.clock import Clock, TimerHandle


class ProcessTimer:
    """Timer of the process.  If it is due while the process is stopped, it waits; it can be cancelled."""

    __slots__ = ("_fn", "_owner", "inner", "when")

    inner: TimerHandle

    def __init__(self, owner: "ProcessClock", fn: Callable[[], None]) -> None:
        self._owner = owner
        self._fn: Callable[[], None] | None = fn
        self.when = 0.0

    def cancel(self) -> None:
        self._fn = None
        self.inner.cancel()

    def ring(self) -> None:
        if self._owner.stopped:
            self._owner.late.append(self)
            return
        fn, self._fn = self._fn, None
        if fn is not None:
            fn()


class ProcessClock:
    """Clock of a process, based on another clock.  Timers due while it is stopped run in order when it continues.

    Time itself does not stop: after `wake` the process can measure how long it was stopped.
    """

    def __init__(self, clock: Clock) -> None:
        self.now_ms = clock.now_ms
        self.monotonic = clock.monotonic
        self.ms_at = clock.ms_at
        self._clock = clock
        self.stopped = False
        self.late: list[ProcessTimer] = []

    def call_later(self, delay: float, fn: Callable[[], None]) -> TimerHandle:
        timer = ProcessTimer(self, fn)
        timer.inner = self._clock.call_later(delay, timer.ring)
        timer.when = timer.inner.when
        return timer

    async def sleep(self, delay: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_later(delay, lambda: None if future.done() else future.set_result(None))
        try:
            await future
        finally:
            timer.cancel()

    async def going_on(self) -> None:
        """Return at once, or when a stopped process continues.  Call it after waiting for other processes."""
        while self.stopped:
            await self.sleep(0)

    def stop(self) -> None:
        self.stopped = True

    def wake(self) -> None:
        """Continue; the owner then handles what arrived meanwhile, and calls `ring_late`."""
        self.stopped = False

    def ring_late(self) -> None:
        """Run the timers that became due while the process was stopped."""
        late, self.late = self.late, []
        for timer in late:
            timer.ring()
