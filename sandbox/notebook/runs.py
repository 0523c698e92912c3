"""The two ways to run a sandbox without a web page: in virtual time, or in real time."""

import tempfile
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol, TypeVar, cast

from sandbox.control.actions import Action
from sandbox.control.questions import Question
from sandbox.control.readings import Reading
from sandbox.control.rights import Actor
from sandbox.hosting.engine import Engine
from sandbox.journal import segments
from sandbox.journal.journal import Overrun
from sandbox.journal.schema import Row, to_row
from sandbox.queries.rows.findings import Findings
from sandbox.queries.rows.snapshot import Snapshot
from sandbox.simulation.world import World

T = TypeVar("T")

SLUG = "notebook"
PATIENCE_S = 10.0  # for one turn of the engine; opening may recover files
OWNER = Actor("owner", "notebook")
ROWS_AT_ONCE = 10_000


class Run(Protocol):
    """An open sandbox.  `act` and `ask` raise ActionRefused."""

    def act(self, action: Action) -> int: ...
    def ask(self, question: Question) -> dict[str, object]: ...
    def pass_s(self, seconds: float) -> None: ...
    def snapshot(self) -> Snapshot: ...
    def findings(self) -> Findings: ...
    def rows(self, after: int) -> list[Row]: ...
    def close(self) -> None: ...


class VirtualRun:
    """A run in virtual time: time passes only in `pass_s`, as fast as the machine can.

    The same seed and actions give the same run.
    """

    def __init__(self, home: Path | None, template: str, *, seed: int | str, preset: str) -> None:
        self._own = tempfile.TemporaryDirectory(prefix="queueviz-") if home is None else None
        self._world = World(home or Path(self._own.name if self._own else ""), template, seed=seed, preset=preset)

    def act(self, action: Action) -> int:
        return self._world.act(action)

    def ask(self, question: Question) -> dict[str, object]:
        return self._world.ask(question)

    def pass_s(self, seconds: float) -> None:
        self._world.run(seconds)

    def snapshot(self) -> Snapshot:
        return self._world.snapshot()

    def findings(self) -> Findings:
        return self._world.sandbox.findings.read()

    def rows(self, after: int) -> list[Row]:
        """Return the journal's rows after a seq, from memory if it has them all, else from the files."""
        cluster = self._world.cluster
        try:
            entries = cluster.journal.since(after + 1)
        except Overrun:
            cluster.journal_files.flush()
            return list(segments.rows_since(cluster.directory / "journal", after + 1))
        return [to_row(entry, longs_as_text=False) for entry in entries]

    def close(self) -> None:
        self._world.close()
        if self._own is not None:
            self._own.cleanup()


class RealRun:
    """A run in real time with the engine's own thread and real files; `pass_s` waits.

    `SetRate` makes sandbox time go faster.
    """

    def __init__(self, home: Path | None, template: str, *, seed: int | str, preset: str) -> None:
        self._own = tempfile.TemporaryDirectory(prefix="queueviz-") if home is None else None
        self._engine = Engine(home or Path(self._own.name if self._own else "")).start()
        self._port = self._engine.port
        known = _value(self._port.status())["sandboxes"]
        try:
            _value(
                self._port.wake(SLUG) if SLUG in known else self._port.create(SLUG, template, preset=preset, seed=seed)
            )
        except BaseException:
            self.close()
            raise

    def act(self, action: Action) -> int:
        return _value(self._port.act(SLUG, action, OWNER))

    def ask(self, question: Question) -> dict[str, object]:
        return _value(self._port.ask(SLUG, question))

    def pass_s(self, seconds: float) -> None:
        threading.Event().wait(seconds)

    def snapshot(self) -> Snapshot:
        return _value(self._port.snapshot(SLUG))

    def findings(self) -> Findings:
        [reading] = _value(self._port.read([f"findings/{SLUG}"]))
        assert isinstance(reading, Reading), "an open sandbox has findings"
        return cast(Findings, reading.data)

    def rows(self, after: int) -> list[Row]:
        rows: list[Row] = []
        while True:
            page = _value(self._port.entries(SLUG, after, ROWS_AT_ONCE, longs_as_text=False))
            rows += page.rows
            if len(page.rows) < ROWS_AT_ONCE:
                return rows
            after = page.next_seq - 1

    def close(self) -> None:
        self._engine.stop()
        if self._own is not None:
            self._own.cleanup()


def _value(future: "Future[T]") -> T:
    return future.result(PATIENCE_S)
