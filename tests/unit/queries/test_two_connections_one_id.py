"""One client id on two connections: members are connections, and both take the first one's share (case C11)."""

from typing import Any

import pytest

from sandbox.client.config import ConsumeFromWhere, PushConsumerConfig
from sandbox.client.push_consumer import PushConsumer
from sandbox.remoting.exchange import End
from sandbox.simulation.world import World
from tests.beginnings import world_with
from tests.seed.stage import application, member
from tests.sim.attached_stage import SLUG, CountingBell, Office

GROUP, ID, IP = "clerks", "10.0.9.8@app", "10.0.9.8"
world = world_with({"orders": 4}, seconds=1)


def two(world: World, monkeypatch: pytest.MonkeyPatch) -> list[PushConsumer]:
    """Two processes of other people on one machine that were given the same instance name."""
    monkeypatch.setattr(
        End, "transport_kind", property(lambda end: "tcp" if end.remote.startswith(f"{IP}:") else "loopback")
    )
    config = PushConsumerConfig(group=GROUP, from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
    made = [member(world, application(world, "app"), config, "orders") for _ in range(2)]
    world.run(45)
    world.act("SendMessages", topic="orders", count=8)
    world.run(15)
    return made


def queues(consumer: PushConsumer) -> list[int]:
    return sorted(mq.queue_id for mq in consumer.process_queues if mq.topic == "orders")


def office_of(world: World) -> Office:
    office = Office(world)
    office.attach()
    office.clusters.get(SLUG).subscribe(CountingBell())
    return office


def board(place: Any) -> dict[str, Any]:
    data = place.read(f"board/{GROUP}/orders")
    found: dict[str, Any] = data if isinstance(place, Office) else data.data
    return found


def group(place: Any) -> dict[str, Any]:
    data = place.read("groups")
    found: dict[str, Any] = (data if isinstance(place, Office) else data.data)["groups"][GROUP]
    return found


def test_both_take_the_first_half_and_no_one_reads_the_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [queues(one) for one in two(world, monkeypatch)] == [[0, 1], [0, 1]]
    [broker] = world.cluster.nodes.masters()
    assert broker.running.consumers.groups[GROUP].client_ids() == [ID, ID], "38 has it twice"
    office = office_of(world)
    for place in (world, office):
        data = board(place)
        assert [row["assigned"] for row in data["queues"].values()] == [ID, ID, None, None]
        assert [row["owner"] for row in data["queues"].values()] == [ID, ID, None, None]
        assert [(row["same_id"], key.startswith(ID)) for key, row in data["members"].items()] == [(2, True)] * 2
        assert (data["header"]["shared_ids"], data["header"]["lag"]) == ([ID], "4"), "half of them waits"
        assert (group(place)["members"], group(place)["shared_ids"]) == (2, [ID])
    [drawn] = [row for row in world.snapshot()["groups"] if row["group"] == GROUP]
    assert len(drawn["members"]) == len(office.group(GROUP)["members"]) == 2


def test_rebalance_names_both_and_the_queues_without_a_reader(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    two(world, monkeypatch)
    rows = world.read(f"rebalance/{GROUP}").data
    assert len(rows["members"]) == 2
    assert [
        (len(row["due"]), len(row["held"]), row["trouble"])
        for row in rows["queues"].values()
        if row["topic"] == "orders"
    ] == [(2, 2, "twice")] * 2 + [(0, 0, "nobody")] * 2
    assert rows["brokers"]["broker-a"]["members"] == [ID, ID]
    rows = office_of(world).read(f"rebalance/{GROUP}")
    assert [(len(row["due"]), row["trouble"]) for row in rows["queues"].values() if row["topic"] == "orders"] == [
        (2, None),
        (2, None),
        (0, "nobody"),
        (0, "nobody"),
    ]


def test_a_plan_divides_by_the_doubled_list(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    two(world, monkeypatch)
    for plan in (
        world.ask("plan-rebalance", group=GROUP, topic="orders", add=1),
        office_of(world).ask("plan-rebalance", group=GROUP, topic="orders", add=1),
    ):
        assert plan["before"] == {ID: ["broker-a:0", "broker-a:1"]}
        assert (plan["members"].count(ID), len(plan["members"])) == (2, 3)
        assert sorted(len(mine) for mine in plan["after"].values()) == [1, 2], "one queue is read by no member still"


def test_the_card_of_either_leads_to_the_page_of_their_client(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    two(world, monkeypatch)
    for key in board(world)["members"]:
        assert world.read(f"client/{key}").data["client"]["client_id"] == ID


def test_topology_has_a_connection_for_each(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    two(world, monkeypatch)
    for data in (world.read("topology").data, office_of(world).read("topology")):
        [link] = [row for row in data["links"].values() if row["a"] == ID and row["kind"] == "data"]
        assert link["connections"] == 2
        assert len(data["clients"][ID]["members"]) == 2
