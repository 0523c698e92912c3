"""The stage most tests of attached clusters play on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.simulation.world import World
from tests.sim.attached_stage import Office


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """`orders`, after its first twenty seconds."""
    with World(tmp_path, "orders") as made:
        made.run(20)
        yield made


@pytest.fixture
def office(world: World) -> Office:
    """Who administers that cluster from outside."""
    made = Office(world)
    made.attach()
    return made
