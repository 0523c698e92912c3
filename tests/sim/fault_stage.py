"""Helpers of fault tests on a world."""

from typing import Any

import pytest

from sandbox.broker.broker import Broker
from sandbox.journal.events import ActionTaken
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.world import World


def refusal(world: World, action: str, **fields: Any) -> ActionRefused:
    before = len(world.entries(ActionTaken))
    with pytest.raises(ActionRefused) as refused:
        world.act(action, **fields)
    assert len(world.entries(ActionTaken)) == before, "a refusal leaves nothing behind"
    return refused.value


def caused_by(world: World, seq: int) -> list[str]:
    """Names of the events written in the turn of that action."""
    return [type(entry.event).__name__ for entry in world.entries() if entry.cause == seq]


def broker(world: World, name: str = "broker-a", broker_id: int = 0) -> Broker:
    return world.cluster.nodes.broker(name, broker_id).running
