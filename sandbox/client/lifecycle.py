"""Life cycle of a producer or consumer: its states, and the steps of a start or stop, written to the journal."""

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
    """Client process that a producer or consumer runs in."""

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
        """Remove a member whose start was refused."""


class Steps:
    """Steps of one phase (start or stop).  Each is written to the journal with its duration, also if it fails."""

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
    """State of one producer or consumer.  RocketMQ: `ServiceState`.

    `state`: created, starting, running, hung, stopping, stopped, crashed, refused.  `paused`: during a reset the
    member neither pulls nor acquires queues.  `halt` ends at once what the member runs by itself.
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
        """True if the member takes part in its group: it is running and not paused."""
        return self.state == "running" and not self.paused

    async def start(self, run: Callable[[Steps], Awaitable[None]]) -> None:
        """Run the start steps.  `run` executes them and calls `running` in between.

        Raises ClientError for a second start, and any error of a step; then the state is `refused`.
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
        """Set the state to running; the member now takes part in its group."""
        self.since_ms = self.process.clock.now_ms()
        self._become("running")

    async def stop(self, run: Callable[[Steps], Awaitable[None]]) -> None:
        """Run the stop steps of `run`, if the member is running.  A hung process is resumed first."""
        if self.state == "hung":
            self.process.resume()
        if self.state != "running":
            return
        self._become("stopping")
        await run(Steps(self.process, self._group, "stop"))
        self._become("stopped")

    def process_became(self, state: str) -> None:
        """Apply the new state of the process (crashed, hung, running) to this member."""
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
        """Set the state and write it to the journal.

        A member that will not finish its messages soon also records their offsets.
        """
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
    """Producer or consumer of any kind.  A crash or hang of its process affects every member in the process."""

    life: LifeCycle

    @property
    def state(self) -> str:
        return self.life.state

    async def start(self) -> None:
        """Start the member.

        Raises ClientError for a second start, a group name in use, or no name server; then the state is `refused`.
        """
        await self.life.start(self._start)

    async def shutdown(self) -> None:
        """Stop the member cleanly.

        A hung process is resumed first; other members receive its unfinished messages again.
        """
        await self.life.stop(self._stop)

    def crash(self) -> None:
        """Kill the whole process as `kill -9` does: no commit, no unlock, no unregistering."""
        self.life.process.crash()

    def hang(self) -> None:
        """Stop the whole process as SIGSTOP does: connections stay open, requests stay unanswered."""
        self.life.process.hang()

    def resume(self) -> None:
        self.life.process.resume()

    @abstractmethod
    async def _start(self, steps: Steps) -> None:
        """Execute the start steps and call `life.running` in between."""

    @abstractmethod
    async def _stop(self, steps: Steps) -> None: ...
