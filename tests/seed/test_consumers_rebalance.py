"""When members divide their queues anew, and how."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sandbox.journal.events import QueuesAssigned
from sandbox.remoting.bodies import ConsumerData, HeartbeatData, SubscriptionData
from sandbox.remoting.codes import RequestCode
from sandbox.simulation.world import World
from tests.seed.stage import Caller, WireLog, broker_address, prefix_of

GROUP = "order-svc"
ORDERS = [["orders", "*"]]
NOTICE = RequestCode.NOTIFY_CONSUMER_IDS_CHANGED
WHO = RequestCode.GET_CONSUMER_LIST_BY_GROUP


def join(world: World, **fields: Any) -> None:
    world.act("StartConsumer", **{"group": GROUP, "subscriptions": ORDERS, "work_ms": [1], **fields})


def owned(world: World) -> dict[str, list[int]]:
    """Label → queue ids on the board; members without a queue too."""
    shares: dict[str, list[int]] = {actor.label: [] for actor in world.cluster.actors.consumers(GROUP)}
    for queue, row in world.read(f"board/{GROUP}/orders").data["queues"].items():
        if row["owner"] is not None:
            shares[world.cluster.label_of(row["owner"])].append(int(queue.rpartition(":")[2]))
    return shares


def divisions(world: World, label: str, since_ms: int) -> list[Any]:
    """Return that member's new assignments of the topic, from then on."""
    return [
        entry
        for entry in world.entries(QueuesAssigned)
        if entry.at_ms >= since_ms
        and entry.event.topic == "orders"
        and world.cluster.label_of(entry.event.client_id) == label
    ]


def rounds(wire: WireLog, sender: str) -> list[int]:
    """When that member asked who is in its group: once per topic and round."""
    return sorted({frame.at_ms for frame in wire.requests(WHO, sender=sender)})


@pytest.mark.seed("1.1")
def test_without_notices_each_member_finds_out_by_itself_within_twenty_seconds(world: World) -> None:
    join(world)
    world.run(1)
    world.act("ChangeGroup", group=GROUP, changes={"notify_ids_changed": False})
    world.run(32)
    wire = WireLog(world)
    began_ms = world.cluster.clock.now_ms()
    join(world)
    world.run(1)
    assert owned(world)["B"] == [2, 3], "who is new divides at once"
    assert divisions(world, "A", began_ms) == [], "nobody else does"
    world.run(19)
    [found] = divisions(world, "A", began_ms)
    assert (found.event.trigger, found.event.dropped) == ("timer", ("orders/broker-a/2", "orders/broker-a/3"))
    assert 1_000 < found.at_ms - began_ms <= 20_000
    world.run(60)
    assert wire.requests(NOTICE) == []
    first, second = rounds(wire, prefix_of(world, "A")), rounds(wire, prefix_of(world, "B"))
    for own in (first, second):
        assert {after - before for before, after in pairwise(own)} == {20_000}
    assert (len(first), len(second)) == (4, 5)
    assert not set(first) & set(second), "each by its own watch"


@pytest.mark.seed("1.4")
def test_five_strategies_and_the_nearby_one_divide_and_averagely_is_the_default(world: World) -> None:
    join(world, copies=2)
    world.run(25)

    def last_strategy() -> str:
        return str(divisions(world, "B", 0)[-1].event.strategy)

    assert last_strategy() == "AVG"
    assert owned(world) == {"A": [0, 1], "B": [2, 3]}
    rooms = ["east@broker-a", "east"]
    shares = {
        "AVG_BY_CIRCLE": ({}, {"A": [0, 2], "B": [1, 3]}),
        "CONFIG": (
            {"queues_by_member": {"A": "broker-a:3", "B": "broker-a:0, broker-a:1, broker-a:2"}},
            {"A": [3], "B": [0, 1, 2]},
        ),
        "MACHINE_ROOM": ({"rooms": rooms}, {"A": [0, 1], "B": [2, 3]}),
        "AVG": ({}, {"A": [0, 1], "B": [2, 3]}),
    }
    for name, (fields, wanted) in shares.items():
        world.act("SetStrategy", group=GROUP, strategy=name, **fields)
        world.run(45)
        assert owned(world) == wanted, name
    world.act("SetStrategy", group=GROUP, strategy="CONSISTENT_HASH")
    world.run(45)
    assert sorted(queue for queues in owned(world).values() for queue in queues) == [0, 1, 2, 3]
    assert last_strategy() == "CONSISTENT_HASH"
    world.act("SetStrategy", group=GROUP, strategy="MACHINE_ROOM_NEARBY", rooms=rooms)
    world.run(45)
    assert world.read(f"board/{GROUP}/orders").data["header"]["strategy"] == "MACHINE_ROOM_NEARBY-AVG"


@pytest.mark.seed("1.15")
def test_a_wake_up_ends_the_wait_and_the_next_one_is_whole_again(world: World) -> None:
    join(world)
    world.run(27)
    wire = WireLog(world)
    a = prefix_of(world, "A")
    woken_ms = world.cluster.clock.now_ms()
    join(world)
    world.run(45)
    own = [at_ms - woken_ms for at_ms in rounds(wire, a)]
    assert own[0] < 50, "not at its turn, which would have been 13 s later"
    assert [after - before for before, after in pairwise(own[1:] if own[1] < 50 else own)] == [20_000, 20_000]
    world.act("StopActor", actor="A")
    world.run(1)
    wire = WireLog(world)
    world.run(60)
    assert rounds(wire, a) == [], "a service that was stopped has no more turns"
    assert len(rounds(wire, prefix_of(world, "B"))) == 3


@pytest.mark.seed("1.15")
def test_a_wake_up_during_a_round_is_not_lost(tmp_path: Path) -> None:
    """Every way takes 100 ms, so a round over two topics takes 400: two notices fall into it and make one more."""
    with World(tmp_path, latency_ms=(100, 100)) as world:
        world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
        world.run(1)
        join(world)
        world.run(27)
        callers = [Caller(world, broker_address(world), ip=f"10.0.9.{n}") for n in range(3)]
        wire = WireLog(world)
        data = HeartbeatData(
            "10.0.9.9@raw",
            consumers=(
                ConsumerData(
                    GROUP, subscriptions=(SubscriptionData("orders", "*"), SubscriptionData(f"%RETRY%{GROUP}", "*"))
                ),
            ),
        )
        for caller in callers:
            caller.send_one_way(RequestCode.HEART_BEAT, body=data.encode())
            world.run(0.15)
        world.run(5)
        notices = [
            frame.at_ms + 100 for frame in wire.requests(NOTICE) if frame.receiver.startswith(prefix_of(world, "A"))
        ]
        asked = [frame.at_ms for frame in wire.requests(WHO, sender=prefix_of(world, "A"))]
        assert len(notices) == 3
        assert asked[0] == notices[0], "the first wakes it"
        assert len(asked) == 4, "the two others make one more round over both topics"
        assert notices[2] < asked[2] <= notices[0] + 1_000, "as soon as the first is done"
