"""Start and stop of a member: its steps, its requests, and the shared parts of its process."""

import re
from pathlib import Path
from typing import Any

import pytest

from sandbox.client.config import MessageModel, PushConsumerConfig
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus
from sandbox.cluster.client_files import ClientFiles
from sandbox.journal.events import LifecycleStep, MemberStateChanged, QueueDropped
from sandbox.kernel.errors import ActionRefused, ClientError
from sandbox.remoting.bodies import HeartbeatData
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import PullHeader, UnregisterClientHeader, UpdateOffsetHeader
from sandbox.simulation.world import World
from tests.seed.stage import Listener, WireLog, application, broker_address, prefix_of

GROUP = "order-svc"
ORDERS = [["orders", "*"]]
ROUTE, BEAT, WHO = (RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.HEART_BEAT, RequestCode.GET_CONSUMER_LIST_BY_GROUP)
PULL, COMMIT, BYE = RequestCode.PULL_MESSAGE, RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.UNREGISTER_CLIENT


def join(world: World, **fields: Any) -> None:
    world.act("StartConsumer", **{"group": GROUP, "subscriptions": ORDERS, "work_ms": [1], **fields})


def scenario(world: World, label: str) -> list[str]:
    """Steps and states of that member's process, in the order of the journal."""
    client_id = world.cluster.actors.get(label).client_id
    reported = []
    for entry in world.entries():
        event = entry.event
        if isinstance(event, LifecycleStep) and event.client_id == client_id:
            reported.append(event.name)
        elif isinstance(event, MemberStateChanged) and event.client_id == client_id:
            reported.append(f"({event.state})")
    return reported


def codes(wire: WireLog, sender: str) -> list[int]:
    """Return the request codes of that client, each run of one code once."""
    asked = [frame.code for frame in wire.frames if frame.sender.startswith(sender) and not frame.answer]
    return [code for at, code in enumerate(asked) if at == 0 or asked[at - 1] != code]


@pytest.mark.seed("1.13", "D16")
def test_two_groups_of_one_instance_share_its_client_id_and_its_connections(world: World) -> None:
    join(world)
    world.act("StartConsumer", group="audit", subscriptions=ORDERS, work_ms=[1], instance="A")
    world.run(5)
    first, second = world.cluster.actors.get("A").client_id, world.cluster.actors.get("B").client_id
    assert first == second
    assert re.fullmatch(r"10\.0\.0\.11@\d+#\d+", first), "machine @ process # nanoseconds, and not machine:process"
    wire = WireLog(world)
    world.run(60)
    mine, broker = prefix_of(world, "A"), broker_address(world)
    open_now = sorted(there for here, there in world.cluster.network.connections() if here.startswith(mine))
    assert open_now == sorted([broker, *world.cluster.nodes.addresses])
    senders = {
        frame.sender
        for group in (GROUP, "audit")
        for frame in wire.requests(PULL)
        if PullHeader.from_ext(frame.command.ext or {}).group == group
    }
    assert len(senders) == 1, "pulls of both groups go over one connection"
    beats = [HeartbeatData.decode(frame.command.body) for frame in wire.requests(BEAT)]
    assert len(beats) == 2, "one heartbeat every 30 s for both"
    assert all({data.group_name for data in beat.consumers} == {GROUP, "audit"} for beat in beats)
    join(world)
    world.run(2)
    assert world.cluster.actors.get("C").client_id != first, "another process has another id"


@pytest.mark.seed("1.14", "0.19")
def test_a_start_goes_its_steps_in_order_and_asks_in_that_order(world: World) -> None:
    wire = WireLog(world)
    join(world)
    world.run(1)
    assert scenario(world, "A") == [
        "(starting)",
        "check config",
        "copy subscriptions",
        "load offsets",
        "start consume service",
        "register in instance",
        "start instance",
        "(running)",
        "fetch routes",
        "check subscriptions at a broker",
        "heartbeat",
        "wake rebalance",
    ]
    steps = [entry.event.step for entry in world.entries(LifecycleStep)]
    assert steps == list(range(1, len(steps) + 1))
    asked = codes(wire, prefix_of(world, "A"))
    assert asked[:4] == [ROUTE, BEAT, WHO, RequestCode.QUERY_CONSUMER_OFFSET]
    assert asked.index(PULL) > asked.index(RequestCode.QUERY_CONSUMER_OFFSET)
    [beat] = [
        HeartbeatData.decode(frame.command.body)
        for frame in wire.requests(BEAT, sender=prefix_of(world, "A"))
        if frame.at_ms < wire.requests(WHO)[0].at_ms + 1
    ][:1]
    assert {sub.topic for sub in beat.consumers[0].subscriptions} == {"orders", f"%RETRY%{GROUP}"}
    topics = [(frame.command.ext or {})["topic"] for frame in wire.requests(ROUTE, sender=prefix_of(world, "A"))]
    assert topics[:2] == ["orders", f"%RETRY%{GROUP}"], "a route for each subscribed topic"


@pytest.mark.seed("1.20", "4.2")
def test_a_second_member_of_a_group_in_one_instance_is_an_error_at_its_start(world: World) -> None:
    join(world)
    world.run(2)
    with pytest.raises(ActionRefused) as refused:
        world.act("StartConsumer", group=GROUP, instance="A")
    assert (refused.value.status, refused.value.field) == (409, "instance")

    async def work(messages: object, context: object) -> ConsumeConcurrentlyStatus:
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    instance = application(world)
    members = []
    for _ in range(2):
        member = PushConsumer(PushConsumerConfig(group="audit"), instance, work)
        member.subscribe("orders")
        members.append(member)
    first, second = members
    world.environment.sim.run(first.start())
    wire = WireLog(world)
    with pytest.raises(ClientError, match="audit has been created before"):
        world.environment.sim.run(second.start())
    assert [frame for frame in wire.frames if frame.sender.startswith("10.0.9.8:")] == [], "no broker hears of it"
    world.run(5)
    assert (first.state, len(first.process_queues)) == ("running", 5), "the first does not suffer"
    assert {name for name, member in instance.consumers.items() if member is first} == {"audit"}


@pytest.mark.seed("1.22", "D17")
def test_a_new_member_sends_a_heartbeat_to_every_broker_and_rebalances_at_once(tmp_path: Path) -> None:
    with World(tmp_path, "cluster") as world:
        world.run(30)
        wire = WireLog(world)
        began_ms = world.cluster.clock.now_ms()
        world.act("StartConsumer", group="audit", subscriptions=ORDERS, actor="new", work_ms=[1])
        world.run(0.5)
        mine = prefix_of(world, "new")
        beats = [frame for frame in wire.requests(BEAT, sender=mine) if frame.at_ms == began_ms]
        addresses = {(row["broker"], row["broker_id"]): row["address"] for row in world.snapshot()["brokers"]}
        assert set(addresses) == {("broker-a", 0), ("broker-a", 1), ("broker-b", 0)}
        assert {frame.receiver for frame in beats} == set(addresses.values()), "the slave too: there is a consumer"
        assert wire.requests(WHO, sender=mine)[0].at_ms == began_ms
        assert wire.requests(PULL, sender=mine)[0].at_ms - began_ms < 100
        world.act("StartProducer", topic="orders", actor="seller", rate_per_s=1)
        world.run(61)
        reported = {frame.receiver for frame in wire.requests(BEAT, sender=prefix_of(world, "seller"))}
        masters = {address for (_, broker_id), address in addresses.items() if broker_id == 0}
        assert reported == masters, "a process that only sends beats to masters alone"


@pytest.mark.seed("1.33", "D40")
def test_a_member_that_stops_commits_then_unregisters_then_ends_its_process(world: World) -> None:
    join(world, from_where="CONSUME_FROM_FIRST_OFFSET")
    world.run(11)
    world.act("SendMessages", topic="orders", count=12)
    world.run(2)
    wire = WireLog(world)
    began_ms = world.cluster.clock.now_ms()
    world.act("StopActor", actor="A")
    world.run(1)
    mine, broker = prefix_of(world, "A"), broker_address(world)
    at_end = [frame for frame in wire.frames if frame.sender.startswith(mine) and not frame.answer]
    assert {frame.at_ms for frame in at_end} == {began_ms}
    assert codes(wire, mine) == [COMMIT, BYE], "15 for every queue, then 35"
    saved = {
        (header.topic, header.queue_id): header.commit_offset
        for frame in wire.requests(COMMIT)
        if (header := UpdateOffsetHeader.from_ext(frame.command.ext or {}))
    }
    assert {mq: offset for mq, offset in saved.items() if mq[0] == "orders"} == {("orders", n): 3 for n in range(4)}
    byes = [UnregisterClientHeader.from_ext(frame.command.ext or {}) for frame in wire.requests(BYE)]
    assert [(bye.consumer_group, bye.producer_group) for bye in byes] == [
        (GROUP, None),
        (None, "CLIENT_INNER_PRODUCER"),
    ], "the group, then what the process had beside it"
    assert {frame.receiver for frame in wire.requests(BYE)} == {broker}
    end = scenario(world, "A")
    assert end[end.index("(stopping)") :] == [
        "(stopping)",
        "stop consume service",
        "persist offsets",
        "unregister",
        "stop pulling",
        "stop inner producer",
        "stop timers",
        "close connections",
        "stop rebalance",
        "drop queues",
        "(stopped)",
    ]
    dropped = [entry.event for entry in world.entries(QueueDropped) if entry.event.reason == "shutdown"]
    assert len(dropped) == 5, "its queues and the one of the retry topic"
    assert [there for here, there in world.cluster.network.connections() if here.startswith(mine)] == []


@pytest.mark.seed("1.34", "1.33")
def test_the_last_stop_in_a_process_ends_its_services_one_by_one_and_an_earlier_stop_none(world: World) -> None:
    """Five services: the inner producer, pulling, the timers, the connections, the rebalance service."""
    join(world)
    world.act("StartConsumer", group="audit", subscriptions=ORDERS, work_ms=[1], instance="A")
    world.run(15)
    services = ["stop inner producer", "stop timers", "close connections", "stop rebalance"]

    def steps_of_stop(label: str) -> list[str]:
        since = world.cluster.journal.next_seq
        world.act("StopActor", actor=label)
        world.run(1)
        return [entry.event.name for entry in world.entries(LifecycleStep, since=since)]

    first = steps_of_stop("A")
    assert first == ["stop consume service", "persist offsets", "unregister", "stop pulling", "drop queues"]
    wire = WireLog(world)
    world.run(61)
    assert len(wire.requests(BEAT, sender=prefix_of(world, "B"))) == 2, "its timers run for the other"
    last = steps_of_stop("B")
    assert last == [*first[:-1], *services, "drop queues"]
    wire = WireLog(world)
    world.run(120)
    assert [frame for frame in wire.frames if frame.sender.startswith(prefix_of(world, "B"))] == []


@pytest.mark.seed("4.1")
def test_steps_three_to_seven_of_a_start_are_done_when_the_consumer_is_built(world: World, tmp_path: Path) -> None:
    """The other ten are in the journal; RUNNING stands between starting the instance and the first route."""
    wire = WireLog(world)
    process = application(world, files=ClientFiles(tmp_path / "offsets"))

    async def work(messages: object, context: object) -> ConsumeConcurrentlyStatus:
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    clerks, screens = (
        PushConsumer(PushConsumerConfig(group=group, model=model), process, work)
        for group, model in (("clerks", MessageModel.CLUSTERING), ("screens", MessageModel.BROADCASTING))
    )
    clerks.subscribe("orders")
    assert clerks.client_id == "10.0.9.8@app", "3: the instance has its name"
    assert clerks.instance is screens.instance is process, "4: one instance for both"
    assert (clerks.strategy.name, clerks.rebalancer.rounds) == ("AVG", {}), "5: rebalance has group and strategy"
    assert clerks.pulls is not screens.pulls, "6: each its own pulls"
    assert [type(each.offset_store).__name__ for each in (clerks, screens)] == [
        "RemoteBrokerOffsetStore",
        "LocalFileOffsetStore",
    ], "7: by the model"
    assert (wire.frames, process.state, clerks.state) == ([], "created", "created"), "and nothing has happened"
    world.environment.sim.run(clerks.start())
    reported = [entry.event for entry in world.entries() if getattr(entry.event, "client_id", "") == process.client_id]
    names = [
        event.name if isinstance(event, LifecycleStep) else f"({event.state})"
        for event in reported
        if isinstance(event, LifecycleStep | MemberStateChanged)
    ]
    assert names == [
        "(starting)",
        "check config",
        "copy subscriptions",
        "load offsets",
        "start consume service",
        "register in instance",
        "start instance",
        "(running)",
        "fetch routes",
        "check subscriptions at a broker",
        "heartbeat",
        "wake rebalance",
    ]


@pytest.mark.seed("4.8")
def test_routes_are_asked_for_after_ten_milliseconds_and_every_thirty_seconds_and_addresses_never(world: World) -> None:
    """The addresses of the name servers are configured; without any a client does not start here."""
    wire, began_ms = WireLog(world), world.cluster.clock.now_ms()
    process = application(world)
    consumer = PushConsumer(PushConsumerConfig(group="clerks"), process, Listener(world).concurrently)
    consumer.subscribe("orders")
    world.environment.sim.run(consumer.start())
    world.run(600)
    asked = sorted({frame.at_ms - began_ms for frame in wire.requests(ROUTE, sender="10.0.9.8:")})
    assert asked == [0, *(10 + 30_000 * n for n in range(20))], "once at the start, then by the timer"
    receivers = {frame.receiver for frame in wire.frames if frame.sender.startswith("10.0.9.8:")}
    known = {row["address"] for row in world.snapshot()["brokers"]} | set(world.cluster.nodes.addresses)
    assert receivers <= known, "nothing else is asked, in ten minutes of which an address server would hear five times"
    lost = application(world, "lost", ip="10.0.9.7", name_servers=())
    alone = PushConsumer(PushConsumerConfig(group="alone"), lost, Listener(world).concurrently)
    alone.subscribe("orders")
    with pytest.raises(ClientError, match="no name server address is configured"):
        world.environment.sim.run(alone.start())
