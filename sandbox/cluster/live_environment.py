"""Environment of the real machine: files, threads for blocking calls, ports, an in-process network."""

import asyncio
import os
import resource
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from sandbox.cluster.environment import Done, MakeDisk, Network, PortServer, Workers
from sandbox.cluster.paced_disk import PacedDisk
from sandbox.cluster.power import MachineDisk
from sandbox.journal.events import Position
from sandbox.kernel.clock import Clock, ScaledClock, wall_ms
from sandbox.remoting.channel import Listener
from sandbox.store.config import physical_memory_bytes
from sandbox.store.disk import Disk, Flusher
from sandbox.transport.loopback import LoopbackNetwork
from sandbox.transport.tcp_guard import TcpGuard
from sandbox.transport.tcp_server import TcpServer

T = TypeVar("T")


class LiveEnvironment:
    """Environment of the real machine: files, threads for blocking calls, an in-process network."""

    has_sockets = True
    repeatable = False
    share: float | None = None
    make_paced_disk: MakeDisk = PacedDisk

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

    def descriptors(self) -> tuple[int, int]:
        """Return how many descriptors the process uses, and may use.  Sets the soft limit to the hard one."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return len(os.listdir("/proc/self/fd")), hard

    def open_port(self, address: str, listener: Listener, guard: TcpGuard, *, idle: bool) -> PortServer:
        server = TcpServer(listener, guard, idle=idle)
        ip, _, port = address.rpartition(":")
        server.open(ip, int(port))
        return server

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
