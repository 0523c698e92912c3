"""Execution of a run that a browser reported: its entries, one by one, and the lab's state at the end.

The result is an ordinary directory of a sandbox that sleeps.
"""

import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple, cast

from sandbox.cluster.config import HostConfig
from sandbox.cluster.journal_files import DIRECTORY
from sandbox.cluster.origin import conditions_of
from sandbox.control.actions import parse_action
from sandbox.control.branch_orders import Came, RunOrder
from sandbox.control.questions import LabState
from sandbox.control.rights import ROLES, allows
from sandbox.hosting.branching import MARK, Run, prepare
from sandbox.hosting.recipes import run_of
from sandbox.hosting.rerun import Rerun
from sandbox.hosting.sandbox import Sandbox
from sandbox.journal.events import Position
from sandbox.journal.schema import CAME, Row, from_row
from sandbox.journal.segments import rows_since
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.grade import grade
from sandbox.queries.rows.labs import LabRow
from sandbox.queries.snapshot.lab import lab_row

FIRST_SEQ = 2  # of the first entry in the rows of a run
CHECK_TURNS = 256  # turns between two checks of the limits
SLEEP_REASON = "executed"

LIMIT_TYPES: dict[str, type] = {"limit": str, "value": int, "allowed": int, "who": str}

Stop = Literal["events", "seconds", "disk", "clock", "stuck", "over"]
UNCLEAN: frozenset[Stop | None] = frozenset({"disk", "stuck", "over"})  # then it cannot be closed


class NotExecuted(NamedTuple):
    """An entry that the engine refused.  `message`, `values`: as of ActionRefused."""

    n: int
    message: str
    values: dict[str, object]


class Moved(NamedTuple):
    """An entry that cannot be at its stated position; `reached`: the position at which it was executed."""

    n: int
    reached: Position


class Executed(NamedTuple):
    """The result of an execution.  Entries have numbers from 1.

    `rows`: of each attempt, the oldest first.  `moments`: the sandbox's time in ms at each executed entry.  `stopped`:
    the limit that ended the execution before its end.
    """

    rows: tuple[LabRow, ...]
    moments: dict[int, int]
    refused: tuple[NotExecuted, ...]
    moved: tuple[Moved, ...]
    events: int
    stopped: Stop | None


class Bounds(NamedTuple):
    """Limits of one execution.

    `awake_ms`: the most time of its loop, which the browser had.  `idle_ms`: where it ends without a difference, long
    after the last entry.  `cpu_s`: of this process.  `free_bytes`: the least free space of the data home.  `is_over`:
    returns True when the process has to end.
    """

    awake_ms: int
    idle_ms: int
    cpu_s: float
    free_bytes: int
    is_over: Callable[[], bool] = lambda: False


def execute(order: RunOrder, directory: Path, *, home: Path, config: HostConfig, bounds: Bounds) -> Executed:
    """Execute a run into `directory`, which does not exist yet.

    Raises ActionRefused: 409 or 422 if the run is of another configuration, 503 if too little disk space is free.
    """
    if shutil.disk_usage(home).free < bounds.free_bytes:
        raise ActionRefused(503, "The disk of the server is full.", "Free some space on the server, then try again.")
    if order.conditions != conditions_of(config, config.node_host):
        raise ActionRefused(
            409, "The limits of this server have changed since the run began.", "Start the lab again in a new sandbox."
        )
    entries = [(n, came) for n, came in enumerate(order.came, start=1) if _refusal_of(n, came) is None]
    refused = [refusal for n, came in enumerate(order.came, start=1) if (refusal := _refusal_of(n, came)) is not None]
    run = run_of(replace(order, came=tuple(came for _, came in entries)), config)
    prepare(directory, run, order, config, set())
    with ProofRun(run, directory, [n for n, _ in entries], home=home, bounds=bounds) as proof:
        proof.execute()
        assert proof.sandbox is not None, "it was run"
        with proof.entered():
            newest = cast(LabRow | None, proof.sandbox.ask(LabState())["lab"])
        events, begun = proof.sandbox.cluster.journal.next_seq, proof.sandbox.record.lab.get("attempts", {})
        if proof.stopped in UNCLEAN:
            proof.sandbox.cluster.journal_files.show()
        else:
            proof.close()
    (directory / MARK).unlink()
    rows: Iterable[LabRow] = [] if newest is None else [newest]
    if sum(begun.values()) > 1:
        rows = [*_earlier(directory, newest), *rows]
    by_number = sorted([*refused, *proof.not_executed], key=lambda entry: entry.n)
    return Executed(tuple(rows), proof.moments, tuple(by_number), tuple(proof.moved), events, proof.stopped)


class ProofRun(Rerun):
    """The execution, with what contradicts the entries.  `numbers`: of the entries in the run."""

    def __init__(self, run: Run, directory: Path, numbers: list[int], *, home: Path, bounds: Bounds) -> None:
        super().__init__(run.origin, run.lines, run.rows, home=home, directory=directory, until=run.until)
        self._numbers = numbers
        self._bounds = bounds
        self._most_events = run.until
        self.moments: dict[int, int] = {}
        self.not_executed: list[NotExecuted] = []
        self.moved: list[Moved] = []
        self.stopped: Stop | None = None

    def execute(self) -> None:
        """Run to the end of the order, or to a limit."""
        until_s = time.process_time() + self._bounds.cpu_s
        for turn, _ in enumerate(self.turns()):
            if turn % CHECK_TURNS == 0:
                self.stopped = self._limit(until_s)
            if self.stopped is not None or self._is_idle():
                return
        self.stopped = self._limit(until_s) if self.difference is None else "stuck"

    def note_repeated(self, row: Row, reached: Position, next_seq: int) -> None:
        assert self.sandbox is not None, "it runs"
        n = self._numbers[row["seq"] - FIRST_SEQ]
        if self.refused and self.refused[-1][0] == row["seq"]:
            self.not_executed.append(_not_executed(n, self.refused[-1][1]))
        elif self.sandbox.cluster.journal.next_seq == next_seq:
            self.not_executed.append(_not_executed(n, ActionRefused(409, "This answer was already received.")))
        else:
            self.moments[n] = self.sandbox.cluster.journal.since(next_seq)[0].at_ms
        if reached != Position(*row[CAME]):
            self.moved.append(Moved(n, reached))

    def close(self) -> None:
        """Close the sandbox, so that its files are complete."""
        environment, sandbox = self._environment, self.sandbox
        assert environment is not None, "it was run"
        assert sandbox is not None, "it was run"
        came = environment.position()
        for _ in self._to_its_end(environment, lambda: Sandbox.close(sandbox, SLEEP_REASON, came=came)):
            pass

    def _is_idle(self) -> bool:
        return self._environment is not None and self._environment.sim.time() * 1000 > self._bounds.idle_ms

    def _limit(self, until_s: float) -> Stop | None:
        if self._environment is None or self.sandbox is None:
            return None
        if self._bounds.is_over():
            return "over"
        if self._environment.sim.time() * 1000 > self._bounds.awake_ms:
            return "clock"
        if self._most_events is not None and self.sandbox.cluster.journal.next_seq > self._most_events:
            return "events"
        if time.process_time() > until_s:
            return "seconds"
        return "disk" if shutil.disk_usage(self._home).free < self._bounds.free_bytes // 2 else None


def _refusal_of(n: int, came: Came) -> NotExecuted | None:
    """Return why the entry is no action of its actor, or None if it is one."""
    try:
        _check(came)
    except ActionRefused as error:
        return _not_executed(n, error)
    return None


def _check(came: Came) -> None:
    """Raise ActionRefused if the entry is no action (422), or one to which its actor has no right (403)."""
    if not isinstance(came.fields, dict):
        raise ActionRefused(422, "The entry is not complete.")
    if came.name is None:
        if {name: type(value) for name, value in came.fields.items()} != LIMIT_TYPES:
            raise ActionRefused(422, "The entry is not complete.")
        return
    action = parse_action({**came.fields, "action": came.name})
    role = came.by.split(" ", 1)[0]
    if role not in ROLES or not allows(role, action):
        raise ActionRefused(403, "The role {role} has no right to this action.", role=role[:20])


def _not_executed(n: int, error: ActionRefused) -> NotExecuted:
    return NotExecuted(n, error.message, error.values)


def _earlier(directory: Path, newest: LabRow | None) -> list[LabRow]:
    """Return the rows of all attempts in the journal but the newest one."""
    rows = [
        lab_row(graded.attempt, graded.attempt.evidence.now_ms)
        for graded in grade(map(from_row, rows_since(directory / DIRECTORY, 0)))
    ]
    return [row for row in rows if newest is None or (row["lab"], row["attempt"]) != (newest["lab"], newest["attempt"])]
