"""What a sandbox gets from outside: the real machine, or a seeded simulation.

Loop, machine clock, network, disk, workers and feeds all come from here, so the sandbox's code is the same in both.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sandbox.cluster.power import MachineDisk
from sandbox.kernel.clock import Clock, ScaledClock, wall_ms
from sandbox.remoting.channel import ByteListener, Connector, Listener
from sandbox.remoting.command import RemotingCommand
from sandbox.store.disk import Disk, Flusher
from sandbox.transport.loopback import LoopbackNetwork

T = TypeVar("T")

Done = Callable[[BaseException | None], None]


class Network(Protocol):
    """The network of one sandbox; its addresses are private to the sandbox.

    `tap` sees every command that is sent; `gate` decides whether bytes pass, `delay` how many seconds they take.
    """

    tap: Callable[[str, str, RemotingCommand], None] | None
    gate: Callable[[str, str], bool] | None
    delay: Callable[[str, str], float] | None

    def listen(self, address: str, listener: Listener | ByteListener) -> None: ...
    def unlisten(self, address: str) -> None: ...
    def connector(self, local_ip: str) -> Connector: ...
    def connections(self) -> list[tuple[str, str]]: ...


class Environment(Protocol):
    """One per host.  `wall` is the machine's clock, never scaled; `has_sockets`: its loop can open real ports.

    `cut_power` takes from a `disk` what was not flushed; `flushed`: path of a mapped file → bytes that survive.
    """

    loop: asyncio.AbstractEventLoop
    wall: Clock
    flusher: Flusher
    has_sockets: bool

    def disk(self, root: Path, clock: Clock) -> Disk: ...
    def cut_power(self, disk: Disk, flushed: Mapping[str, int]) -> None: ...
    def network(self, clock: Clock) -> Network: ...
    async def run_blocking(self, work: Callable[[], T]) -> T: ...
    async def run_long(self, work: Callable[[Callable[[], bool]], T]) -> T: ...
    def close(self) -> None: ...


class LiveEnvironment:
    """The real machine: files, threads for blocking calls, an in-process network."""

    has_sockets = True

    def __init__(self, loop: asyncio.AbstractEventLoop, *, worker_threads: int) -> None:
        self.loop = loop
        self.wall: Clock = ScaledClock(loop, start_ms=wall_ms())
        self._flushers = ThreadPoolExecutor(worker_threads, thread_name_prefix="queueviz-flush")
        self._workers = ThreadPoolExecutor(worker_threads, thread_name_prefix="queueviz-worker")
        self._slow = ThreadPoolExecutor(1, thread_name_prefix="queueviz-slow")  # no flush waits behind it
        self._over = threading.Event()
        self.flusher: Flusher = ThreadFlusher(loop, self._flushers)

    def disk(self, root: Path, clock: Clock) -> Disk:
        return MachineDisk(root, clock)

    def cut_power(self, disk: Disk, flushed: Mapping[str, int]) -> None:
        assert isinstance(disk, MachineDisk), "only the disk of a broker's machine knows what is not flushed"
        disk.power_cut(flushed)

    def network(self, clock: Clock) -> Network:
        return LoopbackNetwork(self.loop, clock=clock)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        """Run in a worker what would block the loop: reading old segments, removing a directory."""
        return await self.loop.run_in_executor(self._workers, work)

    async def run_long(self, work: Callable[[Callable[[], bool]], T]) -> T:
        """As `run_blocking`, for seconds of work (sorting a feed); `work` gets a function that is True at the end."""
        return await self.loop.run_in_executor(self._slow, work, self._over.is_set)

    def close(self) -> None:
        """Cancels long work, waits for the rest."""
        self._over.set()
        for workers in (self._slow, self._workers, self._flushers):
            workers.shutdown(wait=True, cancel_futures=workers is self._slow)


class ThreadFlusher:
    """Runs a flush on a worker and calls `done` on the loop."""

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
