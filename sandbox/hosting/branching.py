"""Creation of a sandbox from a recorded run: the run is executed again up to an event, and continues from there."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from sandbox.cluster import record as records
from sandbox.cluster.config import HostConfig
from sandbox.cluster.environment import Environment
from sandbox.cluster.new_sandbox import with_own_addresses
from sandbox.cluster.origin import Origin, load_origin, write_origin
from sandbox.cluster.paced import PacedEnvironment
from sandbox.cluster.record import SandboxRecord
from sandbox.control.actions import fields_of, name_of
from sandbox.control.branch_orders import AnyOrder, BranchOrder, RecipeOrder, RunOrder
from sandbox.control.limits import HostLimits
from sandbox.hosting.paced_sandbox import PacedSandbox
from sandbox.hosting.repeatable_ranges import recorded_until, stretches_of
from sandbox.hosting.rerun import NO_CHANGES, Rerun
from sandbox.journal.schema import CAME, Row
from sandbox.kernel import json_bytes
from sandbox.kernel.engine_version import ENGINE
from sandbox.kernel.errors import ActionRefused, SandboxError

THREAD_S = 0.001  # between two checks of a thread's work
RECIPE_MS = 1_795_000_000_000  # when all recipes begin
MARK = "branching"  # a file: the directory is not complete


class Run(NamedTuple):
    """Source of a branch: the lines of a journal up to an event, with their rows.

    `free`, `until`: for a run without a journal, as of `Rerun`.
    """

    origin: Origin
    lines: list[bytes]
    rows: list[Row]
    free: bool = False
    until: int | None = None


def recipe_run(origin: Origin, seed: str, done: Iterable[tuple[int, str, Mapping[str, object]]], until_ms: int) -> Run:
    """Build a run from actions, with the rows that its journal would have.

    `done`: ms since the beginning, name and fields of each action.
    """
    begin_ms = RECIPE_MS
    rows: list[Row] = [{"type": "SandboxOpened"}, {"type": "ClockChanged", "reason": "wake", "wall_ms": begin_ms}]
    rows += [
        {"type": "ActionTaken", "action": action, "fields": fields, "by": "owner", CAME: [0, at_ms]}
        for at_ms, action, fields in sorted(done, key=lambda act: act[0])
    ]
    rows.append({"type": "Keyframe"})
    numbered = [{"seq": seq, "at_ms": begin_ms + row.get(CAME, (0, 0))[1], **row} for seq, row in enumerate(rows)]
    numbered[-1]["at_ms"] = begin_ms + until_ms
    return Run(origin._replace(record={**origin.record, "seed": seed}), [], numbered, free=True)


def read_recipe(directory: Path, order: RecipeOrder, limits: HostLimits) -> Run:
    """Return the run that a recipe describes, ready to be executed; `directory` holds the sandbox's origin.

    Raises ActionRefused: 409 if the origin cannot be read, 422 if the recipe has too many actions or lasts too long.
    """
    if len(order.done) > limits.branch_changes or order.until_ms > limits.recipe_s * 1000:
        raise ActionRefused(
            422,
            "A reproducible link has at most {most} actions and {seconds} s.",
            "Create the link from a shorter run.",
            most=limits.branch_changes,
            seconds=limits.recipe_s,
        )
    try:
        origin = load_origin(directory)
    except (SandboxError, OSError) as error:
        raise ActionRefused(
            409, "This run cannot be replayed: {why}.", "Start a new sandbox instead.", why=str(error)
        ) from error
    done = [(act.at_ms, name_of(act.action), fields_of(act.action, whole=True)) for act in order.done]
    return recipe_run(origin, order.seed, done, order.until_ms)


def read_run(directory: Path, order: BranchOrder, limits: HostLimits) -> Run:
    """Read the run of a sandbox up to the event of a branch.

    Raises ActionRefused: 404 if the event does not exist, 409 if the run cannot be executed again up to it, 422 if
    the branch is too large.
    """
    if len(order.changes) > limits.branch_changes:
        raise ActionRefused(
            422, "A branch changes at most {most} actions.", "Change fewer actions.", most=limits.branch_changes
        )
    kept, rows = recorded_until(directory, order.at)
    if not rows or rows[-1]["seq"] != order.at:
        raise ActionRefused(404, "Event {seq} does not exist.", "Choose an event from the Journal.", seq=order.at)
    first = stretches_of(directory, rows)[0]
    if not first.reproducible or order.at > first.to_seq:
        raise ActionRefused(
            409,
            "At event {seq} this run cannot be replayed.",
            "The sections on the time bar show the reason. Branch from an event before that section.",
            seq=order.at,
        )
    if len(rows) > limits.branch_events:
        raise ActionRefused(
            422,
            "A branch replays at most {most} events.",
            "Branch from an earlier event.",
            most=limits.branch_events,
        )
    _demand_actions(rows, order.changes)
    try:
        return Run(load_origin(directory), kept, rows)
    except (SandboxError, OSError) as error:
        raise ActionRefused(
            409, "This run cannot be replayed: {why}.", "Start a new sandbox instead.", why=str(error)
        ) from error


def _demand_actions(rows: list[Row], changed: Iterable[int]) -> None:
    seqs = {row["seq"] for row in rows if row["type"] == "ActionTaken" and CAME in row}
    for seq in sorted(changed):
        if seq not in seqs:
            raise ActionRefused(
                422,
                "Event {seq} is not an action that can be changed.",
                "Choose an action of this run before the event that is not part of the template.",
                seq=seq,
            )


def prepare(directory: Path, run: Run, order: AnyOrder, config: HostConfig, ports_taken: set[int]) -> SandboxRecord:
    """Write the first files of a branch and return its record.

    The record names the parent; the origin is the parent's except for the seed.  Raises OSError, and ActionRefused
    (503) if too few ports are free.
    """
    branch_of: dict[str, object] = {"run": run.origin.record["slug"]}
    if not isinstance(order, RunOrder):
        branch_of |= {"slug": order.parent, "at": order.at if isinstance(order, BranchOrder) else None}
    directory.mkdir(parents=True)
    (directory / MARK).touch()
    write_origin(directory, run.origin)
    values = {**run.origin.record, "slug": directory.name, "engine": ENGINE, "branch_of": branch_of}
    records.replace_file(directory / records.FILE_NAME, json_bytes.dumps(values, option=json_bytes.OPT_INDENT_2))
    record = records.load(directory)
    record.nodes = with_own_addresses(record.nodes, config, ports_taken)
    records.save(directory, record)
    return record


class Branching(Rerun):
    """Execution of a branch's run, in slices; `cancelled` ends it.

    The last sandbox of the run continues with the machine's time.
    """

    def __init__(
        self, directory: Path, run: Run, order: AnyOrder, config: HostConfig, machine: Environment, *, home: Path
    ) -> None:
        super().__init__(
            run.origin,
            run.lines,
            run.rows,
            home=home,
            directory=directory,
            free=run.free,
            until=run.until,
            changes=order.changes if isinstance(order, BranchOrder) else NO_CHANGES,
            make_disk=machine.make_paced_disk,
            workers=machine.workers,
            outside=machine.wall,
        )
        self._config = config
        self._machine = machine
        self.cancelled = False

    def make_sandbox(self, environment: PacedEnvironment) -> PacedSandbox:
        return PacedSandbox(self._directory, self._config, self._machine, home=self._home, paced=environment)

    async def make(self) -> PacedSandbox | None:
        """Create the branch in slices, with less priority than other work.

        Return its sandbox, or None if that was asleep at the branch event.  Raises ActionRefused (409).
        """
        wall, slice_s = self._machine.wall, self._config.limits.slice_ms / 1000
        await self._machine.run_blocking(self.take_history)
        with self:
            until_s = wall.monotonic() + slice_s
            for _ in self.turns():
                if self.cancelled:
                    raise ActionRefused(409, "This branch was cancelled.", "Delete the branch, then branch again.")
                if self.waits or wall.monotonic() >= until_s:
                    await asyncio.sleep(THREAD_S if self.waits else 0)
                    until_s = wall.monotonic() + slice_s
            if self.difference is not None:
                raise ActionRefused(
                    409,
                    "When replayed, this run differs from event {seq} on.",
                    "Branch from an event before the first difference.",
                    seq=self.difference.seq,
                )
            (self._directory / MARK).unlink()
            sandbox = self.let_go()
        assert isinstance(sandbox, PacedSandbox | None)
        if sandbox is not None:
            sandbox.go_on()
        return sandbox
