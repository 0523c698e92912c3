"""The stage most tests of attached clusters play on."""

import pytest

from sandbox.simulation.world import World
from tests.beginnings import world_of
from tests.sim.attached_stage import Office

world = world_of("orders", seconds=20)


@pytest.fixture
def office(world: World) -> Office:
    """An administrator of that cluster from outside."""
    made = Office(world)
    made.attach()
    return made
