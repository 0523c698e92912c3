"""The stages that tests of attached clusters and of findings play on."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.simulation.world import World
from tests.beginnings import world_of
from tests.sim.attached_stage import Office
from tests.sim.finding_stage import FindingStage

world = world_of("orders", seconds=20)


@pytest.fixture
def office(world: World) -> Office:
    """An administrator of that cluster from outside."""
    made = Office(world)
    made.attach()
    return made


@pytest.fixture
def staged(tmp_path: Path) -> Iterator[Callable[..., FindingStage]]:
    """Makes a stage, which is closed after the test."""
    stages: list[FindingStage] = []

    def make(*arguments: Any, **more: Any) -> FindingStage:
        stages.append(FindingStage(tmp_path / str(len(stages)), *arguments, **more))
        return stages[-1]

    yield make
    for stage in stages:
        stage.world.close()
