"""A process that makes the history that new sandboxes of a template begin with (`hosting.histories`).

It runs as fast as it can.  `python -m sandbox.simulation.history HOME` reads {"template", "preset", "history_s",
"node_host"} and prints {"progress"}, then {"result"}: whether it was made here, or {"refused"}.
"""

import fcntl
import shutil
import sys
import tempfile
from collections.abc import Callable, Coroutine
from hashlib import sha256
from pathlib import Path
from typing import Any

from sandbox.cluster import record as records
from sandbox.cluster.config import HostConfig
from sandbox.cluster.new_sandbox import SEED_CHARS, new_record
from sandbox.cluster.origin import save_origin
from sandbox.cluster.paced import PacedEnvironment
from sandbox.hosting.histories import MAKING, RUN, SLUG, Histories
from sandbox.hosting.sandbox import Sandbox
from sandbox.journal.events.life import HISTORY
from sandbox.kernel.clock import wall_ms
from sandbox.simulation.beside import Progress, serve
from sandbox.store.config import physical_memory_bytes

LOCK_NAME = ".lock"
SAID_EACH_S = 5


def make_history(
    home: Path,
    template: str,
    preset: str,
    config: HostConfig,
    *,
    ends_ms: int | None = None,
    progress: Progress = lambda share: None,
) -> bool:
    """Make the history of a template and return True.

    False: it exists already, or another process makes it.  `ends_ms`: the time of its end; without it, now.  Raises
    OSError, SandboxError.
    """
    histories = Histories(home, config)
    histories.root.mkdir(parents=True, exist_ok=True)
    with (histories.root / LOCK_NAME).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        for left in histories.root.glob(f"{MAKING}*"):  # of a process that ended
            shutil.rmtree(left, ignore_errors=True)
        histories.forget_stale()
        if not histories.is_wanted(template, preset):
            return False
        draft = Path(tempfile.mkdtemp(prefix=MAKING, dir=histories.root))
        try:
            begins_ms = (wall_ms() if ends_ms is None else ends_ms) - config.history_s * 1000
            _prepare(draft / RUN, template, preset, config, begins_ms)
            _run(draft / RUN, config, home, begins_ms, progress)
            histories.keep(draft, template, preset)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return True


def seed_of(template: str, preset: str) -> str:
    """Return the seed of a history.

    It is the same on every server, so that new sandboxes of a template look the same everywhere.
    """
    return sha256(f"{SLUG} {template} {preset}".encode()).hexdigest()[:SEED_CHARS]


def _prepare(directory: Path, template: str, preset: str, config: HostConfig, begins_ms: int) -> None:
    record = new_record(
        SLUG,
        template,
        preset=preset,
        seed=seed_of(template, preset),
        changes=None,
        limits=None,
        config=config,
        ports_taken=set(),
        now_ms=begins_ms,
    )
    record.repeatable = True
    directory.mkdir()
    records.save(directory, record)
    save_origin(directory, config, physical_memory_bytes())


def _run(directory: Path, config: HostConfig, home: Path, begins_ms: int, progress: Progress) -> None:
    """Run the new sandbox in virtual time for the length of the history, and put it to sleep."""
    environment = PacedEnvironment(
        records.load(directory).seed, wall_ms=begins_ms, memory_bytes=physical_memory_bytes()
    )
    with environment.sim.entered():
        sandbox = Sandbox(directory, config, environment, home=home)
    try:
        _to_its_end(environment, sandbox.open)
        for second in range(SAID_EACH_S, config.history_s, SAID_EACH_S):
            environment.run_some(second * 1000, lambda: True)
            progress(second / config.history_s)
        environment.run_some(config.history_s * 1000, lambda: True)
        came = environment.position()
        _to_its_end(environment, lambda: sandbox.close(HISTORY, came=came))
    finally:
        if not sandbox.ended:
            with environment.sim.entered():
                sandbox.crash()
        environment.close()


def _to_its_end(environment: PacedEnvironment, make: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with environment.sim.entered():
        task = environment.sim.create_task(make())
    while not task.done():
        environment.sim.run_turn()
    task.result()


def _ordered(order: dict[str, Any], progress: Progress) -> bool:
    config = HostConfig(history_s=order["history_s"], node_host=order["node_host"])
    return make_history(Path(sys.argv[1]), order["template"], order["preset"], config, progress=progress)


if __name__ == "__main__":
    serve(_ordered)
