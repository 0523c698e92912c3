"""Strategies that need lists or rooms, on real members."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.simulation.world import World
from tests.beginnings import world_with

GROUP = "order-svc"
ORDERS = [["orders", "*"]]
world = world_with({"orders": 1})


def owners(world: World) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for queue, row in world.read(f"board/{GROUP}/orders").data["queues"].items():
        assert row["owner"] == row["assigned"]
        if row["owner"] is not None:
            found.setdefault(world.cluster.label_of(row["owner"]), []).append(queue)
    return found


def started(home: Path, template: str = "empty", *, rooms: tuple[str | None, ...] = (None, None)) -> World:
    world = World(home, template)
    if template == "empty":
        world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
    for room in rooms:
        world.act("StartConsumer", group=GROUP, subscriptions=ORDERS, work_ms=[10], room=room)
    world.run(25)
    return world


def test_lists_by_hand_give_each_member_its_own_and_a_newcomer_nothing(tmp_path: Path) -> None:
    with started(tmp_path) as world:
        lists = {"A": ["broker-a:3", "broker-a:0"], "B": ["broker-a:1"]}
        forecast = world.ask("plan-rebalance", group=GROUP, topic="orders", strategy="CONFIG", queues_by_member=lists)
        world.act("SetStrategy", group=GROUP, strategy="CONFIG", queues_by_member=lists)
        world.act("StartConsumer", group=GROUP)
        world.run(45)
        assert owners(world) == {"A": ["broker-a:0", "broker-a:3"], "B": ["broker-a:1"]}
        assert {world.cluster.label_of(member): queues for member, queues in forecast["after"].items()} == {
            "A": ["broker-a:3", "broker-a:0"],
            "B": ["broker-a:1"],
        }
        assert world.read(f"board/{GROUP}/orders").data["header"]["strategy"] == "CONFIG"
        world.sleep()
        world.wake()
        world.run(45)
        assert owners(world) == {"A": ["broker-a:0", "broker-a:3"], "B": ["broker-a:1"]}, "and it is remembered"


@pytest.mark.seed("3.39", "D34")
def test_a_group_of_one_room_leaves_the_other_rooms_queues(tmp_path: Path) -> None:
    with started(tmp_path, "orders", rooms=()) as world:
        world.act("SetStrategy", group=GROUP, strategy="MACHINE_ROOM", rooms=["east@broker-a", "west@broker-b", "east"])
        world.run(45)
        assert sorted(queue for queues in owners(world).values() for queue in queues) == [
            f"broker-a:{n}" for n in range(4)
        ]


@pytest.mark.seed("3.39", "D34")
def test_members_take_the_queues_of_their_own_room_first(tmp_path: Path) -> None:
    with World(tmp_path, "orders") as world:
        world.run(1)
        for label in "ABC":
            world.act("RemoveActor", actor=label)
        for label, room in (("D", "east"), ("E", "east"), ("F", "west")):
            world.act("StartConsumer", actor=label, group=GROUP, subscriptions=ORDERS, work_ms=[10], room=room)
        world.act("SetStrategy", group=GROUP, strategy="MACHINE_ROOM_NEARBY", rooms=["east@broker-a", "west@broker-b"])
        world.run(60)
        assert owners(world) == {
            "D": ["broker-a:0", "broker-a:1"],
            "E": ["broker-a:2", "broker-a:3"],
            "F": [f"broker-b:{n}" for n in range(4)],
        }
        world.act("StopActor", actor="F")
        world.run(60)
        assert sorted(owners(world)) == ["D", "E"], "a room without members is everybody's"


def test_members_may_divide_differently_and_each_is_drawn_by_its_own_strategy(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
        world.act("StartConsumer", group=GROUP, subscriptions=ORDERS)
        world.act("StartConsumer", group=GROUP, subscriptions=ORDERS, strategy="AVG_BY_CIRCLE")
        world.run(45)
        rows = world.read(f"board/{GROUP}/orders").data["queues"]
        b = world.cluster.actors.get("B").client_id
        assert {queue for queue, row in rows.items() if row["assigned"] == b} == {"broker-a:1", "broker-a:3"}


@pytest.mark.parametrize("selector", ["avoid_faulty", "round_robin"])
def test_a_producer_that_judges_brokers_leaves_a_dead_one_alone(tmp_path: Path, selector: str) -> None:
    with World(tmp_path, "orders") as world:
        world.act("StartProducer", actor="careful", topic="orders", rate_per_s=10, selector=selector)
        world.run(5)
        world.act("KillBroker", broker="broker-b")
        world.run(5)
        row: dict[str, Any] = next(p for p in world.snapshot()["producers"] if p["actor"] == "careful")
        assert bool(row["unavailable"]) is (selector == "avoid_faulty")
        assert row["sent"] > 80


def test_a_producer_may_send_to_one_queue_only(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
        world.act("StartProducer", topic="orders", rate_per_s=10, selector="queue", queue="broker-a:2")
        world.run(5)
        ends = [int(queue["max"]) for queue in world.snapshot()["topics"][0]["queues"]]
        assert ends[2] > 40
        assert ends[0] == ends[1] == ends[3] == 0


def test_a_row_keeps_the_moment_it_was_born(world: World) -> None:
    world.act("SendMessages", topic="orders", rows=[{"key": "old", "body": "x", "born_ms": 1_357_023_600_000}])
    world.run(1)
    found = world.ask("find-messages", topic="orders", key="old")["rows"]
    assert [row["born_ms"] for row in found] == [1_357_023_600_000]


def test_offsets_in_memory_are_forgotten_with_the_process(world: World) -> None:
    world.act(
        "StartConsumer",
        group=GROUP,
        subscriptions=ORDERS,
        offset_store="memory",
        work_ms=[1],
        from_where="CONSUME_FROM_FIRST_OFFSET",
    )
    world.run(5)
    world.act("SendMessages", topic="orders", count=20)
    world.run(20)
    row = world.read(f"board/{GROUP}/orders").data["queues"]["broker-a:0"]
    assert row["in_memory"] == "20"
    assert world.read(f"board/{GROUP}/orders").data["header"]["redelivered_on_crash"] == 20
    world.act("CrashActor", actor="A")
    world.act("RestartActor", actor="A")
    world.run(40)
    assert world.read(f"board/{GROUP}/orders").data["header"]["delivered_again"] == 20


def test_one_more_like_the_others_keeps_what_was_asked_of_it(world: World) -> None:
    world.act("StartConsumer", group=GROUP, subscriptions=ORDERS, threads=3, fail_percent=5)
    world.act("StartConsumer", group=GROUP, work_ms=[7], copies=2)
    settings = [world.cluster.actors.get(label).settings for label in "BC"]
    assert {(s.threads, s.fail_percent, s.work_ms) for s in settings} == {(3, 5.0, (7,))}
