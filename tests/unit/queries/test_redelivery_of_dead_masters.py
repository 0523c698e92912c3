"""Redelivered on crash, while a master is down: the number says whose offsets it is counted from."""

from typing import Any

from sandbox.simulation.world import World
from tests.beginnings import world_of

world = world_of("cluster", seconds=20)  # broker-a has a slave, broker-b has none
BOARD = "board/order-svc/orders"


def header(world: World) -> dict[str, Any]:
    data: dict[str, Any] = world.read(BOARD).data["header"]
    return data


def plan(world: World) -> dict[str, Any]:
    return world.ask("plan-crash", actor="A")


def test_with_all_masters_it_is_theirs_and_needs_no_word(world: World) -> None:
    assert header(world)["redelivered_notes"] == plan(world)["notes"] == []


def test_of_a_dead_master_with_a_slave_it_is_counted_from_the_slave_s_offsets(world: World) -> None:
    before = header(world)["redelivered_on_crash"]
    world.act("KillBroker", broker="broker-a")
    assert header(world)["redelivered_notes"] == ["slave"]
    assert header(world)["redelivered_on_crash"] > before, "the slave's offsets are older than those of the strips"
    assert plan(world)["notes"] == ["slave"]


def test_of_a_dead_master_without_a_slave_it_is_not_known(world: World) -> None:
    world.act("KillBroker", broker="broker-b")
    assert header(world)["redelivered_notes"] == ["unknown"]
    assert "unknown" in {note for actor in "ABC" for note in world.ask("plan-crash", actor=actor)["notes"]}
