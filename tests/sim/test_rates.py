"""Rates of a sandbox that has just begun: unknown until there is something to measure, and never too low after that."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.simulation.world import World

PER_S = 20.0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, seed=1) as world:
        world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
        world.act("StartConsumer", actor="A", group="svc", subscriptions=[{"topic": "orders"}], work_ms=[20, 40])
        world.act("StartProducer", actor="shop", topic="orders", rate_per_s=PER_S)
        yield world


def rates_of(world: World) -> dict[str, Any]:
    """Return all rates of the sandbox: of its producer, its queues, and the header of its board."""
    snapshot = world.snapshot()
    data: Any = world.read("board/svc/orders").data
    client: Any = world.read("client/shop").data
    topic = next(row for row in snapshot["topics"] if row["topic"] == "orders")
    return {
        "producer": snapshot["producers"][0]["rate_per_s"],
        "client": client["producer"]["per_s"],
        "queues": [row["rate_per_s"] for row in topic["queues"]],
        "in": data["header"]["in_per_s"],
        "out": data["header"]["out_per_s"],
        "delivered": data["header"]["delivered_per_s"],
    }


def test_a_rate_is_unknown_before_there_is_a_second_to_measure(world: World) -> None:
    assert rates_of(world) == {
        "producer": None,
        "client": None,
        "queues": [None] * 4,
        "in": None,
        "out": None,
        "delivered": None,
    }


def test_a_rate_is_of_the_seconds_there_were_not_of_a_window_that_is_not_full(world: World) -> None:
    for _ in range(4):
        world.run(1.25)
        rates = rates_of(world)
        for name in ("producer", "client"):
            assert rates[name] is None or rates[name] == pytest.approx(PER_S, rel=0.25), rates
    assert rates["in"] == pytest.approx(PER_S, rel=0.1)
    assert rates["producer"] == rates["client"] == pytest.approx(PER_S, rel=0.1)


def test_after_sleep_a_rate_is_unknown_at_first_too(world: World) -> None:
    world.run(30)
    assert rates_of(world)["producer"] == pytest.approx(PER_S, rel=0.1)
    world.sleep()
    world.wake()
    assert rates_of(world)["producer"] is None
    world.run(5)
    assert rates_of(world)["producer"] == pytest.approx(PER_S, rel=0.2)


def test_a_producer_that_sends_nothing_has_the_rate_zero(world: World) -> None:
    world.run(30)
    world.act("ChangeActor", actor="shop", rate_per_s=0)
    world.run(12)
    assert rates_of(world)["producer"] == 0.0
