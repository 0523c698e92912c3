"""A sandbox with which anything is done, on a machine with the disk of a browser: the same run on any interpreter."""

import shutil
import sys
import time
from hashlib import sha256
from pathlib import Path
from random import Random

from sandbox.cluster.config import HostConfig
from sandbox.lite.environment import MEMORY_BYTES
from sandbox.lite.memory_disk import MAPPED, MemoryDisk
from tests.sim.recorded_stage import SLUG, Recorded, drawn_action

PAUSE_S = 2.0
RUN, SECONDS = "run ", "seconds "  # first words of printed lines


class InMemory(Recorded):
    """`on_files`: mapped files as on a server."""

    def __init__(self, home: Path, template: str, *, seed: int, on_files: bool) -> None:
        self._on_files = on_files
        super().__init__(home, template, seed=seed, luck=seed)

    @classmethod
    def again(cls, home: Path) -> "InMemory":
        """Return the stage of a process that finds the sandbox's files."""
        stage = cls.__new__(cls)
        stage.directory = home / "sandboxes" / SLUG
        stage._home, stage._config, stage._chance, stage._look_s = home, HostConfig(), Random(1), 0.001
        stage._on_files = False
        stage._start()
        return stage

    def _start(self) -> None:
        super()._start()
        self.machine.memory_bytes = MEMORY_BYTES
        if not self._on_files:
            self.machine.make_paced_disk = MemoryDisk


def run_anything(home: Path, template: str, seed: int, *, feeds: Path, actions: int = 8, on_files: bool = False) -> str:
    """Return a digest of the journal of a run of this seed, with the number of its events."""
    shutil.rmtree(home, ignore_errors=True)
    MAPPED.clear()
    home.mkdir(parents=True)
    shutil.copytree(feeds, home / "feeds")
    script = Random(seed)
    stage = InMemory(home, template, seed=seed, on_files=on_files)
    stage.run(script.random() * PAUSE_S)
    for _ in range(actions):
        turn = script.random()
        if turn < 0.12:
            stage.sleep()
            stage.run(script.random() * PAUSE_S)
            stage.wake()
        elif turn < 0.2:
            stage.kill()
            stage.wake()
        else:
            name, fields = drawn_action(script, stage.host.snapshot(SLUG))
            stage.act(name, **fields)
        stage.look()
        stage.run(script.random() * PAUSE_S)
    stage.close()
    journal = stage.journal()
    return f"{len(journal)} {sha256(b''.join(journal)).hexdigest()[:24]}"


def main(arguments: list[str]) -> None:
    """Print a line for each `TEMPLATE SEED` of the arguments; the first two are a scratch home and the feeds."""
    home, feeds, *pairs = arguments
    began_s = time.perf_counter()
    for template, seed in zip(pairs[::2], pairs[1::2], strict=True):
        print(f"{RUN}{template} {seed} {run_anything(Path(home), template, int(seed), feeds=Path(feeds))}", flush=True)
    print(f"{SECONDS}{time.perf_counter() - began_s}")


if __name__ == "__main__":
    main(sys.argv[1:])
