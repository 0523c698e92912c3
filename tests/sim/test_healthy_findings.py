"""Healthy runs with everything that an operator does on a normal day: no finding opens besides those that are true."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sim.finding_stage import FindingStage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[FindingStage]:
    stage = FindingStage(tmp_path, queues=6)
    yield stage
    stage.world.close()


def a_normal_day(stage: FindingStage, rate_per_s: float, listener: str) -> None:
    """Play ten minutes: members start one after the other, one stops cleanly, queues are added, members restart."""
    stage.producer(rate_per_s)
    stage.run(30)
    for actor in "ABC":
        stage.member(actor, listener=listener)
        stage.run(6)
    stage.run(82)
    stage.act("StartConsumer", actor="D", group="svc")
    stage.run(60)
    stage.act("StopActor", actor="B")
    stage.run(60)
    stage.act("ChangeTopic", topic="orders", read_queues=9)
    stage.run(30)
    stage.act("ChangeTopic", topic="orders", write_queues=9)
    stage.run(90)
    stage.act("RestartActor", actor="B")
    stage.run(60)
    for actor in "ACD":
        stage.act("StopActor", actor=actor)
        stage.run(4)
        stage.act("RestartActor", actor=actor)
        stage.run(16)
    stage.run(110)


@pytest.mark.parametrize("listener", ["concurrent", "orderly"])
@pytest.mark.parametrize("rate_per_s", [2, 10])
def test_a_normal_day_has_no_finding(stage: FindingStage, rate_per_s: float, listener: str) -> None:
    a_normal_day(stage, rate_per_s, listener)
    assert stage.opened == []
    assert stage.view is not None
    assert stage.view.at_ms - stage.view.history.began_ms >= 580_000
