"""What a sandbox stands on: the machine in life, a seed in simulation.

Everything the engine is *given* (loop, wall clock, wires, disk, workers, feeds) comes from here, so the sandbox itself
is the same code in both worlds.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sandbox.kernel.clock import Clock, ScaledClock, wall_ms
from sandbox.remoting.channel import Connector, Listener
from sandbox.store.disk import Disk, FileDisk, Flusher
from sandbox.transport.loopback import LoopbackNetwork

T = TypeVar("T")

Done = Callable[[BaseException | None], None]


class Network(Protocol):
    """The wires of one sandbox: addresses are private to it."""

    def listen(self, address: str, listener: Listener) -> None: ...
    def unlisten(self, address: str) -> None: ...
    def connector(self, local_ip: str) -> Connector: ...


class Ground(Protocol):
    """One per host.  `wall` is the machine's clock, never scaled."""

    loop: asyncio.AbstractEventLoop
    wall: Clock
    flusher: Flusher

    def disk(self, root: Path) -> Disk: ...
    def network(self, clock: Clock) -> Network: ...
    async def lend(self, work: Callable[[], T]) -> T: ...
    def close(self) -> None: ...


class LiveGround:
    """The machine: files, threads for what would block, wires made of callbacks."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, worker_threads: int) -> None:
        self.loop = loop
        self.wall: Clock = ScaledClock(loop, start_ms=wall_ms())
        self._workers = ThreadPoolExecutor(worker_threads, thread_name_prefix="queueviz-worker")
        self.flusher: Flusher = ThreadFlusher(loop, self._workers)

    def disk(self, root: Path) -> Disk:
        return FileDisk(root)

    def network(self, clock: Clock) -> Network:
        return LoopbackNetwork(self.loop, clock=clock)

    async def lend(self, work: Callable[[], T]) -> T:
        """Have a worker do what would hold the loop: sorting a feed, reading old segments."""
        return await self.loop.run_in_executor(self._workers, work)

    def close(self) -> None:
        self._workers.shutdown(wait=True)


class ThreadFlusher:
    """Runs a flush on a worker and tells the loop when it is done."""

    def __init__(self, loop: asyncio.AbstractEventLoop, workers: ThreadPoolExecutor) -> None:
        self._loop = loop
        self._workers = workers

    def submit(self, work: Callable[[], None], done: Done) -> None:
        future = self._workers.submit(work)
        future.add_done_callback(lambda ended: self._tell(ended, done))

    def _tell(self, ended: Future[Any], done: Done) -> None:
        try:
            self._loop.call_soon_threadsafe(done, ended.exception())
        except RuntimeError:  # the loop is closed: the store that asked is closed too
            return
