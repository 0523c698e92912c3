"""The clock as one client process sees it: it can be stopped while the world goes on."""

import asyncio
from collections.abc import Callable

from sandbox.kernel.clock import Clock, TimerHandle


class ProcessClock:
    """Keeps back what falls due while the process is stopped (SIGSTOP), and runs it all when it goes on.

    Time itself does not stop: after `resume` the process sees how long it was away.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: list[Callable[[], None]] = []
        self.stopped = False

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def ms_at(self, moment: float) -> int:
        return self._clock.ms_at(moment)

    def call_later(self, delay: float, fn: Callable[[], None]) -> TimerHandle:
        def due() -> None:
            if self.stopped:
                self._held.append(fn)
            else:
                fn()

        return self._clock.call_later(delay, due)

    async def sleep(self, delay: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_later(delay, lambda: None if future.done() else future.set_result(None))
        try:
            await future
        finally:
            timer.cancel()

    async def going_on(self) -> None:
        """Return at once, or when a stopped process goes on: what code must ask after it waited for others."""
        while self.stopped:
            await self.sleep(0)

    def stop(self) -> None:
        self.stopped = True

    def resume(self) -> None:
        self.stopped = False
        held, self._held = self._held, []
        for fn in held:
            fn()
