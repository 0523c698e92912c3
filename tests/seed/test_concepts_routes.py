"""Registration of brokers, route requests, and the triggers of a rebalance."""

from itertools import pairwise

import pytest

from sandbox.client.config import ConsumeFromWhere, PushConsumerConfig
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus
from sandbox.journal.events import (
    MessagesConsumed,
    QueuesAssigned,
    RouteLearned,
    SubscriptionChanged,
)
from sandbox.message.message import Message
from sandbox.remoting.bodies import RegisterBrokerBody
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import RegisterBrokerHeader
from sandbox.simulation.world import World
from tests.beginnings import world_with
from tests.seed.stage import WireLog, application, broker_address

GROUP = "order-svc"
ORDERS = [["orders", "*"]]
ROUTE = RequestCode.GET_ROUTEINFO_BY_TOPIC
NOTICE = RequestCode.NOTIFY_CONSUMER_IDS_CHANGED
world = world_with({"orders": 4})


def settled(world: World, copies: int = 2) -> None:
    world.act("StartConsumer", group=GROUP, subscriptions=ORDERS, copies=copies, work_ms=[1])
    world.run(25)


def owned(world: World) -> dict[str, list[int]]:
    """Label → the ids of the queues its member holds."""
    found: dict[str, list[int]] = {}
    for row in world.snapshot()["groups"][0]["queues"]:
        if row["owner"] is not None:
            found.setdefault(world.cluster.label_of(row["owner"]), []).append(row["queue_id"])
    return found


@pytest.mark.seed("3.7")
def test_clients_request_routes_every_thirty_seconds_and_name_servers_push_none(world: World) -> None:
    settled(world, copies=1)
    wire = WireLog(world)
    world.run(130)
    member = world.cluster.actors.get("A").client_id.split("@")[0]
    asked = [
        frame.at_ms for frame in wire.requests(ROUTE, sender=member) if (frame.command.ext or {})["topic"] == "orders"
    ]
    assert [later - earlier for earlier, later in pairwise(asked)] == [30_000] * 4
    world.act("ChangeTopic", topic="orders", write_queues=8, read_queues=8)
    world.run(0.5)
    name_server = world.cluster.nodes.addresses[0]
    unasked = [frame for frame in wire.frames if frame.sender == name_server and not frame.answer]
    assert unasked == []


@pytest.mark.seed("3.7")
@pytest.mark.parametrize("wait_s", [1.0, 17.0])
def test_a_new_number_of_queues_is_known_within_thirty_seconds(world: World, wait_s: float) -> None:
    world.act("StartProducer", actor="shop", topic="orders", rate_per_s=20)
    world.run(60 + wait_s)
    begun_ms = world.cluster.clock.now_ms()
    world.act("ChangeTopic", topic="orders", write_queues=8, read_queues=8)

    def in_new_queues() -> int:
        return sum(int(queue["max"]) for queue in world.snapshot()["topics"][0]["queues"][4:])

    world.run_until(lambda: in_new_queues() > 0, within_s=31, step_s=0.05)
    learned = [entry.at_ms - begun_ms for entry in world.entries(RouteLearned) if entry.at_ms >= begun_ms]
    assert len(learned) == 1
    assert 0 < learned[0] <= 30_000


@pytest.mark.seed("3.38", "4.5", "D25", "1.3")
def test_members_who_come_and_go_are_announced_and_divided_at_once(world: World) -> None:
    settled(world)
    wire = WireLog(world)
    began_ms = world.cluster.clock.now_ms()
    world.act("StartConsumer", group=GROUP)
    world.run(1)
    assert {frame.receiver.split(":")[0] for frame in wire.requests(NOTICE)} >= {
        world.cluster.actors.get(label).client_id.split("@")[0] for label in "AB"
    }
    assert owned(world) == {"A": [0, 1], "B": [2], "C": [3]}
    world.act("StopActor", actor="C")
    world.run(1)
    assert owned(world) == {"A": [0, 1], "B": [2, 3]}
    world.act("CrashActor", actor="B")
    world.run(1)
    assert owned(world) == {"A": [0, 1, 2, 3]}
    triggers = {entry.event.trigger for entry in world.entries(QueuesAssigned) if entry.at_ms > began_ms}
    assert "notified" in triggers
    assert triggers <= {"notified", "started"}


@pytest.mark.seed("3.38", "4.5", "D25")
def test_a_new_number_of_queues_is_not_announced(world: World) -> None:
    settled(world)
    wire = WireLog(world)
    began_ms = world.cluster.clock.now_ms()
    world.act("ChangeTopic", topic="orders", write_queues=8, read_queues=8)
    world.run(1)
    assert owned(world) == {"A": [0, 1], "B": [2, 3]}
    took_s = 1 + world.run_until(lambda: owned(world) == {"A": [0, 1, 2, 3], "B": [4, 5, 6, 7]}, within_s=50)
    assert wire.requests(NOTICE) == []
    more = [entry for entry in world.entries(QueuesAssigned) if entry.at_ms > began_ms and entry.event.added]
    assert {entry.event.trigger for entry in more} == {"timer"}
    assert took_s > 1, "the next poll of the route (30 s), then the next rebalance (20 s)"


@pytest.mark.seed("3.38", "4.5", "D14", "D25")
def test_another_set_of_topics_is_announced_and_another_tag_is_not(world: World) -> None:
    world.act("CreateTopic", topic="payments", write_queues=4, read_queues=4)
    members = []
    run = world.environment.sim.run

    async def work(messages: list[Message], context: object) -> ConsumeConcurrentlyStatus:
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    for name, ip in (("one", "10.0.9.1"), ("two", "10.0.9.2")):
        config = PushConsumerConfig(group=GROUP, from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
        member = PushConsumer(config, application(world, name, ip=ip), work)
        member.subscribe("orders")
        run(member.start())
        members.append(member)
    world.run(25)
    wire = WireLog(world)
    since = world.cluster.journal.next_seq

    async def want(topic: str, expression: str) -> None:
        members[0].subscribe(topic, expression)

    run(want("orders", "vip"))
    world.run(1)
    assert len(wire.requests(RequestCode.HEART_BEAT, sender="10.0.9.1")) >= 1, "the broker was told"
    newer = [entry.event for entry in world.entries(SubscriptionChanged, since=since)]
    assert [(event.topic, event.expression, event.replaced) for event in newer] == [("orders", "vip", "*")]
    assert wire.requests(NOTICE) == []
    run(want("payments", "*"))
    world.run(1)
    assert sorted(frame.receiver.split(":")[0] for frame in wire.requests(NOTICE)) == ["10.0.9.1", "10.0.9.2"]
    assert {frame.sender for frame in wire.requests(NOTICE)} == {broker_address(world)}


@pytest.mark.seed("3.44", "D48")
def test_a_member_cut_from_its_name_servers_keeps_its_queues_and_goes_on(world: World) -> None:
    """Members are counted by brokers, from heartbeats; the route it has stays as it is."""
    settled(world)
    world.act("StartProducer", actor="shop", topic="orders", rate_per_s=4)
    world.run(5)
    held = owned(world)
    world.act("CutLink", a="A", b="ns-1")
    wire, since, began_ms = WireLog(world), world.cluster.journal.next_seq, world.cluster.clock.now_ms()
    world.run(300)
    assert owned(world) == held
    assert world.entries(QueuesAssigned, since=since) == []
    assert wire.requests(NOTICE) == []
    cut = world.cluster.actors.get("A").client_id
    assert wire.requests(ROUTE, sender=cut.split("@")[0]) != []
    assert wire.answers(ROUTE, receiver=cut.split("@")[0]) == []
    done = {
        world.cluster.label_of(entry.event.client_id)
        for entry in world.entries(MessagesConsumed, since=since)
        if entry.at_ms > began_ms + 290_000
    }
    assert done == {"A", "B"}
    world.act("ChangeTopic", topic="orders", write_queues=8, read_queues=8)
    world.run(60)
    assert owned(world) == {"A": [0, 1], "B": [4, 5, 6, 7]}, "each divides what it knows of"
    world.act("HealLink", a="A", b="ns-1")
    world.run(60)
    assert owned(world) == {"A": [0, 1, 2, 3], "B": [4, 5, 6, 7]}


@pytest.mark.seed("3.5")
def test_a_registration_says_who_the_broker_is_and_all_its_topics(world: World) -> None:
    wire = WireLog(world)
    world.run(41)
    said = [frame for frame in wire.requests(RequestCode.REGISTER_BROKER) if not frame.command.is_oneway]
    for frame in said:
        header = RegisterBrokerHeader.from_ext(frame.command.ext)
        assert (header.broker, header.broker_id, header.cluster) == ("broker-a", 0, "DefaultCluster")
        assert header.address == broker_address(world)
        assert header.ha_address.split(":")[0] == header.address.split(":")[0]
        table = RegisterBrokerBody.decode(frame.command.body).table
        orders = table.topics["orders"]
        assert (orders.write_queues, orders.read_queues, orders.permission) == (4, 4, 6)
        assert {"TBW102", "SELF_TEST_TOPIC", "DefaultCluster", "broker-a"} <= set(table.topics), "its own, too"
    assert len(said) == 2
