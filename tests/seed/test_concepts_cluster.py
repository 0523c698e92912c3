"""Two name servers, two masters, one slave: who talks to whom, and what a failure takes away."""

import pytest

from sandbox.remoting.codes import RequestCode
from sandbox.simulation.world import World
from tests.beginnings import world_of
from tests.seed.stage import WireLog, application, broker_address, prefix_of

ROUTE, SEND, BEAT = RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.SEND_MESSAGE_V2, RequestCode.HEART_BEAT
GROUP = "order-svc"
world = world_of("cluster", seconds=15)


@pytest.mark.seed("3.2", "D17")
def test_each_role_talks_to_the_ones_it_needs_and_to_no_other(world: World) -> None:
    snapshot = world.snapshot()
    assert [(row["name"], row["state"]) for row in snapshot["name_servers"]] == [
        ("ns-1", "running"),
        ("ns-2", "running"),
    ]
    assert [(row["broker"], row["broker_id"]) for row in snapshot["brokers"]] == [
        ("broker-a", 0),
        ("broker-a", 1),
        ("broker-b", 0),
    ]
    assert [row["actor"] for row in snapshot["producers"]] == ["shop"]
    assert {row["group"] for row in snapshot["groups"]} >= {GROUP, "invoice-fifo"}
    wire = WireLog(world)
    world.run(125)
    name_servers = set(world.cluster.nodes.addresses)
    masters = {broker_address(world, name) for name in ("broker-a", "broker-b")}
    slave = broker_address(world, "broker-a", 1)
    for row in snapshot["brokers"]:
        reported = {
            frame.receiver
            for frame in wire.requests(RequestCode.REGISTER_BROKER)
            if (frame.command.ext or {})["brokerAddr"] == row["address"]
        }
        assert reported == name_servers, "a broker registers with every name server"
    clients = [actor.label for actor in world.cluster.actors.by_label.values()]
    for label in clients:
        asked = [frame.receiver for frame in wire.requests(ROUTE, sender=prefix_of(world, label))]
        assert len(asked) >= 4
        assert len(set(asked)) == 1, "a client stays with one name server"
    shop = prefix_of(world, "shop")
    assert {frame.receiver for frame in wire.requests(SEND)} == masters, "slaves take no messages"
    assert {frame.receiver for frame in wire.requests(BEAT, sender=shop)} == masters
    reader = prefix_of(world, "A")
    assert {frame.receiver for frame in wire.requests(BEAT, sender=reader)} == {*masters, slave}
    between = [frame for frame in wire.frames if {frame.sender, frame.receiver} <= name_servers]
    assert between == [], "name servers do not know each other"


@pytest.mark.seed("3.2", "D35")
def test_a_client_chooses_its_first_name_server_by_chance_and_leaves_it_when_it_fails(world: World) -> None:
    first, second = world.cluster.nodes.addresses
    wire = WireLog(world)

    def asked(number: int, since_ms: int = 0) -> list[str]:
        return [frame.receiver for frame in wire.requests(ROUTE, sender=f"10.0.8.{number}:") if frame.at_ms >= since_ms]

    async def learn(number: int) -> None:
        instance = application(world, f"app-{number}", ip=f"10.0.8.{number}")
        for _ in range(5):
            await instance.name_servers.learn_route("orders")
        clients.append(instance)

    clients: list[object] = []
    for number in range(1, 13):
        world.environment.sim.run(learn(number))
    chosen = {number: asked(number) for number in range(1, 13)}
    assert all(len(set(receivers)) == 1 and len(receivers) == 5 for receivers in chosen.values()), "no turns are taken"
    assert {receivers[0] for receivers in chosen.values()} == {first, second}, "but not all begin with the same"
    label = next(
        actor.label
        for actor in world.cluster.actors.consumers()
        if actor.instance is not None and actor.instance.name_servers.chosen == first
    )
    world.act("StopNameServer", name_server="ns-1")
    world.run(65)
    world.act("StartNameServer", name_server="ns-1")
    back_ms = world.cluster.clock.now_ms()
    world.run(95)
    later = [frame.receiver for frame in wire.requests(ROUTE, sender=prefix_of(world, label)) if frame.at_ms > back_ms]
    assert len(later) >= 3
    assert set(later) == {second}, "it stays where it went"


@pytest.mark.seed("3.4")
def test_each_name_server_knows_everything_and_one_is_enough(world: World) -> None:
    one, two = (world.ask("route", topic="orders", name_server=name)["route"] for name in ("ns-1", "ns-2"))
    assert one == two
    assert {row["brokerName"] for row in one["queueDatas"]} == {"broker-a", "broker-b"}
    world.act("StopNameServer", name_server="ns-1")
    sent = world.snapshot()["producers"][0]["sent"]
    world.run(100)
    row = world.snapshot()["producers"][0]
    assert row["failed"] == 0
    assert row["sent"] - sent > 550, "6 a second, as before"
    world.act("ChangeTopic", topic="orders", write_queues=6, read_queues=6)
    world.run(51)
    queues = {
        (row["broker"], row["queue_id"])
        for group in world.snapshot()["groups"]
        if group["group"] == GROUP
        for row in group["queues"]
        if row["topic"] == "orders" and row["owner"] is not None
    }
    assert len(queues) == 12, "and whoever used the other one goes on to learn"
