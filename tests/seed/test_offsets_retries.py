"""A message that fails: pulling goes on, and the message comes back by the retry topic of its group."""

from typing import Any

import pytest

from sandbox.journal.events import MessagesConsumed
from sandbox.kernel.loose_json import loads
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import PullHeader, PullResponseHeader
from sandbox.simulation.world import World
from tests.beginnings import world_with
from tests.seed.stage import Caller, WireLog, broker_address, files_of

GROUP = "order-svc"
RETRIES = "%RETRY%order-svc"
world = world_with({"orders": 2, "payments": 2}, seconds=1)


def member(world: World, *topics: str, **fields: Any) -> None:
    """A member, and so much time that it also reads its retry topic, whose route it first has to learn."""
    world.act(
        "StartConsumer",
        actor="A",
        group=GROUP,
        subscriptions=[[topic, "*"] for topic in topics],
        **{"work_ms": [1], "from_where": "CONSUME_FROM_FIRST_OFFSET", **fields},
    )
    world.run(60)


def ends(world: World, topic: str) -> list[int]:
    return [int(queue["max"]) for row in world.snapshot()["topics"] if row["topic"] == topic for queue in row["queues"]]


@pytest.mark.seed("0.17")
def test_a_listener_that_always_fails_never_makes_pulling_go_back(world: World) -> None:
    member(world, "orders", fail_percent=100)
    wire = WireLog(world)
    for _ in range(8):
        world.act("SendMessages", topic="orders", count=4, queue="broker-a:0")
        world.run(4)
    asked = [
        pull
        for frame in wire.requests(RequestCode.PULL_MESSAGE)
        if (pull := PullHeader.from_ext(frame.command.ext)).topic == "orders" and pull.queue_id == 0
    ]
    offsets = [pull.queue_offset for pull in asked]
    assert offsets == sorted(offsets)
    assert offsets[-1] == 32
    world.run(5)
    assert Caller(world, broker_address(world)).stored_offset(GROUP, "orders", 0) == 32, "nor does the commit wait"
    by_opaque = {
        (f.sender, f.command.opaque): PullHeader.from_ext(f.command.ext)
        for f in wire.requests(RequestCode.PULL_MESSAGE)
    }
    for answer in wire.answers(RequestCode.PULL_MESSAGE):
        pull = by_opaque.get((answer.receiver, answer.command.opaque))
        if pull is not None:
            assert PullResponseHeader.from_ext(answer.command.ext).next_offset >= pull.queue_offset
    outcomes = {entry.event.outcome for entry in world.entries(MessagesConsumed)}
    assert "SUCCESS" not in outcomes
    first = [
        e.event.offsets
        for e in world.entries(MessagesConsumed)
        if e.event.topic == "orders" and e.event.reconsume_times == 0
    ]
    assert sorted(first) == [(n,) for n in range(32)], "each was pulled from its queue once"


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
    came_by = [
        (e.event.topic, e.event.reconsume_times) for e in world.entries(MessagesConsumed) if "bad" in e.event.keys
    ]
    assert sorted(came_by) == [(RETRIES, 1), (RETRIES, 1), ("orders", 0), ("payments", 0)]
    own = {
        message.properties["RETRY_TOPIC"]
        for message in Caller(world, broker_address(world)).pull("reader", RETRIES, 0, 0).messages
    }
    assert own == {"orders", "payments"}, "each remembers where it is from"
    assert f"consumequeue/{RETRIES}/0/" + "0" * 20 in files_of(world)
    table = loads(files_of(world)["config/consumerOffset.json"])["offsetTable"]
    assert f"{RETRIES}@{GROUP}" in table
