"""Pulling runs ahead of what is committed, until flow control holds it back and a backlog grows."""

from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from sandbox.journal.events import FlowControlChanged, MessagesConsumed, MessagesStored
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import PullHeader
from sandbox.simulation.world import World
from tests.beginnings import world_with
from tests.seed.stage import WireLog

GROUP = "order-svc"
KEY = "broker-a:0"
BATCH = 32


class Pull(NamedTuple):
    """A pull of the one queue: time, offset, and the committed offset it carries."""

    at_ms: int
    offset: int
    commit_offset: int


# The thresholds of its preset are RocketMQ's own: 1 000 messages, a span of 2 000.  No pull ends at a queue file's end.
world = world_with({"orders": 1}, changes={"consume_queue_file_entries": 20_000}, seconds=1)


def member(world: World, **fields: Any) -> None:
    world.act(
        "StartConsumer",
        actor="A",
        group=GROUP,
        subscriptions=[["orders", "*"]],
        **{"work_ms": [1], "from_where": "CONSUME_FROM_FIRST_OFFSET", **fields},
    )


def send(world: World, count: int, **fields: Any) -> None:
    world.act("SendMessages", topic="orders", count=count, queue=KEY, body_bytes=20, **fields)


def pulls(wire: WireLog) -> list[Pull]:
    found = [(frame.at_ms, PullHeader.from_ext(frame.command.ext)) for frame in wire.requests(RequestCode.PULL_MESSAGE)]
    return [Pull(at_ms, pull.queue_offset, pull.commit_offset) for at_ms, pull in found if pull.topic == "orders"]


def board(world: World) -> dict[str, Any]:
    data: dict[str, Any] = world.read(f"board/{GROUP}/orders").data
    return data


def held(world: World) -> dict[str, Any]:
    """Return the client page's values of the queue."""
    client_id = world.cluster.actors.get("A").client_id
    row: dict[str, Any] = world.read(f"client/{client_id}").data["queues"]["orders/broker-a/0"]
    return row


@pytest.mark.seed("0.32")
def test_the_next_pull_begins_where_the_last_one_ended_however_far_back_the_commit_stays(world: World) -> None:
    member(world)
    world.act("ChangeActor", actor="A", slow_key="slow", slow_ms=600_000)
    send(world, 3)
    world.run(1)
    send(world, 1, key="slow")
    world.run(1)
    wire = WireLog(world)
    for _ in range(10):
        send(world, 5)
        world.run(2)
    asked = pulls(wire)
    offsets = [pull.offset for pull in asked]
    assert offsets == sorted(offsets)
    assert len(set(offsets)) >= 10, "it goes on and on"
    assert offsets[-1] == 54, "to the end"
    assert {pull.commit_offset for pull in asked} == {3}, "while each says that 3 is not done"
    row = board(world)["queues"][KEY]
    assert (row["committed"], row["next_pull"], row["max"]) == ("3", "54", "54")
    done = [offset for entry in world.entries(MessagesConsumed) for offset in entry.event.offsets]
    assert sorted(done) == [n for n in range(54) if n != 3], "none is pulled twice, though 3 is what is stored"


@pytest.mark.seed("0.33")
def test_over_a_thousand_cached_messages_pulling_pauses_and_looks_again_every_50_ms(world: World) -> None:
    send(world, 1_500)
    world.run(3)
    wire = WireLog(world)
    member(world, threads=1, work_ms=[1_000])
    world.run(3)
    asked = [pull.offset for pull in pulls(wire)]
    assert asked == [n * BATCH for n in range(32)], "the last one while 992 were cached, and none since"
    assert 1_000 < held(world)["cached"] <= 1_024
    assert (held(world)["flow_control"], board(world)["queues"][KEY]["flow_control"]) == ("count", "count")
    looks = {held(world)["last_pull_ms"]}
    for _ in range(100):
        world.run(0.01)
        looks.add(held(world)["last_pull_ms"])
    assert {later - earlier for earlier, later in pairwise(sorted(looks))} == {50}
    assert len(looks) in (20, 21)
    reported = world.entries(FlowControlChanged)[0].event
    assert (reported.limit, reported.value > reported.allowed, reported.allowed) == ("count", True, 1_000)
    world.act("ChangeActor", actor="A", work_ms=[7])
    world.run(1.5)
    resumed = [later.at_ms - earlier.at_ms for earlier, later in pairwise(pulls(wire)[32:])]
    assert len(resumed) > 2
    assert all(wait_ms % 50 == 0 for wait_ms in resumed), "whenever a look finds no more than a thousand left"
    assert min(resumed) >= 200, "32 messages of 7 ms each have to be done before"


@pytest.mark.seed("0.33")
def test_over_a_span_of_two_thousand_pulls_follow_each_other_in_steps_of_50_ms(world: World) -> None:
    world.act("ChangeBroker", broker="broker-a", changes={"pull_threshold_for_queue": 60_000})  # only the span counts
    send(world, 1, key="slow")
    for count in (1_899, 1_900, 1_200):
        send(world, count)
        world.run(3)
    wire = WireLog(world)
    member(world, work_ms=[5])
    world.act("ChangeActor", actor="A", slow_key="slow", slow_ms=600_000)
    world.run(10)
    asked = pulls(wire)
    assert [pull.offset for pull in asked[:64]] == [n * BATCH for n in range(64)]
    assert {pull.at_ms for pull in asked[:63]} == {asked[0].at_ms}, "up to a span of 1 983 nothing holds it back"
    waits_ms = [later.at_ms - earlier.at_ms for earlier, later in pairwise(asked[62:]) if earlier.offset < 4_900]
    assert len(waits_ms) > 80
    assert waits_ms[0] > 500, "until what lies behind the slow one is done, and only that is left"
    assert set(waits_ms[1:]) == {50}, "from there on each pull crosses the span, and the next comes 50 ms later"
    reported = [entry.event for entry in world.entries(FlowControlChanged)]
    assert [event.limit for event in reported][:1] == ["span"]
    assert (reported[0].value > 2_000, reported[0].allowed) == (True, 2_000)


@pytest.mark.seed("0.33")
def test_while_pulling_pauses_producers_go_on_and_the_backlog_grows(world: World) -> None:
    member(world, threads=1, work_ms=[600_000])
    world.act("StartProducer", actor="shop", topic="orders", rate_per_s=50)
    world.run(60)
    wire = WireLog(world)
    lags: list[int] = []
    waiting: list[int] = []
    for _ in range(5):
        world.run(10)
        lags.append(int(board(world)["header"]["lag"]))
        waiting.append(int(board(world)["queues"][KEY]["max"]) - int(board(world)["queues"][KEY]["next_pull"]))
    assert pulls(wire) == [], "not one pull in fifty seconds"
    assert {later - earlier for earlier, later in pairwise(lags)} <= {499, 500, 501}
    assert {later - earlier for earlier, later in pairwise(waiting)} <= {499, 500, 501}, "at the broker"
    stored = sum(entry.event.count for entry in world.entries(MessagesStored) if entry.event.topic == "orders")
    assert lags[-1] == stored, "nothing is committed"
    assert held(world)["cached"] <= 1_000 + BATCH
