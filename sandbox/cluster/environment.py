"""Environment of a sandbox: the real machine, or a seeded simulation.

Loop, machine clock, network, disk, workers and feeds all come from the environment, so the sandbox's code is the
same in both.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sandbox.cluster.power import MachineDisk
from sandbox.journal.events import Position
from sandbox.kernel.clock import Clock, ScaledClock, wall_ms
from sandbox.remoting.channel import ByteListener, Connector, Listener
from sandbox.remoting.command import RemotingCommand
from sandbox.store.config import physical_memory_bytes
from sandbox.store.disk import Disk, Flusher
from sandbox.transport.loopback import LoopbackNetwork

T = TypeVar("T")

Done = Callable[[BaseException | None], None]


class Network(Protocol):
    """Network of one sandbox; its addresses are private to the sandbox.

    `tap` receives every sent command; `gate` returns whether bytes pass, `delay` how many seconds they take.
    """

    tap: Callable[[str, str, RemotingCommand], None] | None
    gate: Callable[[str, str], bool] | None
    delay: Callable[[str, str], float] | None

    def listen(self, address: str, listener: Listener | ByteListener) -> None: ...
    def unlisten(self, address: str) -> None: ...
    def connector(self, local_ip: str) -> Connector: ...
    def connections(self) -> list[tuple[str, str]]: ...


class Workers(Protocol):
    """Runner of system calls and long work, on threads or at once.  `submit_long`: as `Environment.run_long`."""

    def submit(self, work: Callable[[], T]) -> "Future[T]": ...
    def submit_long(self, work: Callable[[Callable[[], bool]], T]) -> "Future[T]": ...


class InlineWorkers:
    """Workers that run all work at once, for virtual time."""

    def submit(self, work: Callable[[], T]) -> "Future[T]":
        future: Future[T] = Future()
        try:
            future.set_result(work())
        except Exception as error:
            future.set_exception(error)
        return future

    def submit_long(self, work: Callable[[Callable[[], bool]], T]) -> "Future[T]":
        return self.submit(lambda: work(lambda: False))


class Environment(Protocol):
    """Environment of a host or of one sandbox.

    `wall` is the machine's clock, never scaled.  `has_sockets`: its loop opens ports.  `repeatable`: its run can be
    executed again.  `position()`: the position in the run at which an action would arrive now.  `outside` is the
    clock of readers: nothing that it times may change a repeatable run.  `share`: the part of the machine's time
    that passed on `wall`; None means all.  `memory_bytes`: of the machine.

    `check` is called before bytes leave for other programs; it does not return if the process must send nothing
    more.  `cut_power` removes from a `disk` the data that was not flushed; `flushed`: path of a mapped file → bytes
    that survive.
    """

    loop: asyncio.AbstractEventLoop
    wall: Clock
    outside: Clock
    flusher: Flusher
    workers: Workers
    has_sockets: bool
    repeatable: bool
    memory_bytes: int
    share: float | None

    def check(self) -> None: ...
    def position(self) -> Position | None: ...
    def disk(self, root: Path, clock: Clock) -> Disk: ...
    def cut_power(self, disk: Disk, flushed: Mapping[str, int]) -> None: ...
    def network(self, clock: Clock) -> Network: ...
    async def run_blocking(self, work: Callable[[], T]) -> T: ...
    async def run_long(self, work: Callable[[Callable[[], bool]], T]) -> T: ...
    def close(self) -> None: ...


class LiveEnvironment:
    """Environment of the real machine: files, threads for blocking calls, an in-process network."""

    has_sockets = True
    repeatable = False
    share: float | None = None

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, worker_threads: int, check: Callable[[], None] = lambda: None
    ) -> None:
        self.loop = loop
        self.check = check
        self.wall: Clock = ScaledClock(loop, start_ms=wall_ms())
        self.outside: Clock = self.wall
        self.memory_bytes = physical_memory_bytes()
        self._flushers = ThreadPoolExecutor(worker_threads, thread_name_prefix="queueviz-flush")
        self._workers = ThreadPoolExecutor(worker_threads, thread_name_prefix="queueviz-worker")
        self._slow = ThreadPoolExecutor(1, thread_name_prefix="queueviz-slow")  # no flush waits behind it
        self._over = threading.Event()
        self.flusher: Flusher = ThreadFlusher(loop, self._flushers)
        self.workers: Workers = self

    def position(self) -> Position | None:
        return None

    def disk(self, root: Path, clock: Clock) -> Disk:
        return MachineDisk(root, clock)

    def cut_power(self, disk: Disk, flushed: Mapping[str, int]) -> None:
        assert isinstance(disk, MachineDisk), "only the disk of a broker's machine knows what is not flushed"
        disk.power_cut(flushed)

    def network(self, clock: Clock) -> Network:
        return LoopbackNetwork(self.loop, clock=clock)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        """Run a blocking call in a worker and return its result: reading old segments, removing a directory."""
        return await self.loop.run_in_executor(self._workers, work)

    async def run_long(self, work: Callable[[Callable[[], bool]], T]) -> T:
        """Run seconds of work in a worker (sorting a feed) and return its result.

        `work` receives a function that returns True when the environment closes.
        """
        return await self.loop.run_in_executor(self._slow, work, self._over.is_set)

    def submit(self, work: Callable[[], T]) -> "Future[T]":
        return self._flushers.submit(work)

    def submit_long(self, work: Callable[[Callable[[], bool]], T]) -> "Future[T]":
        return self._slow.submit(work, self._over.is_set)

    def close(self) -> None:
        """Cancel long work and wait for the rest."""
        self._over.set()
        for workers in (self._slow, self._workers, self._flushers):
            workers.shutdown(wait=True, cancel_futures=workers is self._slow)


class ThreadFlusher:
    """Flusher that runs a flush on a worker and calls `done` on the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, workers: ThreadPoolExecutor) -> None:
        self._loop = loop
        self._workers = workers

    def submit(self, work: Callable[[], None], done: Done) -> None:
        future = self._workers.submit(work)
        future.add_done_callback(lambda ended: self._report(ended, done))

    def _report(self, ended: Future[Any], done: Done) -> None:
        try:
            self._loop.call_soon_threadsafe(done, ended.exception())
        except RuntimeError:  # the loop is closed, and the store too
            return
