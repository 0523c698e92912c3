"""Executes the actions of a recorded sandbox again and compares what is written with its journal, byte for byte."""

import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import orjson

from sandbox.cluster.journal_files import DIRECTORY
from sandbox.cluster.origin import ORIGIN_NAME, Origin, load_origin
from sandbox.cluster.paced import PacedEnvironment
from sandbox.cluster.record import FILE_NAME
from sandbox.control.actions import parse_action
from sandbox.hosting.sandbox import Sandbox
from sandbox.journal.events import Position
from sandbox.journal.schema import CAME, Row, from_row
from sandbox.journal.segments import line_of, lines
from sandbox.kernel.engine_version import ENGINE
from sandbox.kernel.errors import ActionRefused
from sandbox.sim.loop import Stuck

MADE_BEFORE = "made before"  # this sandbox was made by a release that recorded nothing
TRIMMED = "trimmed"  # the oldest segments of the journal were deleted
NOT_KEPT = "beginning not kept"  # a stretch that begins from files, which went on since


class Stretch(NamedTuple):
    """Rows of the journal from one seq to another; `why`: it ended, or it cannot be executed again."""

    from_seq: int
    to_seq: int
    reproducible: bool
    why: str | None

    def row(self) -> Row:
        return {"from": self.from_seq, "to": self.to_seq, "reproducible": self.reproducible, "why": self.why}


class Difference(NamedTuple):
    """The first event that is not the same; None where one of both has none."""

    seq: int
    recorded: Row | None
    again: Row | None


class Replayed(NamedTuple):
    """`events`: compared and equal; `engine`: the release that recorded them; `speed`: virtual seconds per second."""

    events: int
    first_difference: Difference | None
    stretches: tuple[Stretch, ...]
    engine: str
    speed: float

    def row(self) -> Row:
        found = self.first_difference
        return {"equal": found is None, "events": self.events,
                "first_difference": None if found is None else found._asdict(),
                "stretches": [stretch.row() for stretch in self.stretches], "engine": self.engine,
                "speed": round(self.speed, 1)}


def replay(directory: Path, *, until: int | None = None) -> Replayed:
    """Raises CorruptRecord when its files cannot be read, FileNotFoundError when there is no journal."""
    recorded = list(lines(directory / DIRECTORY))
    if not recorded:
        raise FileNotFoundError(f"{directory} has no journal")
    rows = [orjson.loads(line) for line in recorded]
    stretches = stretches_of(rows, recorded_whole=(directory / ORIGIN_NAME).exists())
    if not stretches[0].reproducible:
        return Replayed(0, None, stretches, "", 0.0)
    last = stretches[0].to_seq if until is None else min(until, stretches[0].to_seq)
    count = next((place for place, row in enumerate(rows) if row["seq"] > last), len(rows))
    began_s = time.monotonic()
    origin = load_origin(directory)
    with Rerun(origin, recorded[:count], rows[:count], home=directory.parents[1]) as rerun:
        rerun.run()
    speed = rerun.virtual_s / max(time.monotonic() - began_s, 1e-6)
    return Replayed(rerun.compared, rerun.difference, stretches, origin.record["engine"], speed)


def stretches_of(rows: list[Row], *, recorded_whole: bool) -> tuple[Stretch, ...]:
    first, last = rows[0]["seq"], rows[-1]["seq"]
    if not recorded_whole:
        return (Stretch(first, last, False, MADE_BEFORE),)
    if first > 0:
        return (Stretch(first, last, False, TRIMMED),)
    place = next((place for place, row in enumerate(rows) if row["type"] == "StretchEnded"), None)
    if place is None:
        return (Stretch(first, last, True, None),)
    why = rows[place]["why"]
    if why != "disk":  # said when it was woken after the end
        place = next(before for before in range(place, -1, -1) if rows[before]["type"] == "SandboxWoken")
    return (Stretch(first, rows[place - 1]["seq"], True, why), Stretch(rows[place]["seq"], last, False, NOT_KEPT))


class Rerun:
    """One stretch in a directory of its own, from creation through every sleep; `sandbox` is the one that runs last."""

    def __init__(self, origin: Origin, recorded: list[bytes], rows: list[Row], *, home: Path) -> None:
        self._origin = origin
        self._recorded = recorded
        self._rows = rows
        self._home = home
        self._scratch = tempfile.TemporaryDirectory(prefix="replay-")
        self._directory = Path(self._scratch.name) / "sandboxes" / origin.record["slug"]
        self._directory.mkdir(parents=True)
        (self._directory / FILE_NAME).write_bytes(orjson.dumps({**origin.record, "engine": ENGINE}))
        self._environment: PacedEnvironment | None = None
        self.sandbox: Sandbox | None = None
        self._seen = 0
        self.compared = 0
        self.difference: Difference | None = None
        self.virtual_s = 0.0

    def __enter__(self) -> "Rerun":
        return self

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._environment is not None and self.sandbox is not None:
            self._end(self._environment, self.sandbox)
        self._scratch.cleanup()

    def run(self) -> None:
        """Until everything recorded was written again, or something else was."""
        for opening in _openings(self._rows):
            try:
                self._run(opening)
            except Stuck:
                self._differ(None)
            if not self._goes_on():
                return

    def _run(self, opening: list[Row]) -> None:
        if self._environment is not None and self.sandbox is not None:
            self._end(self._environment, self.sandbox)
        environment = self._environment = PacedEnvironment(
            self._origin.record["seed"], wall_ms=_woken_ms(opening), memory_bytes=self._origin.memory_bytes)
        with environment.sim.entered():
            sandbox = self.sandbox = Sandbox(self._directory, self._origin.config, environment, home=self._home)
            self._seen = sandbox.cluster.journal.next_seq
            sandbox.cluster.journal.subscribe(self._compare)
        self._to_its_end(environment, sandbox.open)
        for row in opening:
            if CAME in row:
                if not environment.run_to(Position(*row[CAME]), self._goes_on):
                    return
                self._repeat(environment, sandbox, row)
        while self._goes_on() and not sandbox.ended:
            environment.sim.run_turn()

    def _repeat(self, environment: PacedEnvironment, sandbox: Sandbox, row: Row) -> None:
        """What came from outside: an action, one that a limit refused, or sleep."""
        came = Position(*row[CAME])
        if row["type"] == "SandboxSlept":
            self._to_its_end(environment, lambda: sandbox.close(row["reason"], came=came))
            return
        with environment.sim.entered():
            if row["type"] == "ActionTaken":
                try:
                    sandbox.act(parse_action({"action": row["action"], **row["fields"]}), row["by"])
                except ActionRefused:  # as it was when it was recorded; otherwise the next event differs
                    return
            else:
                sandbox.cluster.journal.write(from_row(row).event, came=came)

    def _to_its_end(self, environment: PacedEnvironment, make: Callable[[], Coroutine[Any, Any, None]]) -> None:
        with environment.sim.entered():
            task = environment.sim.create_task(make())
        while not task.done() and self._goes_on():
            environment.sim.run_turn()
        if task.done():
            task.result()

    def _goes_on(self) -> bool:
        return self.difference is None and self.compared < len(self._recorded)

    def _compare(self) -> None:
        assert self.sandbox is not None
        journal = self.sandbox.cluster.journal
        for entry in journal.since(self._seen):
            if not self._goes_on():
                break
            if (line := line_of(entry)) != self._recorded[self.compared]:
                self._differ(orjson.loads(line))
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
                sandbox.crash()
        environment.close()
        self._environment = self.sandbox = None


def _openings(rows: list[Row]) -> Iterator[list[Row]]:
    """The rows of each time it was awake."""
    begins = [place for place, row in enumerate(rows) if row["type"] in ("SandboxOpened", "SandboxWoken")]
    for place, end in zip(begins, [*begins[1:], len(rows)], strict=True):
        yield rows[place:end]


def _woken_ms(opening: list[Row]) -> int:
    """The machine's time when it was opened."""
    return next(int(row["wall_ms"]) for row in opening if row["type"] == "ClockChanged" and row["reason"] == "wake")
