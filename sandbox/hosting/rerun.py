"""Repeated execution of a recorded sandbox's actions, unchanged or with some of them changed."""

import tempfile
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple, Self

from sandbox.cluster.environment import MakeDisk, Workers
from sandbox.cluster.journal_files import DIRECTORY
from sandbox.cluster.origin import Origin
from sandbox.cluster.paced import PacedEnvironment
from sandbox.cluster.paced_disk import PacedDisk
from sandbox.cluster.record import FILE_NAME
from sandbox.control.actions import Action, parse_action
from sandbox.hosting.history_reuse import take_history
from sandbox.hosting.sandbox import Sandbox
from sandbox.journal.events import Position
from sandbox.journal.events.life import HISTORY
from sandbox.journal.schema import CAME, Row, from_row
from sandbox.journal.segments import line_of, rows_since
from sandbox.kernel import json_bytes
from sandbox.kernel.clock import Clock
from sandbox.kernel.engine_version import ENGINE
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.snapshot import Snapshot
from sandbox.sim.loop import Stuck

STOOD_MS = 1_000
NO_CHANGES: Mapping[int, Action | None] = MappingProxyType({})


class Difference(NamedTuple):
    """First event that differs between the recorded and the repeated run; None if one of them has none."""

    seq: int
    recorded: Row | None
    again: Row | None


class Rerun:
    """Repeated execution of one stretch, from creation through every sleep; `sandbox` is the one that runs last.

    `changes`: seq of an action → the action to execute instead, None for none.  From the first change on nothing is
    compared.  Later actions are executed at the same ms of the loop, until the sandbox's clock reaches the last
    row's time.

    `free`: as after a change, from the beginning on; for another seed, or for actions without a journal.

    `until`: nothing is compared either, but each action is executed in its recorded turn, up to this seq; an action
    with turn 0 at its ms.

    `awake_from`: after this seq the sandbox is not closed where it slept, and the run ends there.

    Without a `directory` it uses a temporary one, which is deleted when the context is left.  `make_disk`,
    `workers`, `outside`: as of `PacedEnvironment`.
    """

    def __init__(
        self,
        origin: Origin,
        recorded: list[bytes],
        rows: list[Row],
        *,
        home: Path,
        directory: Path | None = None,
        changes: Mapping[int, Action | None] = NO_CHANGES,
        free: bool = False,
        until: int | None = None,
        awake_from: int | None = None,
        make_disk: MakeDisk = PacedDisk,
        workers: Workers | None = None,
        outside: Clock | None = None,
    ) -> None:
        self._origin = origin
        self._same = next((index for index, row in enumerate(rows) if row["seq"] in changes), len(rows))
        self._recorded = recorded[: self._same]
        self._rows = rows
        self._home = home
        self._changes = changes
        self._scratch = tempfile.TemporaryDirectory(prefix="replay-") if directory is None else None
        if self._scratch is not None:
            directory = Path(self._scratch.name) / "sandboxes" / origin.record["slug"]
            directory.mkdir(parents=True)
            (directory / FILE_NAME).write_bytes(json_bytes.dumps({**origin.record, "engine": ENGINE}))
        assert directory is not None
        self._directory = directory
        self._make_environment = partial(
            PacedEnvironment,
            origin.record["seed"],
            memory_bytes=origin.memory_bytes,
            workers=workers,
            outside=outside,
            make_disk=make_disk,
        )
        self._environment: PacedEnvironment | None = None
        self.sandbox: Sandbox | None = None
        self._seen = 0
        self._changed = free or until is not None  # by one of the changes
        self._until = until
        self._awake_from = awake_from
        self._stayed = False  # where it slept, and now does not
        self.before_change: Snapshot | None = None
        self.compared = 0
        self.difference: Difference | None = None
        self.refused: list[tuple[int, ActionRefused]] = []  # actions that could not be carried out in a changed run
        self.virtual_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._environment is not None and self.sandbox is not None:
            self._end(self._environment, self.sandbox)
        if self._scratch is not None:
            self._scratch.cleanup()

    def run(self) -> None:
        """Run until every recorded row was written again, or a different one was."""
        for _ in self.turns():
            pass

    def take_history(self, *, before_ms: float = float("inf")) -> None:
        """Start after the run's history, if that ended before `before_ms` and its files exist.  Blocks."""
        ended = next((row for row in self._rows if row["type"] == "SandboxSlept"), None)
        if ended is not None and ended["reason"] == HISTORY and ended["at_ms"] < before_ms and not self._changed:
            self.compared = take_history(self._home, self._directory, self._recorded)

    def turns(self) -> Iterator[None]:
        """Run like `run`, but pause after each turn, and while a thread's result is awaited."""
        for opening in _openings(self._rows[self.compared :]):
            try:
                yield from self._open_again(opening)
            except Stuck:
                self._differ(None)
            if not self._goes_on():
                return

    def on_until(self, at_ms: int) -> Iterator[None]:
        """Run turns until the sandbox's clock reaches `at_ms`, the sandbox sleeps, or its clock is stopped."""
        environment, sandbox = self._environment, self.sandbox
        assert environment is not None, "it was run"
        assert sandbox is not None, "it was run"
        clock = sandbox.cluster.clock
        while not sandbox.ended and clock.now_ms() < at_ms and (clock.rate or clock.stepping):
            environment.sim.run_turn()
            yield

    def entered(self) -> AbstractContextManager[None]:
        """Make its loop the running one inside the `with` block, as for outside events."""
        assert self._environment is not None, "it was run"
        return self._environment.sim.entered()

    def written(self) -> list[Row]:
        """Return all rows of its journal so far."""
        assert self.sandbox is not None, "it was run"
        if not self.sandbox.ended:
            self.sandbox.cluster.journal_files.show()
        return list(rows_since(self._directory / DIRECTORY, 0))

    @property
    def share(self) -> float:
        """The completed share of the recorded time, from 0 to 1."""
        first, last = self._rows[0]["at_ms"], self._rows[-1]["at_ms"]
        now_ms = self.sandbox.cluster.clock.now_ms() if self.sandbox is not None else first
        return float(min(1.0, max(0.0, (now_ms - first) / max(1, last - first))))

    @property
    def waits(self) -> bool:
        """True if the next turn needs the result of a thread."""
        return self._environment is not None and self._environment.waits

    @property
    def is_between_instants(self) -> bool:
        """True if all work due in this instant is done."""
        return self._environment is not None and self._environment.sim.next_time() != self._environment.sim.time()

    def let_go(self) -> Sandbox | None:
        """Return the sandbox, which no longer ends with this object; None if it sleeps."""
        sandbox = self.sandbox
        if sandbox is None or sandbox.ended:
            return None
        sandbox.cluster.journal.unsubscribe(self._compare)
        self._environment = self.sandbox = None
        return sandbox

    def note_repeated(self, row: Row, reached: Position, next_seq: int) -> None:
        """Called after each outside event.

        `reached`: the position at which it was executed; `next_seq`: the journal's before it.
        """

    def make_sandbox(self, environment: PacedEnvironment) -> Sandbox:
        with environment.sim.entered():
            return Sandbox(self._directory, self._origin.config, environment, home=self._home)

    def _open_again(self, opening: list[Row]) -> Iterator[None]:
        if self._environment is not None and self.sandbox is not None:
            self._end(self._environment, self.sandbox)
        environment = self._environment = self._make_environment(wall_ms=_woken_ms(opening))
        sandbox = self.sandbox = self.make_sandbox(environment)
        sandbox.record.closed_ms = _closed_ms(opening)
        self._seen = sandbox.cluster.journal.next_seq
        sandbox.cluster.journal.subscribe(self._compare)
        yield from self._to_its_end(environment, lambda: Sandbox.open(sandbox))
        for row in opening:
            if CAME in row:
                came = Position(*row[CAME])
                yield from self._to(environment, came)
                if not self._goes_on():
                    return
                if row["type"] == "SandboxSlept" and self._awake_from is not None and row["seq"] > self._awake_from:
                    self._changed = self._stayed = True
                    return
                if row["seq"] in self._changes and not self._changed:
                    self._changed, self.before_change = True, sandbox.snapshot()
                reached, next_seq = environment.reached(came), sandbox.cluster.journal.next_seq
                yield from self._repeat(environment, sandbox, row, came)
                self.note_repeated(row, reached, next_seq)
        while self._goes_on() and not (sandbox.ended or self._is_late_enough(environment, sandbox)):
            yield from self._turn(environment)

    def _to(self, environment: PacedEnvironment, came: Position) -> Iterator[None]:
        """Run to the position of an outside event: the same turn, or in a changed run the same ms."""
        if self._until is not None and came.turn:
            while environment.sim.turns < came.turn and environment.sim.time() * 1000 <= came.ms + STOOD_MS:
                yield from self._turn(environment)
            environment.run_to(came, lambda: False)
            return
        if self._changed:
            while not environment.run_some(came.ms, lambda: False):
                yield from self._turn(environment)
            return
        while environment.sim.turns < came.turn and self._goes_on():
            yield from self._turn(environment)
        if self._goes_on():
            environment.run_to(came, self._goes_on)

    def _turn(self, environment: PacedEnvironment) -> Iterator[None]:
        while environment.waits:
            yield
        environment.sim.run_turn()
        yield

    def _repeat(self, environment: PacedEnvironment, sandbox: Sandbox, row: Row, came: Position) -> Iterator[None]:
        """Repeat one outside event: an action, an action that a limit refused, or sleep."""
        if row["type"] == "SandboxSlept":
            came = environment.position() or came
            yield from self._to_its_end(environment, lambda: Sandbox.close(sandbox, row["reason"], came=came))
            return
        with environment.sim.entered():
            if row["type"] == "ActionTaken":
                action = (
                    self._changes[row["seq"]]
                    if row["seq"] in self._changes
                    else parse_action({"action": row["action"], **row["fields"]})
                )
                try:
                    if action is not None:
                        Sandbox.act(sandbox, action, row["by"])
                except ActionRefused as error:  # as it was when it was recorded; otherwise the next event differs
                    self.refused.append((row["seq"], error))
            elif not self._changed or self._until is not None:
                sandbox.cluster.journal.write(from_row(row).event, came=came)

    def _to_its_end(
        self, environment: PacedEnvironment, make: Callable[[], Coroutine[Any, Any, None]]
    ) -> Iterator[None]:
        with environment.sim.entered():
            task = environment.sim.create_task(make())
        while not task.done() and self.difference is None:
            yield from self._turn(environment)
        if task.done():
            task.result()

    def _goes_on(self) -> bool:
        return self.difference is None and (
            self._changed or self.compared < len(self._recorded) or self._same < len(self._rows)
        )

    def _is_late_enough(self, environment: PacedEnvironment, sandbox: Sandbox) -> bool:
        """Return True if a changed run without further input has ended.

        It ends at the last row's time, after the event `until`, or when its clock is stopped.
        """
        clock = sandbox.cluster.clock
        stands, last_ms = not (clock.rate or clock.stepping), self._rows[-1]["at_ms"]
        if self._until is None:
            return self._changed and (clock.now_ms() >= last_ms or stands)
        return (
            sandbox.cluster.journal.next_seq > self._until
            or clock.now_ms() > last_ms
            or (stands and self._stood_long(environment))
        )

    def _stood_long(self, environment: PacedEnvironment) -> bool:
        """Return True if the clock has been stopped for STOOD_MS of the loop's time after the newest outside event.

        Actions on a stopped clock still need turns of the loop, but no time of the sandbox's clock.
        """
        came_ms = max((row[CAME][1] for row in self._rows if CAME in row), default=0)
        return environment.sim.time() * 1000 > came_ms + STOOD_MS

    def _compare(self) -> None:
        assert self.sandbox is not None
        journal = self.sandbox.cluster.journal
        for entry in journal.since(self._seen):
            if self._changed or not self._goes_on():
                break
            line = line_of(entry)
            if self.compared == len(self._recorded) or line != self._recorded[self.compared]:
                self._differ(json_bytes.loads(line))
                break
            self.compared += 1
        self._seen = journal.next_seq

    def _differ(self, again: Row | None) -> None:
        row = self._rows[self.compared] if self.compared < len(self._rows) else None
        self.difference = Difference(row["seq"] if row is not None else (again or {})["seq"], row, again)

    def _end(self, environment: PacedEnvironment, sandbox: Sandbox) -> None:
        self.virtual_s += environment.sim.time()
        sandbox.cluster.journal.unsubscribe(self._compare)  # what ends with the process is not written
        if not sandbox.ended:
            with environment.sim.entered():
                Sandbox.crash(sandbox)
        environment.close()
        self._environment = self.sandbox = None


def _openings(rows: list[Row]) -> Iterator[list[Row]]:
    """Yield the rows of each time the sandbox was awake, without an opening cut off before its clock is known."""
    begins = [begin for begin, row in enumerate(rows) if row["type"] in ("SandboxOpened", "SandboxWoken")]
    for begin, end in zip(begins, [*begins[1:], len(rows)], strict=True):
        if any(_is_wake(row) for row in rows[begin:end]):
            yield rows[begin:end]


def _is_wake(row: Row) -> bool:
    return bool(row["type"] == "ClockChanged" and row["reason"] == "wake")


def _woken_ms(opening: list[Row]) -> int:
    """Return the machine's time of the opening, in ms."""
    return next(int(row["wall_ms"]) for row in opening if _is_wake(row))


def _closed_ms(opening: list[Row]) -> int:
    """Return the machine's time of the closing before, as in the recorded run, in ms; 0 if unknown."""
    slept_ms = opening[0].get("slept_ms")
    return 0 if slept_ms is None else _woken_ms(opening) - int(slept_ms)
