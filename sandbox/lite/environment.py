"""Environment of an engine in a browser: the loop of its worker, one thread, no ports, mapped files in memory."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from sandbox.cluster.environment import InlineWorkers, MakeDisk, Network, WithoutMachine, Workers
from sandbox.cluster.power import MachineDisk
from sandbox.journal.events import Position
from sandbox.kernel.clock import Clock, ScaledClock, wall_ms
from sandbox.kernel.errors import CorruptRecord
from sandbox.lite.memory_disk import MemoryDisk
from sandbox.store.disk import Disk, Flusher, InlineFlusher
from sandbox.transport.loopback import LoopbackNetwork

T = TypeVar("T")

MEMORY_BYTES = 8 * 1024**3  # that brokers see: the same in every browser, so that a run does not depend on it


class LiteEnvironment(WithoutMachine):
    """Environment of the host in a browser.  Sandboxes run in virtual time, each in an environment of its own."""

    repeatable = False
    share: float | None = None
    memory_bytes = MEMORY_BYTES
    make_paced_disk: MakeDisk = MemoryDisk

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.wall: Clock = ScaledClock(loop, start_ms=wall_ms())
        self.outside: Clock = self.wall
        self.flusher: Flusher = InlineFlusher()
        self.workers: Workers = InlineWorkers()

    def position(self) -> Position | None:
        return None

    def disk(self, root: Path, clock: Clock) -> Disk:
        raise CorruptRecord("a sandbox whose origin cannot be read does not run in a browser")

    def cut_power(self, disk: Disk, flushed: Mapping[str, int]) -> None:
        assert isinstance(disk, MachineDisk), "it has no other disks"
        disk.power_cut(flushed)

    def network(self, clock: Clock) -> Network:
        return LoopbackNetwork(self.loop, clock=clock)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return work()

    async def run_long(self, work: Callable[[Callable[[], bool]], T]) -> T:
        return work(lambda: False)

    def close(self) -> None: ...
