"""A group that reads queues of a dead master is partly unknown: no page calls it healthy."""

from typing import Any

from sandbox.simulation.world import World
from tests.beginnings import world_of
from tests.sim.attached_stage import SLUG, CountingBell, Office

world = world_of("cluster", seconds=20)  # two brokers
GROUP = "order-svc"


def without_the_second_broker(world: World) -> Office:
    """All is consumed and committed, then a master without a slave dies."""
    office = Office(world)
    office.attach()
    office.clusters.get(SLUG).subscribe(CountingBell())
    office.read("groups")
    world.act("ChangeActor", actor="shop", rate_per_s=0)
    world.run(20)
    world.act("KillBroker", broker="broker-b")
    world.run(20)
    return office


def row(place: Any) -> dict[str, Any]:
    data = place.read("groups")
    rows: dict[str, Any] = (data if isinstance(place, Office) else data.data)["groups"]
    return rows[GROUP]


def test_a_sandbox_s_group_keeps_up_only_where_it_is_known(world: World) -> None:
    assert (row(world)["state"], row(world)["queues_known"]) != ("ok_partly", 4)
    without_the_second_broker(world)
    found = row(world)
    assert (found["lag"], found["queues_known"], found["queues_all"]) == ("0", 4, 8)
    assert found["state"] in ("ok_partly", "quiet_partly")


def test_a_cluster_s_group_keeps_up_only_where_it_is_known(world: World) -> None:
    found = row(without_the_second_broker(world))
    assert (found["lag"], found["queues_known"], found["queues_all"]) == ("0", 4, 8)
    assert found["state"] in ("ok_partly", "quiet_partly")
