"""Environment of a repeatable sandbox: a virtual loop of its own over real files.

The machine's speed never changes the run.  A flush takes a virtual time drawn from the seed; its system call runs on
a thread.  Until the call is done, virtual time does not pass the time at which its result is due.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sandbox.cluster.environment import Done, InlineWorkers, MakeDisk, Network, WithoutMachine, Workers
from sandbox.cluster.paced_disk import PacedDisk, Synced
from sandbox.journal.events import Position
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import Clock, ScaledClock
from sandbox.sim.loop import SimLoop
from sandbox.store.disk import Disk, Flusher
from sandbox.transport.loopback import LoopbackNetwork

log = logging.getLogger(__name__)

T = TypeVar("T")

FLUSH_S = (0.0005, 0.004)  # of an fsync on a solid-state disk
FEED_S = 0.001  # of the loop, after which the result of long work is due
NEVER_S = float("inf")
MS_ERROR = 1e-3  # of a time in seconds as a float


class Late(NamedTuple):
    """Work whose result is due at `at_s` of the loop."""

    at_s: float
    future: "Future[Any]"


class PacedEnvironment(WithoutMachine):
    """Environment of one sandbox from wake to sleep.

    The owner of `loop` runs it forward, but not while it `waits`.  `outside`: see `Environment`.  `wall_ms` is the
    machine's time at the beginning; from there on its clock is virtual.
    """

    repeatable = True

    def __init__(
        self,
        seed: str,
        *,
        wall_ms: int,
        memory_bytes: int,
        workers: Workers | None = None,
        outside: Clock | None = None,
        make_disk: MakeDisk = PacedDisk,
    ) -> None:
        self.sim = SimLoop(most_at_once=NEVER_S)  # a step runs hours in one instant
        self.sim.set_exception_handler(_report)
        self.loop: Any = self.sim
        self.wall: Clock = ScaledClock(self.sim, start_ms=wall_ms)
        self.outside: Clock = outside or self.wall
        self.memory_bytes = memory_bytes
        self.share: float | None = None
        self.flusher: Flusher = self
        self.on_late: Callable[[], None] = lambda: None  # called by a thread once work is done that was waited for
        self._chance = Chance(seed).fork("disk times")
        self.workers = workers or InlineWorkers()
        self._late: list[Late] = []
        self._collected: list[Synced] | None = None
        self._moved_ms = 0
        self._make_disk = make_disk

    # Time, for the owner of the loop.

    def run_some(self, until_ms: int, may_go_on: Callable[[], bool]) -> bool:
        """Run what is due until `until_ms`; return False if more is due or a thread's work is awaited."""
        reached = self.sim.run_some(until_ms / 1000, lambda: may_go_on() and not self.waits)
        if reached:
            self._moved_ms = until_ms
        return reached

    def move_to(self, until_ms: int) -> None:
        """Advance virtual time to `until_ms`, unless something is due before."""
        due_s = self.sim.next_time()
        if until_ms > self.sim.time() * 1000 and (due_s is None or due_s > until_ms / 1000):
            self.sim.move_to(until_ms / 1000)
            self._moved_ms = until_ms

    def run_to(self, position: Position, goes_on: Callable[[], bool]) -> bool:
        """Run to the position of an input from outside; return False if `goes_on` returned False on the way."""
        while self.sim.turns < position.turn:
            if not goes_on():
                return False
            self.sim.run_turn()
        self.move_to(position.ms)
        self._moved_ms = position.ms
        return True

    def reached(self, stated: Position) -> Position:
        """Return the position that the loop has reached: `stated`, or another if the loop cannot be at that one."""
        now_ms = self.sim.time() * 1000
        same_ms = -MS_ERROR <= now_ms - stated.ms < 1 + MS_ERROR
        return Position(self.sim.turns, stated.ms if same_ms else int(now_ms))

    @property
    def waits(self) -> bool:
        """True if the next turn needs the result of unfinished work."""
        due_s = self.sim.next_time()
        return due_s is not None and any(late.at_s <= due_s and not late.future.done() for late in self._late)

    def position(self) -> Position | None:
        """Return the current position in the run; None inside a turn, whose actions come from the run itself.

        The millisecond is at least the loop's own.  If time slices end before they reach their target, the last
        target's time is long past, and a repeated run would stop there.
        """
        return None if self.sim.in_turn else Position(self.sim.turns, max(self._moved_ms, int(self.sim.time() * 1000)))

    # The environment of a sandbox.

    def disk(self, root: Path, clock: Clock) -> Disk:
        return self._make_disk(root, clock, self._collect)

    def cut_power(self, disk: Disk, flushed: Mapping[str, int]) -> None:
        assert isinstance(disk, PacedDisk), "it has no other disks"
        disk.power_cut(flushed)

    def network(self, clock: Clock) -> Network:
        return LoopbackNetwork(self.sim, clock=clock)

    def submit(self, work: Callable[[], None], done: Done) -> None:
        """Start a flush and call `done` at its virtual time.

        `work` only names the files; a thread writes them through.
        """
        collected: list[Synced] = []
        self._collected = collected
        work()
        self._collected = None

        def write_through() -> None:
            for synced in collected:
                synced.disk.write_through(synced.path)

        def settle(future: "Future[None]") -> None:
            failure = future.exception()
            if failure is None:
                for synced in collected:
                    synced.disk.note_synced(synced)
            done(failure)

        self._in(self._chance.between(*FLUSH_S), self.workers.submit(write_through), settle)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return await self._result(self.workers.submit(work))

    async def run_long(self, work: Callable[[Callable[[], bool]], T]) -> T:
        return await self._result(self.workers.submit_long(work))

    def close(self) -> None:
        self.sim.close()

    async def _result(self, future: "Future[T]") -> T:
        result: asyncio.Future[T] = self.sim.create_future()

        def settle(done: "Future[T]") -> None:
            if result.done():
                return
            failure = done.exception()
            if failure is not None:
                result.set_exception(failure)
            else:
                result.set_result(done.result())

        self._in(FEED_S, future, settle)
        return await result

    def _in(self, seconds: float, future: "Future[T]", settle: "Callable[[Future[T]], None]") -> None:
        late = Late(self.sim.time() + seconds, future)
        self._late.append(late)

        def ring() -> None:
            self._late.remove(late)
            settle(future)

        self.sim.call_at(late.at_s, ring)
        future.add_done_callback(lambda _: self.on_late())

    def _collect(self, synced: Synced) -> bool:
        """Collect a system call for a thread; return False if no flush is being collected."""
        if self._collected is None:
            return False
        self._collected.append(synced)
        return True


def _report(loop: Any, context: dict[str, Any]) -> None:
    """Log a failed callback, as asyncio does; other callbacks continue."""
    log.error("%s", context.get("message", "unhandled error"), exc_info=context.get("exception"))
