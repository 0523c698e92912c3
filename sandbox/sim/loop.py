"""An asyncio loop without selector and wall clock.

Callbacks run in the order of their scheduling, as asyncio guarantees.  When nothing is ready, time jumps to the next
timer.  The loop itself is deterministic without a seed.
"""

import asyncio
import contextvars
import logging
from asyncio import events, tasks
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, TypeVar

from sandbox.kernel.errors import SandboxError

log = logging.getLogger(__name__)

T = TypeVar("T")

CALLBACKS_PER_INSTANT = 5_000_000  # more callbacks without time passing count as an endless chain
CLOSING_TURNS = 100  # for tasks that clean up when the loop closes
SWEEP_AFTER = 64  # cancelled timers, before the heap is swept

if TYPE_CHECKING:
    LoopInterface = Any  # the type stubs call every unused method (sockets, pipes, signals) abstract
else:
    LoopInterface = asyncio.AbstractEventLoop


class Stuck(SandboxError):
    """The error if nothing is scheduled any more, or if too many callbacks run without time passing.

    The message names the waiting tasks.
    """


class SimLoop(LoopInterface):  # type: ignore[misc]
    """An event loop with virtual time, in seconds from 0.0.

    It has asyncio's public interface for tasks, futures and timers.  No sockets, threads, executors or signals:
    those methods raise NotImplementedError.  An unhandled error is raised from `run`, `run_for` or `run_until_idle`.
    """

    def __init__(self, *, most_at_once: float = CALLBACKS_PER_INSTANT) -> None:
        self.turns = 0  # so far, with the one that runs
        self.in_turn = False
        self._most_at_once = most_at_once
        self._now = 0.0
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._count = 0
        self._cancelled = 0
        self._at_this_instant = 0
        self._running = False
        self._closed = False
        self._unhandled: list[BaseException] = []
        self._exception_handler: Callable[[Any, dict[str, object]], object] | None = None

    # For the owner of the loop.

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run until `main` has finished, and return its result.  Other tasks continue with the next run."""
        with self.entered():
            task = self.create_task(main, name="main")
            while not task.done():
                self._turn()
        return task.result()

    run_until_complete = run

    def run_for(self, seconds: float) -> None:
        """Run for exactly `seconds`.  This never raises Stuck for lack of work: time just passes."""
        until = self._now + seconds
        with self.entered():
            while self._can_run(until):
                self._turn()
            self._move_to(until)

    def run_some(self, until: float, may_go_on: Callable[[], bool]) -> bool:
        """Run turns up to time `until`, as long as `may_go_on` returns True.  Return True if `until` was reached."""
        with self.entered():
            while self._can_run(until):
                if not may_go_on():
                    return False
                self._turn()
            self._move_to(until)
        return True

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Make this the running loop inside the `with` block, so that the owner can act between two turns."""
        self._check_open()
        if self._running:
            raise RuntimeError("this loop is already running")
        before = events._get_running_loop()
        task = _swap_task(before, None)
        self._running = True
        events._set_running_loop(self)
        try:
            yield
        finally:
            self._running = False
            events._set_running_loop(before)
            _swap_task(before, task)

    def run_turn(self) -> None:
        """Run one turn, at the time of the next callback.  Raises Stuck if nothing is scheduled."""
        with self.entered():
            self._turn()

    def next_time(self) -> float | None:
        """Return the time of the next turn, or None if nothing is scheduled."""
        return self._now if self._ready else self._next_time()

    def move_to(self, when: float) -> None:
        """Advance the time to `when`.  Nothing may be scheduled before."""
        assert not self._can_run(when), "something happens before"
        self._move_to(when)

    def run_until_idle(self) -> None:
        """Run all callbacks that are due now, until time would have to pass."""
        with self.entered():
            while self._can_run(self._now):
                self._turn()

    def close(self) -> None:
        """Cancel running tasks and give them some turns, but no time, to clean up.  Nothing runs afterwards."""
        if self._closed:
            return
        for task in self._waiting():
            task.cancel()
        self._at_this_instant = 0  # an endless chain was reported already; tasks that clean up still get their turns
        try:
            with self.entered():
                for _ in range(CLOSING_TURNS):
                    if self._can_run(self._now):
                        self._turn()
        finally:
            self._closed = True
            self._ready.clear()
            self._timers.clear()

    def __enter__(self) -> "SimLoop":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # For tasks, futures and clocks.

    def time(self) -> float:
        return self._now

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        self._check_open()
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # the loop has only one thread

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        self._check_open()
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        handle._scheduled = True  # type: ignore[attr-defined]  # so that its cancel calls us
        self._count += 1
        heappush(self._timers, (when, self._count, handle))
        return handle

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: contextvars.Context | None = None
    ) -> "asyncio.Task[T]":
        self._check_open()
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    def get_debug(self) -> bool:
        return False

    def get_exception_handler(self) -> Callable[[Any, dict[str, object]], object] | None:
        return self._exception_handler

    def set_exception_handler(self, handler: Callable[[Any, dict[str, object]], object] | None) -> None:
        self._exception_handler = handler

    def call_exception_handler(self, context: dict[str, object]) -> None:
        if self._exception_handler is not None:
            self._exception_handler(self, context)
        else:
            self.default_exception_handler(context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        log.error("%s", context.get("message", "unhandled error"), exc_info=error)
        if isinstance(error, Exception):
            self._unhandled.append(error)

    def _timer_handle_cancelled(self, _: asyncio.TimerHandle) -> None:
        self._cancelled += 1
        if self._cancelled > SWEEP_AFTER and self._cancelled * 2 > len(self._timers):
            self._timers = [entry for entry in self._timers if not entry[2].cancelled()]
            heapify(self._timers)
            self._cancelled = 0

    async def shutdown_asyncgens(self) -> None:
        return None

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        return None

    # One turn.

    def _turn(self) -> None:
        """Run the callbacks that are ready now; with none ready, first advance to the next timer's time."""
        timers, ready = self._timers, self._ready
        if not ready:
            when = self._next_time()
            if when is None:
                raise Stuck(self._complaint("nothing can happen any more"))
            self._move_to(when)
        while timers and timers[0][0] <= self._now:
            handle = timers[0][2]
            self._drop_first()
            if not handle.cancelled():
                ready.append(handle)
        self.turns += 1
        self._at_this_instant += len(ready)
        if self._at_this_instant > self._most_at_once:
            raise Stuck(self._complaint(f"{self._at_this_instant} callbacks ran and no time passed"))
        self.in_turn = True
        try:
            for _ in range(len(ready)):  # callbacks added by these run in the next turn
                waiting = ready.popleft()
                if not waiting.cancelled():
                    waiting._run()
        finally:
            self.in_turn = False
        if self._unhandled:
            raise self._unhandled.pop(0)

    def _can_run(self, until: float) -> bool:
        return bool(self._ready) or ((when := self._next_time()) is not None and when <= until)

    def _next_time(self) -> float | None:
        timers = self._timers
        while timers and timers[0][2].cancelled():
            self._drop_first()
        return timers[0][0] if timers else None

    def _drop_first(self) -> None:
        handle = heappop(self._timers)[2]
        handle._scheduled = False  # type: ignore[attr-defined]  # a later cancel must not count
        if handle.cancelled():
            self._cancelled = max(0, self._cancelled - 1)

    def _move_to(self, when: float) -> None:
        if when > self._now:
            self._now = when
            self._at_this_instant = 0

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("this loop is closed")

    def _waiting(self) -> list["asyncio.Task[Any]"]:
        return sorted(asyncio.all_tasks(self), key=lambda task: task.get_name())

    def _complaint(self, what: str) -> str:
        names = ", ".join(task.get_name() for task in self._waiting()[:8]) or "no task"
        return f"{what}, at t={self._now:.3f} s; waiting: {names}"


def _swap_task(loop: asyncio.AbstractEventLoop | None, task: "asyncio.Task[Any] | None") -> "asyncio.Task[Any] | None":
    """Replace the task that runs in `loop`, and return it.

    From Python 3.14 on a thread has one running task, whatever its loop, and refuses a second one.
    """
    swap = getattr(tasks, "_swap_current_task", None)  # Python 3.12
    return None if loop is None or swap is None else swap(loop, task)
