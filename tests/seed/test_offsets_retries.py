"""A message that fails: pulling goes on, the message comes back by the retry topic, and in the end it is buried."""

from itertools import pairwise
from typing import Any

import pytest

from sandbox.journal.events import MessageDeadLettered, MessagesConsumed
from sandbox.kernel.loose_json import loads
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import PullHeader, PullResponseHeader, SendBackHeader
from sandbox.simulation.world import World
from tests.beginnings import world_with
from tests.seed.stage import Caller, WireLog, broker_address, files_of

GROUP = "order-svc"
RETRIES, DEAD = "%RETRY%order-svc", "%DLQ%order-svc"
DELAYS_S = (10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1_200, 1_800, 3_600, 7_200)
world = world_with({"orders": 2, "payments": 2}, seconds=1)


def member(world: World, *topics: str, **fields: Any) -> None:
    """A member, and so much time that it also reads its retry topic, whose route it first has to learn."""
    world.act("StartConsumer", actor="A", group=GROUP, subscriptions=[[topic, "*"] for topic in topics],
              **{"work_ms": [1], "from_where": "CONSUME_FROM_FIRST_OFFSET", **fields})
    world.run(60)


def tries(world: World, key: str) -> list[tuple[int, int]]:
    """When the message was given to the listener, and how often it had been before."""
    return [(e.event.started_ms, e.event.reconsume_times) for e in world.entries(MessagesConsumed)
            if key in e.event.keys]


def ends(world: World, topic: str) -> list[int]:
    return [int(queue["max"]) for row in world.snapshot()["topics"] if row["topic"] == topic
            for queue in row["queues"]]


@pytest.mark.seed("0.17")
def test_a_listener_that_always_fails_never_makes_pulling_go_back(world: World) -> None:
    member(world, "orders", fail_percent=100)
    wire = WireLog(world)
    for _ in range(8):
        world.act("SendMessages", topic="orders", count=4, queue="broker-a:0")
        world.run(4)
    asked = [pull for frame in wire.requests(RequestCode.PULL_MESSAGE)
             if (pull := PullHeader.from_ext(frame.command.ext)).topic == "orders" and pull.queue_id == 0]
    offsets = [pull.queue_offset for pull in asked]
    assert offsets == sorted(offsets)
    assert offsets[-1] == 32
    world.run(5)
    assert Caller(world, broker_address(world)).stored_offset(GROUP, "orders", 0) == 32, "nor does the commit wait"
    by_opaque = {(f.sender, f.command.opaque): PullHeader.from_ext(f.command.ext)
                 for f in wire.requests(RequestCode.PULL_MESSAGE)}
    for answer in wire.answers(RequestCode.PULL_MESSAGE):
        pull = by_opaque.get((answer.receiver, answer.command.opaque))
        if pull is not None:
            assert PullResponseHeader.from_ext(answer.command.ext).next_offset >= pull.queue_offset
    outcomes = {entry.event.outcome for entry in world.entries(MessagesConsumed)}
    assert "SUCCESS" not in outcomes
    first = [e.event.offsets for e in world.entries(MessagesConsumed) if e.event.topic == "orders"
             and e.event.reconsume_times == 0]
    assert sorted(first) == [(n,) for n in range(32)], "each was pulled from its queue once"


@pytest.mark.seed("0.18")
def test_a_failing_message_comes_back_after_each_level_and_after_sixteen_is_dead(world: World) -> None:
    member(world, "orders")
    world.act("ChangeActor", actor="A", handler="reject bad")
    wire = WireLog(world)
    world.act("SendMessages", topic="orders", count=1, key="bad")
    world.act("SendMessages", topic="orders", count=3, key="good-{n}")
    world.run(600)
    assert [times for _, times in tries(world, "bad")] == [0, 1, 2, 3, 4, 5]
    world.act("SetRate", rate=60)
    world.run(300)
    seen = tries(world, "bad")
    assert [times for _, times in seen] == list(range(17))
    waits_s = [(later - earlier) / 1000 for (earlier, _), (later, _) in pairwise(seen)]
    assert waits_s == pytest.approx(DELAYS_S, abs=0.2)
    backs = [SendBackHeader.from_ext(f.command.ext) for f in wire.requests(RequestCode.CONSUMER_SEND_MSG_BACK)]
    assert [(back.group, back.delay_level) for back in backs] == [(GROUP, 0)] * 17
    [dead] = [entry.event for entry in world.entries(MessageDeadLettered)]
    assert (dead.group, dead.reconsume_times) == (GROUP, 16)
    assert (ends(world, RETRIES), ends(world, DEAD)) == ([16], [1])
    [letter] = Caller(world, broker_address(world)).pull("undertaker", DEAD, 0, 0).messages
    assert (letter.properties["KEYS"], letter.reconsume_times) == ("bad", 17), "burying counts once more"
    assert letter.properties["RETRY_TOPIC"] == "orders"
    assert [times for n in (1, 2, 3) for _, times in tries(world, f"good-{n}")] == [0, 0, 0]
    world.run(125)  # more than another two hours
    assert len(backs) == len(wire.requests(RequestCode.CONSUMER_SEND_MSG_BACK))


@pytest.mark.seed("0.18", "D8")
def test_a_group_has_one_retry_topic_however_many_topics_it_reads(world: World) -> None:
    member(world, "orders", "payments")
    world.act("ChangeActor", actor="A", handler="reject bad")
    for topic in ("orders", "payments"):
        world.act("SendMessages", topic=topic, count=1, key="bad")
    world.run(15)
    topics = [row["topic"] for row in world.snapshot()["topics"] if row["topic"].startswith("%")]
    assert topics == [RETRIES], "the group's name after %RETRY%, and none for a topic"
    assert ends(world, RETRIES) == [2], "one queue, and both messages went through it"
    came_by = [(e.event.topic, e.event.reconsume_times) for e in world.entries(MessagesConsumed)
               if "bad" in e.event.keys]
    assert sorted(came_by) == [(RETRIES, 1), (RETRIES, 1), ("orders", 0), ("payments", 0)]
    own = {message.properties["RETRY_TOPIC"]
           for message in Caller(world, broker_address(world)).pull("reader", RETRIES, 0, 0).messages}
    assert own == {"orders", "payments"}, "each remembers where it is from"
    assert f"consumequeue/{RETRIES}/0/" + "0" * 20 in files_of(world)
    table = loads(files_of(world)["config/consumerOffset.json"])["offsetTable"]
    assert f"{RETRIES}@{GROUP}" in table
