"""The streaming job is killed at random, its JVM with it, while a sandbox goes on writing: every row is there once.

Three kills; twenty with QUEUEVIZ_KILLS=20.
"""

import os
import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.pipeline.lag.result_store import DIRECTORY, place_of
from sandbox.pipeline.runs.launch import ENDED, Child, Order, Where
from sandbox.pipeline.runs.results import manifest_of
from sandbox.simulation.world import World
from tests.pipeline.audits import table
from tests.pipeline.test_lag_history import TABLES, expected, in_order

pytestmark = pytest.mark.pipeline

SEED = 20
KINDS = ("torn", "start", "batch")
"""While a batch is being put down; while Spark starts, or reads its checkpoint; some time after the next batches."""
KILLS = int(os.environ.get("QUEUEVIZ_KILLS", len(KINDS)))
SECONDS = 500  # the sandbox lives as long, at least
WITHIN_S = 120.0  # a batch, on a machine with much else to do
STEP_S = 0.02


class Scene:
    """A sandbox that lives ten times as fast as we wait, and one job after the other over its journal."""

    def __init__(self, world: World, journal: Path, home: Path, out: Path) -> None:
        self.world, self.home, self.out = world, home, out
        self.journals = {"s": str(journal)}
        self.torn = 0

    def batch(self) -> int:
        """The last that is in the result; −1 before the first."""
        place = place_of(manifest_of(self.out))
        return -1 if place is None else place.batch

    def is_torn(self) -> bool:
        """A batch is being put down that the result does not name yet."""
        place = place_of(manifest_of(self.out))
        named = "" if place is None else place.directory
        return any(f"{DIRECTORY}/{directory.name}" > named for directory in (self.out / DIRECTORY).glob("*"))

    def kill(self, number: int, until: Callable[[], bool], then_s: float) -> None:
        with (self.home / "words").open("ab") as words:
            child = Child(Where("local[2]"), self.home / "spark", os.environ, errors=words)
            process = child._process
            child.order(Order(f"r-{number}", "lag_history", {}, self.journals, str(self.out), {"follow": "true"}))
            self.wait(process, WITHIN_S, until)
            self.wait(process, then_s, lambda: False)
            self.torn += self.is_torn()
            os.killpg(process.pid, signal.SIGKILL)  # its session: Python, the JVM and its workers
            child.close()
            assert child.exit_code == -signal.SIGKILL

    def wait(self, process: "subprocess.Popen[bytes]", most_s: float, until: Callable[[], bool]) -> None:
        """The sandbox lives on meanwhile."""
        for _ in range(int(most_s / STEP_S)):
            if until():
                return
            self.world.run(STEP_S * 10)
            try:
                process.wait(STEP_S)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError(f"it ended by itself: {(self.home / 'words').read_text()[-2_000:]}")

    def finish(self) -> None:
        with (
            (self.home / "words").open("ab") as words,
            Child(Where("local[2]"), self.home / "spark", os.environ, errors=words) as child,
        ):
            child.order(Order("last", "lag_history", {}, self.journals, str(self.out), {}))
            last = next(reported for reported in child.reports() if reported["state"] in ENDED)
            assert last["state"] == "done"


@pytest.mark.wide
def test_killed_at_random_every_row_is_in_the_result_once(tmp_path: Path) -> None:
    draw = random.Random(SEED)
    out = tmp_path / "out"
    (out / DIRECTORY).mkdir(parents=True)
    with World(tmp_path, "retries", seed=SEED) as world:
        journal = tmp_path / "sandboxes" / "world" / "journal"
        scene = Scene(world, journal, tmp_path, out)
        for number in range(KILLS):
            before = scene.batch()
            kind = KINDS[number] if number < len(KINDS) else draw.choice(KINDS)
            if kind == "batch":
                goal = before + draw.randrange(1, 4)
                scene.kill(number, lambda goal=goal: scene.batch() >= goal, draw.uniform(0, 1.5))
            elif kind == "torn":
                scene.kill(number, lambda before=before: scene.batch() > before and scene.is_torn(), 0)
            else:
                scene.kill(number, lambda: True, draw.uniform(0, 15))
        world.run(SECONDS)
        world.sleep()
        scene.finish()
    wanted = expected(scene.journals)
    assert len(wanted["seconds"]) > SECONDS
    for name in TABLES:
        assert in_order(table(out, name)) == in_order(wanted[name])
    print(
        f"{KILLS} kills, {scene.torn} of them within a batch; {scene.batch() + 1} batches, "
        f"{len(wanted['seconds'])} seconds"
    )
