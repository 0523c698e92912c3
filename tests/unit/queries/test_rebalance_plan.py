"""Rebalance forecasts: the real strategies with hypothetical members and queues, and the data of their drawing."""

from typing import Any

import pytest

from sandbox.client.allocate.consistent_hash import ring_position
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.world import World
from tests.beginnings import world_of

GROUP = "order-svc"
world = world_of("orders", seconds=25)  # two brokers with four queues each, members A, B, C


def plan(world: World, **fields: Any) -> dict[str, Any]:
    return world.ask("plan-rebalance", group=GROUP, topic="orders", **fields)


def shares(answer: dict[str, Any]) -> dict[str, int]:
    return {answer["labels"][member]: len(queues) for member, queues in answer["after"].items()}


@pytest.mark.seed("3.36")
def test_so_many_members_and_so_many_queues_are_divided_as_rocketmq_would(world: World) -> None:
    assert shares(plan(world, members=1, queues=5)) == {"A": 5}
    assert shares(plan(world, members=2, queues=5)) == {"A": 3, "B": 2}
    assert shares(plan(world, members=4, queues=12)) == {"A": 3, "B": 3, "C": 3, "D": 3}
    crowd = plan(world, members=9, queues=8)
    assert list(shares(crowd).values()) == [1] * 8 + [0]
    assert crowd["idle"] == ["I"]


def test_made_up_queues_are_spread_over_the_brokers_of_the_topic(world: World) -> None:
    assert plan(world, queues=5)["queues"] == ["broker-a:0", "broker-a:1", "broker-a:2", "broker-b:0", "broker-b:1"]
    assert plan(world, queues=8)["queues"] == plan(world)["queues"], "as many as there are: the real ones"


def test_fewer_members_are_the_first_of_the_sorted_list(world: World) -> None:
    answer = plan(world, members=2)
    assert shares(answer) == {"A": 4, "B": 4}
    assert answer["moves"] == 3, "B's first goes to A, both of C's to B"
    assert plan(world, members=0) | {"after": {}} == plan(world, members=0), "nobody gets anything"


@pytest.mark.seed("3.40")
def test_the_ring_says_where_everyone_stands_and_each_queue_belongs_to_the_next_place(world: World) -> None:
    answer = plan(world, strategy="CONSISTENT_HASH", members=4)
    ring = answer["ring"]
    members = answer["members"]
    assert ring["places"] == sorted([ring_position(f"{member}-{n}"), member] for member in members for n in range(10))
    for member, mine in answer["after"].items():
        for queue in mine:
            at = ring["queues"][queue]
            assert next((who for place, who in ring["places"] if place >= at), ring["places"][0][1]) == member
    assert plan(world, strategy="AVG")["ring"] is None


def test_a_ring_too_full_to_be_drawn_is_left_out(world: World) -> None:
    assert plan(world, strategy="CONSISTENT_HASH", members=3, virtual_nodes=1_000)["ring"] is None


@pytest.mark.seed("3.40")
def test_each_strategy_is_compared_with_itself_on_the_same_change(world: World) -> None:
    compared = {row["strategy"]: row for row in plan(world, members=4)["compared"]}
    assert set(compared) == {"AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"}
    for name, row in compared.items():
        had, gets = (owners(plan(world, members=members, strategy=name)) for members in (3, 4))
        assert row["moves"] == sum(had[queue] != member for queue, member in gets.items()), name
        counts = [len(queues) for queues in plan(world, members=4, strategy=name)["after"].values()]
        assert (row["most"], row["least"], row["idle"]) == (max(counts), min(counts), counts.count(0))
    assert compared["CONSISTENT_HASH"]["moves"] == min(row["moves"] for row in compared.values())


def owners(answer: dict[str, Any]) -> dict[str, str]:
    return {queue: member for member, queues in answer["after"].items() for queue in queues}


def test_what_changing_over_moves_stands_apart_from_who_comes_and_goes(world: World) -> None:
    """Whatever members are added: changing over is reckoned with those of now."""
    for members in (3, 4):
        compared = {row["strategy"]: row for row in plan(world, members=members)["compared"]}
        assert compared["AVG"]["switching"] == 0, "the group divides so already"
        for name, row in compared.items():
            assert row["switching"] == plan(world, strategy=name)["moves"], name


def test_a_group_on_the_ring_is_compared_with_its_own_number_of_places(world: World) -> None:
    world.act("SetStrategy", group=GROUP, strategy="CONSISTENT_HASH", virtual_nodes=1)
    answer = plan(world, members=4)
    own = {row["strategy"]: row for row in answer["compared"]}["CONSISTENT_HASH"]
    assert (own["moves"], own["switching"]) == (answer["moves"], 0)


def test_rooms_are_named_for_brokers_and_members(world: World) -> None:
    answer = plan(world, strategy="MACHINE_ROOM", rooms=["east@broker-a", "west@broker-b", "east"])
    assert answer["rooms"] == {"brokers": {"broker-a": "east", "broker-b": "west"}, "members": {}, "wanted": ["east"]}
    nearby = plan(world, strategy="MACHINE_ROOM_NEARBY", rooms=["east@broker-a", "west@broker-b"])
    assert set(nearby["rooms"]["members"].values()) == {None}, "nobody said where these stand"


def test_a_list_no_one_gave_is_asked_for(world: World) -> None:
    with pytest.raises(ActionRefused) as refused:
        plan(world, strategy="CONFIG")
    assert refused.value.field == "queues_by_member"
