"""`SandboxWoken.slept_ms`: the machine's time from closing to waking, also of a sandbox whose own clock was behind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.control.limits import HostLimits
from sandbox.control.recipe_text import pack, unpack
from sandbox.hosting.paced_sandbox import PacedSandbox
from sandbox.simulation.replay import replay
from tests.sim.recorded_stage import SLUG, Recorded

AWAY_MS = 600_000


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Recorded]:
    stage = Recorded(tmp_path, "orders", seed=3, luck=3, look_s=0)
    yield stage
    stage.close()


def fall_behind(stage: Recorded) -> None:
    """Put it a minute behind the machine, which it has not made up."""
    sandbox = stage.host.awake(SLUG)
    assert isinstance(sandbox, PacedSandbox)
    sandbox._pace._began_s += 60
    stage.run(30)


def woken(stage: Recorded, slug: str = SLUG) -> dict[str, Any]:
    return [row for row in stage.rows(slug) if row["type"] == "SandboxWoken"][-1]


def slept_behind(stage: Recorded) -> None:
    stage.run(5)
    fall_behind(stage)
    stage.sleep()
    stage.run(AWAY_MS / 1000)
    stage.wake()


def test_it_is_the_time_of_the_machine_where_the_sandbox_was_behind(stage: Recorded) -> None:
    slept_behind(stage)
    assert AWAY_MS <= woken(stage)["slept_ms"] < AWAY_MS + 1_000


def test_after_a_kill_it_is_unknown(stage: Recorded) -> None:
    slept_behind(stage)  # that moment of closing is not the one that counts
    stage.run(5)
    stage.kill()
    stage.run(60)
    stage.wake()
    row = woken(stage)
    assert (row["reason"], row["slept_ms"]) == ("after a kill", None)


def test_it_is_unknown_where_the_machines_clock_was_set_back(stage: Recorded) -> None:
    stage.run(1)
    stage.sleep()
    stage._clock._start_ms -= AWAY_MS
    stage.wake()
    assert woken(stage)["slept_ms"] is None


def test_the_run_is_executed_again_with_it_and_so_is_its_recipe(stage: Recorded) -> None:
    slept_behind(stage)
    stage.run(5)
    at, slept_ms = int(stage.rows()[-1]["seq"]), woken(stage)["slept_ms"]
    limits = HostLimits()
    text = pack(stage.machine.sim.run(stage.host.branches.recipe(SLUG, at)), limits)
    stage.make("again", unpack(text, limits))
    assert woken(stage, "again")["slept_ms"] == slept_ms
    stage.sleep()
    assert replay(stage.directory).first_difference is None


def test_a_recipe_made_before_opens_and_its_time_asleep_is_unknown(stage: Recorded) -> None:
    slept_behind(stage)
    stage.run(5)
    order = stage.machine.sim.run(stage.host.branches.recipe(SLUG, int(stage.rows()[-1]["seq"])))
    before = order.came[-1]._replace(slept_ms=None)
    text = pack(type(order)(**{**vars(order), "came": (*order.came[:-1], before)}), HostLimits())
    stage.make("again", unpack(text, HostLimits()))
    assert woken(stage, "again")["slept_ms"] is None
