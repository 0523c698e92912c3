"""The sandbox that each test of a module begins with, in virtual time: `world = world_of("orders", seconds=20)`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sandbox.simulation.world import World


def world_of(template: str, *, seconds: float = 0, **how: Any) -> Any:
    """A fixture: a sandbox of a template, so many seconds old."""

    @pytest.fixture
    def world(tmp_path: Path) -> Iterator[World]:
        with World(tmp_path, template, **how) as made:
            if seconds:
                made.run(seconds)
            yield made

    return world


def world_with(
    topics: Mapping[str, int], *, changes: Mapping[str, int] | None = None, seconds: float = 0, **how: Any
) -> Any:
    """A fixture: a broker, with these changes, and topics of so many queues each; no one else is there."""

    @pytest.fixture
    def world(tmp_path: Path) -> Iterator[World]:
        with World(tmp_path, **how) as made:
            if changes:
                made.act("ChangeBroker", broker="broker-a", changes=dict(changes))
            for topic, queues in topics.items():
                made.act("CreateTopic", topic=topic, write_queues=queues, read_queues=queues)
            if seconds:
                made.run(seconds)
            yield made

    return world
