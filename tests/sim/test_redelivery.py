"""The board's forecast of redelivery after a crash equals the redelivered messages."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster.actors.redelivery import CRASH
from sandbox.control.actions import CrashActor
from sandbox.control.questions import PlanCrash
from sandbox.journal.events import CrashRepeated
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.snapshot.board import read_board
from sandbox.simulation.world import World

GROUP = "order-svc"


def header(world: World) -> dict[str, Any]:
    return world.read(f"board/{GROUP}/orders").data["header"]


def consuming(home: Path, seed: int, **member: Any) -> World:
    world = World(home, seed=seed)
    world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
    subscriptions = member.pop("subscriptions", [["orders", "*"]])
    world.act("StartConsumer", group=GROUP, subscriptions=subscriptions, **member)
    world.act("StartProducer", actor="shop", topic="orders", rate_per_s=20)
    world.act("StartProducer", actor="till", topic="orders", rate_per_s=10, tag="paid")
    return world


def crash_all(world: World) -> int:
    """Every member dies in one turn; returns what the board said in that very turn."""

    async def turn() -> int:
        board = read_board(world.cluster, GroupView(world.cluster, GROUP), "orders")
        said: int = board["header"]["redelivered_on_crash"]
        for actor in world.cluster.actors.consumers(GROUP):
            world.sandbox.act(CrashActor(actor=actor.label), "owner world")
        return said

    return world.environment.sim.run(turn())


CASES: dict[str, dict[str, Any]] = {
    "concurrent": {"copies": 2, "work_ms": [50, 400]},
    "orderly": {"copies": 2, "listener": "orderly", "work_ms": [20, 90]},
    "batches": {"copies": 2, "work_ms": [100, 500], "batch": 8},
    "filtered": {"copies": 2, "work_ms": [50, 400], "subscriptions": [["orders", "paid"]]},
    "memory": {"copies": 2, "work_ms": [50, 100], "offset_store": "memory", "from_where": "CONSUME_FROM_FIRST_OFFSET"},
    "broadcasting": {"copies": 2, "work_ms": [50, 100], "model": "BROADCASTING"},
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CASES)
def test_a_crash_of_all_members_delivers_again_what_was_announced(tmp_path: Path, case: str, seed: int) -> None:
    with consuming(tmp_path, seed, **CASES[case]) as world:
        world.act("ChangeActor", actor="A", slow_key="order-100", slow_ms=9_000)
        world.act("ChangeActor", actor="B", slow_key="order-100", slow_ms=9_000)
        world.run(25 + seed * 1.37)
        before = header(world)["delivered_again"]
        assert before == 0
        announced = crash_all(world)
        for label in "AB":
            world.act("RestartActor", actor=label)
        world.run(90)
        assert header(world)["delivered_again"] - before == announced
        assert announced > 0


def crash_one(world: World, label: str) -> tuple[dict[str, Any], int]:
    """Crash one member; return the forecast of the same turn and the action's seq."""

    async def turn() -> tuple[dict[str, Any], int]:
        return world.sandbox.ask(PlanCrash(actor=label)), world.sandbox.act(CrashActor(actor=label), "owner world")

    return world.environment.sim.run(turn())


@pytest.mark.parametrize("case", CASES)
def test_what_a_crash_repeats_is_predicted_for_the_member_and_reported_afterwards(tmp_path: Path, case: str) -> None:
    with consuming(tmp_path, 1, **CASES[case]) as world:
        world.act("ChangeActor", actor="A", slow_key="order-100", slow_ms=9_000)
        world.run(26)
        assert header(world)["delivered_again"] == 0
        client_id = world.cluster.actors.get("A").client_id
        foretold, crash = crash_one(world, "A")
        if case in ("broadcasting", "memory"):  # each remembers for itself
            world.act("RestartActor", actor="A")
        world.run_until(lambda: bool(world.entries(CrashRepeated)), within_s=90)
        [entry] = world.entries(CrashRepeated)
        reported = entry.event
        assert isinstance(reported, CrashRepeated)
        assert (reported.client_id, reported.group, entry.cause) == (client_id, GROUP, crash)
        assert foretold["again"] == sum(row["done"] + row["begun"] for row in foretold["queues"])
        assert 0 < reported.count <= foretold["again"], "a commit on its way makes it fewer"
        assert reported.count == sum(last - first + 1 for _, runs in reported.messages for first, last in runs)
        again = world.cluster.actors.stats_of(GROUP).again_by_cause
        assert reported.count == again[CRASH], "and nothing else came twice because of it"


def test_a_clean_stop_announces_much_and_repeats_only_what_was_interrupted(tmp_path: Path) -> None:
    with consuming(tmp_path, 1, copies=1, work_ms=[50, 100]) as world:
        world.run(25)
        announced = header(world)["redelivered_on_crash"]
        for label in ("shop", "till"):
            world.act("ChangeActor", actor=label, rate_per_s=0)
        world.run(5)
        assert header(world)["redelivered_on_crash"] < announced
        world.act("StopActor", actor="A")
        world.run(1)
        world.act("RestartActor", actor="A")
        world.run(30)
        assert header(world)["delivered_again"] == 0


def test_the_count_of_repetitions_survives_sleep_and_wake(tmp_path: Path) -> None:
    with consuming(tmp_path, 1, copies=2, work_ms=[50, 400]) as world:
        world.run(25)
        crash_all(world)
        for label in "AB":
            world.act("RestartActor", actor=label)
        world.run(60)
        counted = header(world)["delivered_again"]
        assert counted > 0
        world.sleep()
        world.wake()
        assert header(world)["delivered_again"] >= counted
        assert world.snapshot()["groups"][0]["counts"]["delivered_again"] >= counted


def test_a_group_without_listeners_of_ours_has_no_count(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        world.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
        broker = world.cluster.nodes.brokers[0].running
        broker.consumer_offsets.commit(GROUP, "orders", 0, 0, "admin")
        assert header(world)["delivered_again"] is None
