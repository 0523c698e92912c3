"""The run of one seed: build the setup, execute the steps, repair everything, wait until idle, check."""

import logging
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from sandbox.cluster.config import HostConfig
from sandbox.control.limits import SandboxLimits
from sandbox.journal.events import Entry
from sandbox.journal.schema import to_row
from sandbox.kernel import json_bytes
from sandbox.sim.loop import Stuck
from sandbox.simulation.checkers import check
from sandbox.simulation.files_check import check_files
from sandbox.simulation.observed import Observed
from sandbox.simulation.player import Player
from sandbox.simulation.script import Script, write_script
from sandbox.simulation.setup import record_of
from sandbox.simulation.violation import Violation, first_of
from sandbox.simulation.world import World

NEVER_S = 1e9
CONFIG = HostConfig(sandbox_limits=SandboxLimits(flow_events_per_s=None), keyframe_s=NEVER_S, remember_s=30.0)

MEMORY = Path("/dev/shm")  # files here cost no disk; otherwise any temporary directory


class Result(NamedTuple):
    """The result of a run.  `journal`: the whole journal in its file format, one line per entry."""

    seed: int
    violations: list[Violation]
    virtual_s: float
    played: Counter[str]
    refused: Counter[str]
    entries: int
    journal: tuple[bytes, ...] = ()

    def digest(self) -> str:
        """Return a hash of the whole journal, which is equal for equal seeds."""
        return sha256(b"\n".join(self.journal)).hexdigest()


def run_seed(seed: int, *, profile: str = "mixed", minutes: float | None = None) -> Result:
    """Run a seed and return the result without the journal, which is long and can be made again."""
    return play(write_script(seed, profile=profile, minutes=minutes), keep_journal=False)


def play(script: Script, *, keep_journal: bool = True) -> Result:
    """Execute a script and check the observations."""
    with _home() as home, _errors() as errors:
        record = record_of(script.setup, script.seed, CONFIG)
        world = World(home, latency_ms=script.setup.latency_ms, config=CONFIG, seed=script.seed, record=record)
        try:
            player = Player(world, script)
            violations: list[Violation] = []
            try:
                player.play()
                violations = _judge(player, world, home)
            except Exception as error:
                player.watcher.look()
                at_s = world.environment.sim.time()
                violations = [Violation("calm", f"{type(error).__name__} after {at_s:.1f} s: {error}")]
            violations += [Violation("calm", f"logged as an error: {line}") for line in errors]
            return Result(
                script.seed,
                first_of(violations),
                world.environment.sim.time(),
                player.played,
                player.refused,
                len(player.watcher.entries),
                _lines(player.watcher.entries) if keep_journal else (),
            )
        finally:
            with suppress(Stuck):  # reported already; a blocked loop cannot end cleanly either
                world.close()


def _judge(player: Player, world: World, home: Path) -> list[Violation]:
    watcher = player.watcher
    observed = Observed(
        player.script.setup,
        watcher.entries,
        watcher.acks,
        watcher.losses,
        watcher.shared,
        player.steps,
        watcher.slave_starts,
        watcher.final(),
    )
    return [*check(observed), *check_files(world, home, watcher.entries, observed.diverged())]


def _lines(entries: list[Entry]) -> tuple[bytes, ...]:
    return tuple(json_bytes.dumps(to_row(entry, longs_as_text=False)) for entry in entries)


@contextmanager
def _home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="simulate-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


class _Errors(logging.Handler):
    """A logging handler that stores records with a traceback: exceptions that were caught."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[0] is not None:
            self.lines.append(f"{record.getMessage()}: {record.exc_info[0].__name__}: {record.exc_info[1]}")


@contextmanager
def _errors() -> Iterator[list[str]]:
    """Collect the engine's error records in the yielded list instead of showing them."""
    engine = logging.getLogger("sandbox")
    handler, before = _Errors(), (engine.propagate, engine.level)
    engine.addHandler(handler)
    engine.propagate = False
    engine.setLevel(logging.ERROR)
    try:
        yield handler.lines
    finally:
        engine.removeHandler(handler)
        engine.propagate, level = before
        engine.setLevel(level)
