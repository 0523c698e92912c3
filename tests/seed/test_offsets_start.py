"""The start offset of a member: its request to the broker, and the rule without a stored offset."""

from typing import Any

import pytest

from sandbox.client.config import RETRY_PREFIX, ConsumeFromWhere, PushConsumerConfig
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus
from sandbox.journal.events import QueueTaken
from sandbox.message.message import Message
from sandbox.remoting.bodies import HeartbeatData
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.headers import PullHeader, QueueHeader, SearchOffsetHeader
from sandbox.simulation.world import World
from tests.beginnings import world_with
from tests.seed.stage import Caller, Frame, WireLog, application, broker_address

GROUP = "order-svc"
ORDERS = [["orders", "*"]]
LAST, BY_TIME = "CONSUME_FROM_LAST_OFFSET", "CONSUME_FROM_TIMESTAMP"
QUERY, MAX, SEARCH, PULL = (
    RequestCode.QUERY_CONSUMER_OFFSET,
    RequestCode.GET_MAX_OFFSET,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
    RequestCode.PULL_MESSAGE,
)
MINUTE_S = 60
world = world_with({"orders": 2, "others": 1}, changes={"memory_bytes": 64 * 1024}, seconds=1)


def push_into_the_past(caller: Caller) -> None:
    """So much goes to another topic that what was there before no longer counts as in memory."""
    for _ in range(4):
        caller.send("others", 0, b"x" * 8_000)


def fill(caller: Caller, *, queue_0: int = 10, queue_1: int = 10) -> None:
    for queue_id, count in ((0, queue_0), (1, queue_1)):
        for _ in range(count):
            caller.send("orders", queue_id)
    push_into_the_past(caller)


def taken(world: World, group: str = GROUP) -> dict[tuple[str, int], tuple[int, tuple[str, ...]]]:
    """Topic and queue → where the group's last owner began, and the reasons."""
    return {
        (e.event.topic, e.event.queue_id): (e.event.start_offset, e.event.trace)
        for e in world.entries(QueueTaken)
        if e.event.group == group
    }


def first_pulls(wire: WireLog, group: str = GROUP) -> dict[int, int]:
    """Queue → the offset the group's first pull of `orders` asked for."""
    found: dict[int, int] = {}
    for frame in wire.requests(PULL):
        pull = PullHeader.from_ext(frame.command.ext)
        if (pull.group, pull.topic) == (group, "orders"):
            found.setdefault(pull.queue_id, pull.queue_offset)
    return found


def queues_of(frames: list[Frame], topic: str = "orders") -> list[int]:
    return sorted(
        QueueHeader.from_ext(f.command.ext).queue_id
        for f in frames
        if QueueHeader.from_ext(f.command.ext).topic == topic
    )


@pytest.mark.seed("0.22", "0.25")
def test_from_the_last_offset_means_the_record_and_without_one_the_end(world: World, caller: Caller) -> None:
    fill(caller)
    caller.commit(GROUP, "orders", 0, 7)
    caller.commit("another", "orders", 1, 3)
    wire = WireLog(world)
    world.act("StartConsumer", group=GROUP, subscriptions=ORDERS, from_where=LAST, work_ms=[1])
    world.run(5)
    assert taken(world)["orders", 0] == (7, ("stored",))
    assert taken(world)["orders", 1] == (10, ("not_found", "max")), "another group's record is not ours"
    assert first_pulls(wire) == {0: 7, 1: 10}
    assert queues_of(wire.requests(QUERY)) == [0, 1]
    answers = {frame.command.code for frame in wire.answers(QUERY)}
    assert answers >= {ResponseCode.SUCCESS, ResponseCode.QUERY_NOT_FOUND}
    assert queues_of(wire.requests(MAX)) == [1], "only who has no record is asked about"
    assert wire.requests(SEARCH) == []


@pytest.mark.seed("0.24", "0.25")
def test_from_a_time_means_the_message_stored_then_but_a_record_wins(world: World, caller: Caller) -> None:
    stored_ms: list[int] = []
    for _ in range(10):
        for queue_id in (0, 1):
            caller.send("orders", queue_id)
        stored_ms.append(world.cluster.clock.now_ms())
        world.run(10)
    push_into_the_past(caller)
    caller.commit(GROUP, "orders", 0, 2)
    wire = WireLog(world)
    at_ms = stored_ms[6] // 1000 * 1000
    world.act("StartConsumer", group=GROUP, subscriptions=ORDERS, from_where=BY_TIME, timestamp=at_ms, work_ms=[1])
    world.run(5)
    assert taken(world)["orders", 0] == (2, ("stored",))
    assert taken(world)["orders", 1] == (6, ("not_found", "by_time"))
    assert first_pulls(wire) == {0: 2, 1: 6}
    [asked] = wire.requests(SEARCH)
    assert SearchOffsetHeader.from_ext(asked.command.ext)[:3] == ("orders", 1, at_ms)


@pytest.mark.seed("D10")
def test_the_time_to_begin_at_is_half_an_hour_before_the_consumer_was_made(world: World) -> None:
    for _ in range(10):  # one message every ten minutes; a silent connection does not live that long
        Caller(world, broker_address(world)).send("orders", 0)
        world.act("SetRate", rate=60)
        world.run(10)
        world.act("SetRate", rate=1)
    caller = Caller(world, broker_address(world))
    push_into_the_past(caller)
    caller.commit(GROUP, "orders", 1, 0)
    made_ms = world.cluster.clock.now_ms()
    config = PushConsumerConfig(group=GROUP, from_where=ConsumeFromWhere.CONSUME_FROM_TIMESTAMP)
    member = PushConsumer(config, application(world), _succeed)
    member.subscribe("orders")
    world.act("SetRate", rate=60)
    world.run(20)  # started after twenty minutes
    world.act("SetRate", rate=1)
    wire = WireLog(world)
    world.environment.sim.run(member.start())
    world.run(2)
    [asked] = wire.requests(SEARCH)
    said_ms = SearchOffsetHeader.from_ext(asked.command.ext).timestamp_ms
    assert said_ms == (made_ms - 30 * MINUTE_S * 1000) // 1000 * 1000, "not its start, which was twenty minutes later"
    assert first_pulls(wire)[0] == 7, "the message of half an hour before"


@pytest.mark.seed("0.22", "0.24")
@pytest.mark.parametrize(
    ("where", "begins", "why", "asked"), [(LAST, 0, "retry_zero", 0), (BY_TIME, 6, "retry_max", 1)]
)
def test_a_retry_topic_begins_at_0_or_by_time_at_its_end(
    world: World, caller: Caller, where: str, begins: int, why: str, asked: int
) -> None:
    retries = RETRY_PREFIX + GROUP
    caller.pull(GROUP, "orders", 0, 0)  # a group the broker knows, so its retry topic may be written to
    for _ in range(6):
        caller.send(retries, 0)
    push_into_the_past(caller)
    wire = WireLog(world)
    world.act("StartConsumer", group=GROUP, subscriptions=ORDERS, from_where=where, work_ms=[1])
    world.run(55)
    assert taken(world)[retries, 0] == (begins, ("not_found", why))
    assert len(queues_of(wire.requests(MAX), retries)) == asked
    assert queues_of(wire.requests(SEARCH), retries) == []


async def _succeed(messages: list[Message], context: Any) -> ConsumeConcurrentlyStatus:
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS


@pytest.mark.seed("0.21", "0.23")
def test_of_six_places_to_begin_three_are_deprecated_and_mean_the_last_offset(world: World, caller: Caller) -> None:
    fill(caller)
    wire = WireLog(world)
    begins: dict[str, int] = {}
    for number, where in enumerate(ConsumeFromWhere):
        group = f"group-{number}"
        caller.commit(group, "orders", 1, 4)
        config = PushConsumerConfig(group=group, from_where=where, timestamp_ms=0)
        member = PushConsumer(config, application(world, group), _succeed)
        member.subscribe("orders")
        world.environment.sim.run(member.start())
        world.run(2)
        begins[where.value] = first_pulls(wire, group)[0]
        assert first_pulls(wire, group)[1] == 4, "a record wins always"
        member.crash()
    assert begins == {
        "CONSUME_FROM_LAST_OFFSET": 10,
        "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST": 10,
        "CONSUME_FROM_MIN_OFFSET": 10,
        "CONSUME_FROM_MAX_OFFSET": 10,
        "CONSUME_FROM_FIRST_OFFSET": 0,
        "CONSUME_FROM_TIMESTAMP": 0,
    }
    said = [
        consumer.consume_from_where
        for frame in wire.requests(RequestCode.HEART_BEAT)
        for consumer in HeartbeatData.decode(frame.command.body).consumers
    ]
    assert set(said) == set(begins), "a heartbeat carries the value's own name"
