"""Tasks with an owner."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeVar

from sandbox.kernel.clock import Clock

log = logging.getLogger(__name__)

T = TypeVar("T")

Job = Callable[[], Coroutine[Any, Any, None]]


class Tasks:
    """The running coroutines of one object; when it closes, they end.

    One that fails is logged and ends alone: its neighbours belong to other requests.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._running: dict[asyncio.Task[None], None] = {}  # a dict keeps the order: closing is deterministic
        self._closed = False

    def spawn(self, coroutine: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None] | None":
        """Start a task.  After `cancel` nothing starts any more."""
        if self._closed:
            coroutine.close()
            return None
        task = asyncio.get_running_loop().create_task(coroutine, name=f"{self._name} {name}")
        self._running[task] = None
        task.add_done_callback(self._ended)
        return task

    def cancel(self) -> None:
        """Ask all to end, at once and without waiting."""
        self._closed = True
        for task in list(self._running):
            task.cancel()

    async def close(self) -> None:
        """Cancel all and wait until they have ended; the caller's own task, if among them, goes on."""
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
    """Something to wait for, at most so long: the next turn of a service, or an earlier call.

    RocketMQ: `ServiceThread.waitForRunning` and `wakeup`.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._future: asyncio.Future[bool] | None = None
        self._reasons: list[str] = []
        self.rounds = 0  # waits that have ended
        self.due_s: float | None = None

    def wake(self, reason: str) -> None:
        """End the wait now, or the next one before it begins."""
        self._reasons.append(reason)
        if self._future is not None and not self._future.done():
            self._future.set_result(True)

    async def wait(self, seconds: float, otherwise: str) -> str:
        """The first reason that came in since the last wait, or `otherwise` after `seconds`."""
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
    """A line of the timer table: when the job runs next, how often it has begun; None: not counted."""

    due_ms: int | None
    first_ms: int
    period_ms: int
    runs: int | None


class Periodic:
    """A job of one instance's timer table: first after `first_ms`, then every `period_ms`.

    Rounds are due at a fixed rate; a round that overlaps the next one swallows it.
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
    """Its result, or None when it took longer; then it was cancelled."""
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
