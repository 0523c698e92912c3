"""Environment of a sandbox: the real machine, or a seeded simulation.

Loop, machine clock, network, disk, workers and feeds all come from the environment, so the sandbox's code is the
same in both.
"""

import asyncio
import errno
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol, TypeVar

from sandbox.cluster.paced_disk import PacedDisk, Synced
from sandbox.journal.events import Position
from sandbox.kernel.clock import Clock
from sandbox.remoting.channel import ByteListener, Connector, Listener
from sandbox.remoting.command import RemotingCommand
from sandbox.store.disk import Disk, Flusher
from sandbox.transport.tcp_guard import TcpGuard

T = TypeVar("T")

MANY = 1_000_000  # descriptors, where they are not counted

Done = Callable[[BaseException | None], None]
MakeDisk = Callable[[Path, Clock, Callable[[Synced], bool]], PacedDisk]


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


class PortServer(Protocol):
    """An open port of the machine."""

    async def close(self) -> None: ...


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


class WithoutMachine:
    """Mixin of environments without ports, threads and descriptors."""

    has_sockets = False
    make_paced_disk: MakeDisk = PacedDisk

    def check(self) -> None:
        """Do nothing: nothing leaves for other programs."""

    def descriptors(self) -> tuple[int, int]:
        return 0, MANY

    def open_port(self, address: str, listener: Listener, guard: TcpGuard, *, idle: bool) -> PortServer:
        raise OSError(errno.EOPNOTSUPP, "a sandbox in virtual time has no ports")


class Environment(Protocol):
    """Environment of a host or of one sandbox.

    `wall` is the machine's clock, never scaled.  `has_sockets`: its loop opens ports.  `repeatable`: its run can be
    executed again.  `position()`: the position in the run at which an action would arrive now.  `outside` is the
    clock of readers: nothing that it times may change a repeatable run.  `share`: the part of the machine's time
    that passed on `wall`; None means all.  `memory_bytes`: of the machine.  `make_paced_disk`: the disk of a repeatable
    sandbox on this machine.

    `descriptors()`: how many the process uses, and may use.  `open_port` raises OSError.

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
    make_paced_disk: MakeDisk

    def check(self) -> None: ...
    def position(self) -> Position | None: ...
    def descriptors(self) -> tuple[int, int]: ...
    def open_port(self, address: str, listener: Listener, guard: TcpGuard, *, idle: bool) -> PortServer: ...
    def disk(self, root: Path, clock: Clock) -> Disk: ...
    def cut_power(self, disk: Disk, flushed: Mapping[str, int]) -> None: ...
    def network(self, clock: Clock) -> Network: ...
    async def run_blocking(self, work: Callable[[], T]) -> T: ...
    async def run_long(self, work: Callable[[Callable[[], bool]], T]) -> T: ...
    def close(self) -> None: ...
