"""Time as a process sees it that can be halted (SIGSTOP): the world goes on, its own timers do not."""

from collections.abc import Callable

from sandbox.kernel.clock import Clock, TimerHandle


class _Timer:
    """One timer of the process.  While the process is halted it may fall due, and then waits."""

    __slots__ = ("_fn", "_owner", "inner", "when")

    inner: TimerHandle

    def __init__(self, owner: "HaltingClock", fn: Callable[[], None]) -> None:
        self._owner = owner
        self._fn: Callable[[], None] | None = fn
        self.when = 0.0

    def cancel(self) -> None:
        self._fn = None
        self.inner.cancel()

    def ring(self) -> None:
        if self._owner.halted:
            self._owner.late.append(self)
            return
        fn, self._fn = self._fn, None
        if fn is not None:
            fn()


class HaltingClock:
    """A `Clock` over another one.  Timers that fall due during a halt run, in their order, when it ends."""

    def __init__(self, clock: Clock) -> None:
        self.now_ms = clock.now_ms
        self.monotonic = clock.monotonic
        self.ms_at = clock.ms_at
        self.sleep = clock.sleep
        self._clock = clock
        self.halted = False
        self.late: list[_Timer] = []

    def call_later(self, delay: float, fn: Callable[[], None]) -> TimerHandle:
        timer = _Timer(self, fn)
        timer.inner = self._clock.call_later(delay, timer.ring)
        timer.when = timer.inner.when
        return timer

    def go_on(self) -> None:
        self.halted = False
        late, self.late = self.late, []
        for timer in late:
            timer.ring()
