"""A lab played in a sandbox in virtual time as a student's browser runs it, and the list that the browser reports."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sandbox.cluster.cluster import Cluster
from sandbox.cluster.config import HostConfig
from sandbox.control.actions import Action, fields_of, name_of, parse_action
from sandbox.control.branch_orders import RunOrder
from sandbox.control.questions import LabState, Question
from sandbox.control.readings import Reading
from sandbox.hosting.host import Host
from sandbox.hosting.paced_sandbox import PacedSandbox
from sandbox.journal.events.life import LimitReached
from sandbox.journal.schema import CAME
from sandbox.journal.segments import rows_since
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.labs import LabRow
from sandbox.simulation.world import SimulatedEnvironment
from tests.sim.recorded_stage import SilentBell

T = TypeVar("T")

SLUG = "in-browser"
STUDENT = "student Otter"


class BrowserRun:
    """`order`: without entries, as the server began it."""

    def __init__(self, home: Path, order: RunOrder) -> None:
        self.by = STUDENT
        self.directory = home / "sandboxes" / SLUG
        self._machine = SimulatedEnvironment(1, (0, 0))
        self._host = Host(home, HostConfig(), self._machine)
        self._on_loop(self._host.start)
        self._machine.sim.run(self._host.branches.begin(SLUG, order))
        while (change := self._host._registry.get(SLUG).change) is not None:
            self._machine.sim.run(_over(change))
        self._on_loop(lambda: self._host.subscribe(SLUG, SilentBell()))

    @property
    def _sandbox(self) -> PacedSandbox:
        sandbox = self._host.awake(SLUG)
        assert isinstance(sandbox, PacedSandbox)
        return sandbox

    # A `PlayedWorld`.

    @property
    def cluster(self) -> Cluster:
        return self._sandbox.cluster

    def act(self, action: Action | str, /, **fields: Any) -> int:
        if not isinstance(action, str):  # a page sends JSON, whose numbers have the types of the fields
            action, fields = name_of(action), fields_of(action, whole=True)
        typed = parse_action({"action": action, **fields})
        return self._on_loop(lambda: self._sandbox.act(typed, self.by))

    def run(self, seconds: float) -> None:
        self._machine.sim.run_for(seconds)

    def read(self, channel: str) -> Reading:
        kind, *rest = channel.split("/")
        return self._on_loop(lambda: self._sandbox.read(kind, rest))

    def ask(self, question: Question, /) -> dict[str, object]:
        return self._on_loop(lambda: self._sandbox.ask(question))

    # What the page does with it.

    def refused(self, action: str, **fields: Any) -> ActionRefused:
        try:
            self.act(action, **fields)
        except ActionRefused as error:
            return error
        raise AssertionError(f"{action} was not refused")

    def row(self) -> LabRow:
        row: Any = self.ask(LabState())["lab"]
        return row

    @property
    def now_ms(self) -> int:
        return self.cluster.clock.now_ms()

    @property
    def awake_s(self) -> float:
        return self._sandbox._paced.sim.time()

    def entries(self) -> list[dict[str, Any]]:
        """The outside events so far, with the fields of `lite_runs.Entry` but for the number."""
        self.cluster.journal_files.show()
        return [_entry(row) for row in rows_since(self.directory / "journal", 0) if CAME in row]

    def close(self) -> None:
        self._machine.sim.run(self._host.close())
        self._machine.sim.run_for(1)
        self._machine.close()

    def _on_loop(self, fn: Callable[[], T]) -> T:
        async def turn() -> T:
            return fn()

        return self._machine.sim.run(turn())


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    turn, ms = row[CAME]
    of_limit = row["type"] == "LimitReached"
    return {
        "turn": turn,
        "ms": ms,
        "at_ms": row["at_ms"],
        "name": None if of_limit else row["action"],
        "fields": {name: row[name] for name in LimitReached._fields} if of_limit else row["fields"],
        "by": STUDENT if of_limit else row["by"],
    }


async def _over(change: Any) -> None:
    await change
