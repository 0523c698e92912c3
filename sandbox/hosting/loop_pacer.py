"""Pacing of one sandbox's virtual loop by the machine's time, a slice at a time.

Slices are callbacks of the engine's loop.  Due work starts at once, with a short slice.  A sandbox with more work
than fits waits for its turn among the late sandboxes; one of them gets a whole slice in each round of the loop.  So
other sandboxes and readers wait for one slice, however many are late.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from sandbox.cluster.environment import Environment
from sandbox.cluster.paced import PacedEnvironment
from sandbox.kernel.clock import TimerHandle
from sandbox.sim.loop import Stuck

T = TypeVar("T")

BEHIND_S = 0.25  # more than this is not made up: virtual time falls behind
MEASURED_S = 2.0  # of the machine's time, for the share that was reached
WHOLE = 0.95  # a share from here on counts as all
MOST_LATE_S = 2.0  # of the machine's time, for what is planned to a millisecond
SHORT = 0.2  # of a slice, for what has just become due


class Behind:
    """Sandboxes of one engine that have more work than fits into a slice."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._call_soon = loop.call_soon
        self._waiting: deque[Callable[[], None]] = deque()

    def ask(self, slice_of_one: Callable[[], None]) -> None:
        self._waiting.append(slice_of_one)
        if len(self._waiting) == 1:
            self._call_soon(self._next)

    def _next(self) -> None:
        slice_of_one = self._waiting.popleft()
        if self._waiting:
            self._call_soon(self._next)
        slice_of_one()


_BEHIND: WeakKeyDictionary[asyncio.AbstractEventLoop, Behind] = WeakKeyDictionary()  # one of each engine's loop


class Hurried(NamedTuple):
    """Task that does not wait for the machine's time: opening or closing."""

    task: "asyncio.Task[Any]"
    answer: "asyncio.Future[Any]"


class Planned(NamedTuple):
    """Callback to be called between two turns of the loop, when it has reached `at_ms`."""

    at_ms: int
    fn: Callable[[], None]
    over: Callable[[], None]  # instead, where nothing runs any more


class Pace:
    """Pacing of one sandbox's loop.

    `machine` is the engine's environment.  The loop of `paced` is at 0 s until the first `run`.
    """

    def __init__(self, paced: PacedEnvironment, machine: Environment, *, slice_ms: float) -> None:
        self._paced = paced
        self._machine = machine
        self._slice_s = slice_ms / 1000
        self._behind = _BEHIND.setdefault(machine.loop, Behind(machine.loop))
        self._began_s = machine.wall.monotonic()  # moved on by what is not made up
        self._alarm: TimerHandle | None = None
        self._asked = False
        self._waits = False  # for a thread
        self._over = False
        self._begun = False
        self._hurried: Hurried | None = None
        self._planned: list[Planned] = []  # the earliest first
        self._measured = self._began_s, 0.0
        paced.on_late = self._on_late

    def turn(self, fn: Callable[[], T]) -> T:
        """Call `fn` between two turns of the loop and return its value; if possible at the machine's time."""
        if self._paced.sim.is_running():
            return fn()
        self.catch_up()
        try:
            with self._paced.sim.entered():
                return fn()
        finally:
            if self._begun:
                self._ask()

    def plan(self, in_s: float, fn: Callable[[], None], over: Callable[[], None]) -> int:
        """Plan a call of `fn` at the loop time that lies `in_s` of the machine's time ahead; return that time in ms.

        A late loop still calls `fn` at that ms, unless it is late by MOST_LATE_S.
        """
        self.catch_up()
        at_ms = max(self._target_ms() + round(in_s * 1000), math.ceil(self._paced.sim.time() * 1000))
        planned = Planned(at_ms, fn, over)
        self._planned.append(planned)
        self._planned.sort(key=lambda planned: planned.at_ms)
        self._machine.wall.call_later(in_s + MOST_LATE_S, lambda: self._overdue(planned))
        self._ask()
        return at_ms

    def _overdue(self, planned: Planned) -> None:
        """Call a planned function now: the machine is too busy to reach its time."""
        if planned in self._planned:
            self._planned.remove(planned)
            self.turn(planned.fn)

    async def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine on the loop to its end, as fast as possible, and return its value."""
        task = self.turn(lambda: self._paced.sim.create_task(make()))
        answer: asyncio.Future[T] = self._machine.loop.create_future()
        self._hurried, self._begun = Hurried(task, answer), True
        self._ask()
        return await answer

    def go_on(self) -> None:
        """Start the pacing without opening, from the current loop time."""
        self._begun = True
        self._begin()
        self._ask()

    def catch_up(self) -> None:
        """Advance the clock to the machine's time, if no work is due before."""
        if self._begun and not self._over and self._hurried is None and not self._paced.sim.is_running():
            self._paced.move_to(self._next_ms())

    def stop(self) -> None:
        """Stop the loop for good; planned calls are cancelled."""
        self._over = True
        self._disarm()
        for planned in self._planned:
            planned.over()
        self._planned.clear()
        self._machine.loop.call_soon(self._paced.close)  # not here: it runs tasks, and the caller may be one

    def _target_ms(self) -> int:
        return int((self._machine.wall.monotonic() - self._began_s) * 1000) + 1

    def _next_ms(self) -> int:
        """Return the loop time to run to: the machine's, but not after the next planned call."""
        return min([self._target_ms(), *(planned.at_ms for planned in self._planned[:1])])

    def _disarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _ask(self) -> None:
        """Schedule a slice for the work that is due."""
        self._disarm()
        if not self._asked and not self._over:
            self._asked = True
            self._machine.loop.call_soon(lambda: self._slice(SHORT))

    def _ask_for_more(self) -> None:
        self._asked = True
        if self._hurried is not None:
            self._machine.loop.call_soon(lambda: self._slice(1))
        else:
            self._behind.ask(lambda: self._slice(1))

    def _on_late(self) -> None:
        """Continue after a thread has finished its work."""
        if self._waits:
            try:
                self._machine.loop.call_soon_threadsafe(self._ask)
            except RuntimeError:  # the engine has stopped
                return

    def _slice(self, share: float) -> None:
        self._asked = self._waits = False
        if self._over:
            return
        wall = self._machine.wall
        until_s = wall.monotonic() + self._slice_s * share
        if self._hurried is not None:
            done = self._hurry(self._hurried, lambda: wall.monotonic() < until_s)
        else:
            to_ms = self._next_ms()
            done = self._paced.run_some(to_ms, lambda: wall.monotonic() < until_s)
            self._measure(reached=done)
            if done and self._planned and self._planned[0].at_ms == to_ms:
                with self._paced.sim.entered():
                    self._planned.pop(0).fn()
        if not done:
            self._waits = True
            if not self._paced.waits:  # asked after the flag is set: a thread may end in between
                self._waits = False
                self._ask_for_more()
        elif not self._over and (due_s := self._due_s()) is not None:
            self._alarm = wall.call_later(max(0.0, self._began_s + due_s - wall.monotonic()), self._ask)

    def _due_s(self) -> float | None:
        """Return the loop time of the next work in seconds; None without any."""
        due = [self._paced.sim.next_time(), *(planned.at_ms / 1000 for planned in self._planned[:1])]
        return min((at_s for at_s in due if at_s is not None), default=None)

    def _hurry(self, hurried: Hurried, may_go_on: Callable[[], bool]) -> bool:
        task, answer = hurried
        while not task.done():
            if self._paced.sim.next_time() is None:
                self._hurried = None
                if not answer.done():
                    answer.set_exception(Stuck("nothing can happen any more"))
                return True
            if self._paced.waits or not may_go_on():
                return False
            self._paced.sim.run_turn()
        self._hurried = None
        self._begin()
        if not answer.done():
            if task.cancelled():
                answer.cancel()
            elif (error := task.exception()) is not None:
                answer.set_exception(error)
            else:
                answer.set_result(task.result())
        return True

    def _begin(self) -> None:
        """Align the loop's time with the machine's time."""
        self._began_s = self._machine.wall.monotonic() - self._paced.sim.time()
        self._measured = self._machine.wall.monotonic(), self._paced.sim.time()

    def _measure(self, *, reached: bool) -> None:
        """Measure the reached share of the machine's time.  A larger delay than BEHIND_S is not made up."""
        now_s, virtual_s = self._machine.wall.monotonic(), self._paced.sim.time()
        behind_s = now_s - self._began_s - virtual_s
        if not reached and behind_s > BEHIND_S:
            self._began_s += behind_s - BEHIND_S
        since_s, from_s = self._measured
        if now_s - since_s >= MEASURED_S:
            share = (virtual_s - from_s) / (now_s - since_s)
            self._paced.share = share if share < WHOLE else None
            self._measured = now_s, virtual_s
