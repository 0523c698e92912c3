"""The stage most tests of the claims begin on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.simulation.world import World
from tests.seed.stage import Caller, broker_address


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """A sandbox with one topic, TOPIC or else `orders`, of QUEUE_COUNT queues or else four: the module says which."""
    queues = getattr(request.module, "QUEUE_COUNT", 4)
    with World(tmp_path) as made:
        made.act(
            "CreateTopic", topic=getattr(request.module, "TOPIC", "orders"), write_queues=queues, read_queues=queues
        )
        made.run(1)
        yield made


@pytest.fixture
def caller(world: World) -> Caller:
    """A caller that sends requests of a test to `broker-a`."""
    return Caller(world, broker_address(world))
