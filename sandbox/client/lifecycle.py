"""The life of a client from created to its end, as the journal has it: states, and the steps of a start or stop."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from sandbox.client.process_queue import ProcessQueue
from sandbox.journal.events import LifecycleStep, MemberStateChanged
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import ClientError, SandboxError
from sandbox.message.queue import MessageQueue

NOT_FINISHING = ("hung", "stopping", "crashed")


class Process(Protocol):
    """The client process a producer or consumer lives in."""

    @property
    def client_id(self) -> str: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def journal(self) -> Journal: ...
    def crash(self) -> None: ...
    def hang(self) -> None: ...
    def resume(self) -> None: ...
    async def withdraw(self, life: "LifeCycle") -> None:
        """The start of this member was refused."""


class Steps:
    """Counts the steps of one phase and writes how long each took, also one that failed."""

    def __init__(self, process: Process, group: str, phase: str) -> None:
        self._process = process
        self._group = group
        self._phase = phase
        self._step = 0

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Record the body of the `with` block as the next step."""
        self._step += 1
        clock = self._process.clock
        number, began_s = self._step, clock.monotonic()
        try:
            yield
        finally:
            took_ms = round((clock.monotonic() - began_s) * 1000)
            self._process.journal.write(
                LifecycleStep(
                    group=self._group,
                    client_id=self._process.client_id,
                    phase=self._phase,
                    step=number,
                    name=name,
                    took_ms=took_ms,
                )
            )


class LifeCycle:
    """The state of one producer or consumer; `halt` ends at once what it runs by itself.  RocketMQ: `ServiceState`.

    `state`: created, starting, running, hung, stopping, stopped, crashed, refused.  `paused`: a reset is under way,
    it neither pulls nor takes queues.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        process: Process,
        queues: dict[MessageQueue, ProcessQueue],
        *,
        halt: Callable[[], None],
    ) -> None:
        self.state = "created"
        self.paused = False
        self.since_ms: int | None = None
        self._kind = kind
        self._group = group
        self.process = process
        self._queues = queues
        self._halt = halt

    @property
    def is_active(self) -> bool:
        """It takes part in its group: running and not paused."""
        return self.state == "running" and not self.paused

    async def start(self, run: Callable[[Steps], Awaitable[None]]) -> None:
        """`run` takes the steps and calls `running`.

        Raises ClientError for a second start, and what a step raises; the state is then `refused`.
        """
        if self.state != "created":
            raise ClientError(f"{self._kind} {self._group} is {self.state} and cannot start again")
        self._become("starting")
        try:
            await run(Steps(self.process, self._group, "start"))
        except SandboxError:
            self._end("refused")
            await self.process.withdraw(self)
            raise

    def running(self) -> None:
        """From here on it takes part in its group."""
        self.since_ms = self.process.clock.now_ms()
        self._become("running")

    async def stop(self, run: Callable[[Steps], Awaitable[None]]) -> None:
        """`run` takes the steps; nothing happens unless it runs.  A hung process is resumed first."""
        if self.state == "hung":
            self.process.resume()
        if self.state != "running":
            return
        self._become("stopping")
        await run(Steps(self.process, self._group, "stop"))
        self._become("stopped")

    def process_became(self, state: str) -> None:
        """The whole process crashed, hung or was resumed."""
        if state == "crashed":
            self._end(state)
        elif self.state in ("running", "hung"):
            self._become(state)

    def _end(self, state: str) -> None:
        self._halt()
        self._become(state)
        for pq in self._queues.values():
            pq.dropped = True
        self._queues.clear()

    def _become(self, state: str) -> None:
        """A member that will not finish its messages, or not soon, says which they are."""
        self.state = state
        held = sorted(self._queues.items(), key=lambda item: item[0]) if state in NOT_FINISHING else ()
        self.process.journal.write(
            MemberStateChanged(
                group=self._group,
                client_id=self.process.client_id,
                state=state,
                unfinished=tuple((mq.key, pq.unfinished_runs()) for mq, pq in held if pq.has_unfinished),
            )
        )


class Startable(ABC):
    """A producer or consumer of any kind.  What happens to its process happens to all that live in it."""

    life: LifeCycle

    @property
    def state(self) -> str:
        return self.life.state

    async def start(self) -> None:
        """Raises ClientError for a second start, a group name in use, no name server; the state is then `refused`."""
        await self.life.start(self._start)

    async def shutdown(self) -> None:
        """Leave cleanly.  A hung process is resumed first; what is unfinished is delivered again elsewhere."""
        await self.life.stop(self._stop)

    def crash(self) -> None:
        """As `kill -9`: no commit, no unlock, no unregistering; the whole process dies."""
        self.life.process.crash()

    def hang(self) -> None:
        """As SIGSTOP of the whole process: connections stay open, requests stay unanswered."""
        self.life.process.hang()

    def resume(self) -> None:
        self.life.process.resume()

    @abstractmethod
    async def _start(self, steps: Steps) -> None:
        """Take the steps, and call `life.running` in between."""

    @abstractmethod
    async def _stop(self, steps: Steps) -> None: ...
