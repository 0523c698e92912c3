"""Groups at work: how messages reach them, where their progress is kept, and what a disagreement costs."""

from collections import Counter

import orjson
import pytest

from sandbox.client.config import ProducerConfig
from sandbox.client.producer import Producer
from sandbox.journal.events import MessagesConsumed, MessagesFiltered, PullSuspended
from sandbox.kernel.errors import SandboxError
from sandbox.kernel.loose_json import loads
from sandbox.message.message import Message
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.headers import GroupHeader, PullHeader, RunningInfoHeader
from sandbox.simulation.world import World
from tests.seed.stage import Caller, WireLog, application, broker_address, files_of

GROUP = "order-svc"
ORDERS = [["orders", "*"]]
PULL = RequestCode.PULL_MESSAGE


def consumed(world: World, group: str = GROUP) -> Counter[str]:
    return Counter(
        key
        for entry in world.entries(MessagesConsumed)
        for key in entry.event.keys
        if (entry.event.group, entry.event.outcome) == (group, "SUCCESS")
    )


@pytest.mark.seed("1.6", "D32", "1.27")
def test_a_push_consumer_pulls_and_the_broker_keeps_it_waiting(world: World) -> None:
    world.act("StartConsumer", group=GROUP, subscriptions=ORDERS, work_ms=[1])
    world.run(25)
    wire = WireLog(world)
    world.run(45)
    broker, ip = broker_address(world), world.cluster.actors.get("A").client_id.split("@")[0]
    asked = {
        (frame.sender, frame.command.opaque): frame
        for frame in wire.requests(PULL, sender=ip)
        if PullHeader.from_ext(frame.command.ext or {}).topic == "orders"
    }
    waited_s = [
        (answer.at_ms - request.at_ms) / 1000
        for answer in wire.answers(PULL, receiver=ip)
        if (request := asked.get((answer.receiver, answer.command.opaque))) is not None
    ]
    assert len(waited_s) >= 4
    assert all(15 <= seconds <= 20 for seconds in waited_s), "a quiet pull is held for 15 s, to the next scan"
    assert {entry.event.patience_ms for entry in world.entries(PullSuspended)} == {15_000}
    assert {PullHeader.from_ext(frame.command.ext or {}).suspend_timeout_ms for frame in asked.values()} == {15_000}
    began_ms = world.cluster.clock.now_ms()
    world.act("SendMessages", topic="orders", count=1, key="news")
    world.run(1)
    [brought] = [frame for frame in wire.answers(PULL, receiver=ip) if frame.at_ms >= began_ms and frame.command.body]
    [done] = [entry for entry in world.entries(MessagesConsumed) if "news" in entry.event.keys]
    assert brought.at_ms - began_ms < 50, "the answer that was held brings it at once"
    assert done.at_ms - began_ms < 100
    unasked = [frame.code for frame in wire.frames if frame.sender == broker and not frame.answer]
    assert unasked == [], "the broker never begins to speak"


@pytest.mark.seed("1.7", "3.34", "4.12", "4.4")
@pytest.mark.parametrize(("model", "times"), [("CLUSTERING", 1), ("BROADCASTING", 3)])
def test_a_message_is_for_one_member_of_a_group_or_for_each(world: World, model: str, times: int) -> None:
    world.act("StartConsumer", group=GROUP, subscriptions=ORDERS, copies=3, model=model, work_ms=[1])
    world.run(25)
    wire = WireLog(world)
    world.act("SendMessages", topic="orders", count=24, key="m-{n}")
    world.run(25)
    assert consumed(world) == {f"m-{n}": times for n in range(1, 25)}
    members = {entry.event.client_id for entry in world.entries(MessagesConsumed)}
    assert len(members) == 3
    asked = wire.requests(RequestCode.GET_CONSUMER_LIST_BY_GROUP)
    assert bool(asked) is (model == "CLUSTERING"), "only who shares must know with whom"


@pytest.mark.seed("0.5", "2.2", "3.35", "3.43")
def test_progress_is_kept_by_the_broker_or_by_each_broadcasting_member(world: World) -> None:
    wire = WireLog(world)
    world.act("StartConsumer", actor="shared", group=GROUP, subscriptions=ORDERS, work_ms=[1])
    world.act("StartConsumer", actor="each", group="radio", subscriptions=ORDERS, model="BROADCASTING", work_ms=[1])
    world.run(5)
    world.act("SendMessages", topic="orders", count=8)
    world.run(25)
    table = loads(files_of(world)["config/consumerOffset.json"])["offsetTable"]
    assert {str(queue): offset for queue, offset in table[f"orders@{GROUP}"].items()} == {str(n): 2 for n in range(4)}
    assert not any(name.endswith("@radio") for name in table), "a broadcasting group never appears there"
    for code in (RequestCode.QUERY_CONSUMER_OFFSET, RequestCode.UPDATE_CONSUMER_OFFSET):
        assert {(frame.command.ext or {})["consumerGroup"] for frame in wire.requests(code)} == {GROUP}
    own = list(world.sandbox.directory.glob("clients/**/offsets.json"))
    client_id = world.cluster.actors.get("each").client_id
    assert [path.parts[-3:] for path in own] == [(client_id, "radio", "offsets.json")]
    text = own[0].read_text()
    assert text == world.ask("offset-file", owner="each")["text"]
    offsets = loads(text.encode())["offsetTable"]
    assert {orjson.loads(queue)["queueId"]: offset for queue, offset in offsets.items()} == dict.fromkeys(range(4), 2)


@pytest.mark.seed("3.41")
def test_nothing_acknowledged_is_lost_when_members_and_broker_are_killed(world: World) -> None:
    world.act(
        "StartConsumer",
        group=GROUP,
        subscriptions=ORDERS,
        copies=2,
        work_ms=[50, 3_000],
        from_where="CONSUME_FROM_FIRST_OFFSET",
    )
    world.run(5)
    producer = Producer(ProducerConfig(group="P"), application(world))
    world.environment.sim.run(producer.start())
    acknowledged: list[str] = []

    async def send_many(count: int) -> None:
        for number in range(count):
            key = f"k{len(acknowledged)}-{number}"
            await world.cluster.clock.sleep(0.05)
            try:
                await producer.send(Message.make("orders", b"body", keys=key))
            except SandboxError:
                continue  # no guarantee applies
            acknowledged.append(key)

    for harm, remedy, victim in (
        ("CrashActor", "RestartActor", {"actor": "A"}),
        ("KillBroker", "StartBroker", {"broker": "broker-a"}),
        ("CrashActor", "RestartActor", {"actor": "B"}),
    ):
        world.environment.sim.run(send_many(100))
        world.act(harm, **victim)
        world.run(1)
        world.act(remedy, **victim)
        world.run(5)
    world.run(150)
    assert world.cluster.journal.first_in_memory == 0
    times = consumed(world)
    assert len(acknowledged) >= 290
    assert set(acknowledged) <= set(times)
    assert sum(times.values()) > len(times), "at least once is not exactly once: a killed member's work came again"


@pytest.mark.seed("3.42")
def test_members_that_want_different_tags_lose_messages_of_both(world: World) -> None:
    world.act("StartConsumer", actor="red", group=GROUP, subscriptions=[["orders", "red"]], work_ms=[1])
    world.run(2)
    world.act("StartConsumer", actor="blue", group=GROUP, subscriptions=[["orders", "blue"]], work_ms=[1])
    world.run(45)
    for number in range(4):
        for tag in ("red", "blue"):
            world.act(
                "SendMessages",
                topic="orders",
                queue=f"broker-a:{number}",
                count=5,
                tag=tag,
                key=f"{tag}-{number}-{{n}}",
            )
    world.run(60)
    got = consumed(world)
    red, blue = (sum(key.startswith(tag) for key in got) for tag in ("red", "blue"))
    assert 0 < red + blue < 40
    assert red < 20 > blue, "the share of the other member is lost, for both tags"
    assert world.entries(MessagesFiltered), "what the broker's tag lets through, the other member drops by text"
    queues = world.read(f"board/{GROUP}/orders").data["queues"]
    assert all(row["committed"] == "10" for row in queues.values()), "and the offsets move on"


@pytest.mark.seed("3.42")
def test_the_status_of_the_group_shows_that_its_members_disagree(world: World) -> None:
    wishes = {"red": "red", "blue": "blue"}
    for label, expression in wishes.items():
        world.act("StartConsumer", actor=label, group=GROUP, subscriptions=[["orders", expression]], work_ms=[1])
        world.run(2)
    world.run(40)
    caller = Caller(world, broker_address(world))
    listed = caller.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, GroupHeader(GROUP).to_ext())
    assert listed.code == ResponseCode.SUCCESS
    connections = loads(listed.body or b"")
    assert connections["subscriptionTable"]["orders"]["subString"] in wishes.values(), "the broker keeps one of them"
    reported: dict[str, str] = {}
    for connection in connections["connectionSet"]:
        header = RunningInfoHeader(GROUP, connection["clientId"])
        answer = caller.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, header.to_ext())
        subscriptions = loads(answer.body or b"")["subscriptionSet"]
        [expression] = [row["subString"] for row in subscriptions if row["topic"] == "orders"]
        reported[world.cluster.label_of(connection["clientId"])] = expression
    assert reported == wishes, "asked one by one, the members do not say the same"
