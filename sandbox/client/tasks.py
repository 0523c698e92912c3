"""Tasks with an owner, alarms, and periodic jobs."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeVar

from sandbox.kernel.clock import Clock

log = logging.getLogger(__name__)

T = TypeVar("T")

Job = Callable[[], Coroutine[Any, Any, None]]


class Tasks:
    """Running coroutines of one object; they end when it closes.

    A coroutine that fails is logged; the others continue, because they belong to other requests.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._running: dict[asyncio.Task[None], None] = {}  # a dict keeps the order: closing is deterministic
        self._closed = False

    def spawn(self, coroutine: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None] | None":
        """Start a task and return it; None after `cancel` or `close`, when no task can start."""
        if self._closed:
            coroutine.close()
            return None
        task = asyncio.get_running_loop().create_task(coroutine, name=f"{self._name} {name}")
        self._running[task] = None
        task.add_done_callback(self._ended)
        return task

    def cancel(self) -> None:
        """Cancel all tasks without waiting for their end."""
        self._closed = True
        for task in list(self._running):
            task.cancel()

    async def close(self) -> None:
        """Cancel all tasks and wait until they have ended.  The caller's own task, if among them, continues."""
        me = asyncio.current_task()
        self._closed = True
        others = [task for task in self._running if task is not me]
        for task in others:
            task.cancel()
        if others:
            await asyncio.gather(*others, return_exceptions=True)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._running.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("task %s failed", task.get_name(), exc_info=error)


class Alarm:
    """Wait of a service until its next turn, which another call can end early.

    RocketMQ: `ServiceThread.waitForRunning` and `wakeup`.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._future: asyncio.Future[bool] | None = None
        self._reasons: list[str] = []
        self.rounds = 0  # waits that have ended
        self.due_s: float | None = None

    def wake(self, reason: str) -> None:
        """End the current wait, or the next one before it begins."""
        self._reasons.append(reason)
        if self._future is not None and not self._future.done():
            self._future.set_result(True)

    async def wait(self, seconds: float, otherwise: str) -> str:
        """Wait; return the first reason passed to `wake` since the last wait, or `otherwise` after `seconds`."""
        if not self._reasons:
            future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            self._future = future
            self.due_s = self._clock.monotonic() + seconds
            timer = self._clock.call_later(seconds, lambda: None if future.done() else future.set_result(False))
            try:
                await future
            finally:
                timer.cancel()
                self._future = None
        reason = self._reasons[0] if self._reasons else otherwise
        self._reasons.clear()
        self.rounds += 1
        return reason


class TimerRow(NamedTuple):
    """Row of the timer table: next run, periods, and the number of runs; `runs` None means not counted."""

    due_ms: int | None
    first_ms: int
    period_ms: int
    runs: int | None


class Periodic:
    """Job of one instance's timer table: first run after `first_ms`, then every `period_ms`.

    Runs are due at a fixed rate.  If a run lasts beyond the next due time, that run is skipped.
    """

    def __init__(self, clock: Clock, *, first_ms: int, period_ms: int, job: Job) -> None:
        self._clock = clock
        self.first_ms = first_ms
        self.period_ms = period_ms
        self.runs = 0  # rounds that have begun
        self._period_s = period_ms / 1000
        self._job = job
        self._due_s = clock.monotonic() + first_ms / 1000

    @property
    def due_s(self) -> float:
        return self._due_s

    async def run(self) -> None:
        while True:
            await self._clock.sleep(self._due_s - self._clock.monotonic())
            self.runs += 1
            try:
                await self._job()
            except Exception:  # one failed round must not end the timer
                log.exception("a periodic job failed")
            self._due_s += self._period_s
            behind_s = self._clock.monotonic() - self._due_s
            if behind_s > 0:
                self._due_s += self._period_s * (int(behind_s / self._period_s) + 1)


async def within(clock: Clock, coroutine: Coroutine[Any, Any, T], seconds: float) -> T | None:
    """Return the coroutine's result, or cancel it and return None if it takes longer than `seconds`."""
    task = asyncio.get_running_loop().create_task(coroutine)
    timer = clock.call_later(seconds, lambda: late.append(task.cancel()))
    late: list[bool] = []
    try:
        return await task
    except asyncio.CancelledError:
        if late and not _being_cancelled():
            return None
        task.cancel()
        raise
    finally:
        timer.cancel()


def _being_cancelled() -> bool:
    me = asyncio.current_task()
    return me is not None and me.cancelling() > 0
