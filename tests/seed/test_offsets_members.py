"""Offsets when members join and leave: chosen at the start, handed over with a queue, kept for the next owner."""

from collections import Counter

import pytest

from sandbox.journal.events import MessagesConsumed, OffsetCommitted, QueueDropped, QueueTaken
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import PullHeader, QueryOffsetHeader, UpdateOffsetHeader
from sandbox.simulation.world import World
from tests.seed.stage import Caller, WireLog, prefix_of

QUEUE_COUNT = 2
GROUP = "order-svc"
ORDERS = [["orders", "*"]]
QUERY, UPDATE, PULL = (RequestCode.QUERY_CONSUMER_OFFSET, RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.PULL_MESSAGE)


def client_of(world: World, label: str) -> str:
    return world.cluster.actors.get(label).client_id


def start_offsets(world: World, label: str) -> list[int]:
    """Return the start offsets of that process in each queue of the topic, in the order of queues."""
    found = {
        e.event.queue_id: e.event.start_offset
        for e in world.entries(QueueTaken)
        if (e.event.client_id, e.event.topic) == (client_of(world, label), "orders")
    }
    return [offset for _, offset in sorted(found.items())]


def consumed(world: World, label: str = "") -> list[str]:
    return [
        key
        for e in world.entries(MessagesConsumed)
        for key in e.event.keys
        if not label or e.event.client_id == client_of(world, label)
    ]


@pytest.mark.seed("0.19")
def test_a_broadcasting_member_goes_on_from_the_file_its_start_loads(world: World, caller: Caller) -> None:
    world.act("StartConsumer", actor="A", group=GROUP, subscriptions=ORDERS, model="BROADCASTING", work_ms=[1])
    for queue_id in (0, 0, 0, 1):
        caller.send("orders", queue_id)
    world.run(20)
    world.act("StopActor", actor="A")
    world.run(1)
    first_life = client_of(world, "A")
    for queue_id in (0, 1):
        caller.send("orders", queue_id, KEYS="meanwhile")
    wire = WireLog(world)
    before = world.cluster.journal.next_seq
    world.act("RestartActor", actor="A")
    world.run(5)
    assert client_of(world, "A") == first_life, "the same process name, so the same directory"
    assert start_offsets(world, "A") == [3, 1]
    assert [key for e in world.entries(MessagesConsumed, since=before) for key in e.event.keys] == ["meanwhile"] * 2
    assert wire.requests(QUERY) == []


@pytest.mark.seed("0.20", "1.24", "2.12")
def test_a_queue_is_dropped_and_persisted_before_the_next_member_asks_where_to_begin(
    world: World, caller: Caller
) -> None:
    world.act("StartConsumer", actor="A", group=GROUP, subscriptions=ORDERS, work_ms=[1])
    world.run(11)  # the timer's first round is over
    for number in range(6):
        caller.send("orders", 1, KEYS=f"m-{number}")
    world.run(1)
    assert caller.stored_offset(GROUP, "orders", 1) == 5, "the broker does not know all of it yet"
    wire = WireLog(world)
    world.act("StartConsumer", actor="B", group=GROUP, subscriptions=ORDERS, work_ms=[1])
    world.run(1)  # before the timer, which would forget it too
    [dropped] = [e for e in world.entries(QueueDropped) if e.event.topic == "orders"]
    assert (dropped.event.client_id, dropped.event.queue_id, dropped.event.offset) == (client_of(world, "A"), 1, 6)
    [taken] = [
        e for e in world.entries(QueueTaken) if (e.event.client_id, e.event.topic) == (client_of(world, "B"), "orders")
    ]
    assert (taken.event.queue_id, taken.event.start_offset) == (1, 6)
    reported = [UpdateOffsetHeader.from_ext(f.command.ext) for f in wire.requests(UPDATE, sender=prefix_of(world, "A"))]
    assert [header.commit_offset for header in reported if (header.topic, header.queue_id) == ("orders", 1)] == [6]
    order = [
        f.code
        for f in wire.frames
        if not f.answer
        and f.code in (QUERY, UPDATE)
        and ((f.command.ext or {})["topic"], (f.command.ext or {})["queueId"]) == ("orders", "1")
    ]
    assert order[-2:] == [UPDATE, QUERY], "first it is told, then it is asked"
    first = world.cluster.actors.get("A").consumer
    assert first is not None
    assert [mq.queue_id for mq in first.status("orders")] == [0], "and forgotten in memory"
    reported_at = wire.frames.index(wire.requests(UPDATE, sender=prefix_of(world, "A"))[0])
    assert wire.frames[reported_at].at_ms == dropped.at_ms
    pulls = [
        PullHeader.from_ext(f.command.ext)
        for f in wire.frames[reported_at:]
        if f.code == PULL and not f.answer and f.sender.startswith(prefix_of(world, "A"))
    ]
    assert not [pull for pull in pulls if (pull.topic, pull.queue_id) == ("orders", 1)], "and pulled no more"
    world.act("SendMessages", topic="orders", count=20)
    world.run(3)
    assert set(Counter(consumed(world)).values()) == {1}, "nothing came twice"
    assert len(consumed(world)) == 26


@pytest.mark.seed("0.36")
def test_another_member_goes_on_where_the_group_was(world: World, caller: Caller) -> None:
    world.act("StartConsumer", actor="A", group=GROUP, subscriptions=ORDERS, work_ms=[1])
    world.run(2)
    for number in range(10):
        caller.send("orders", number % 2, KEYS=f"first-{number}")
    world.run(10)
    world.act("RemoveActor", actor="A")
    world.run(1)
    for number in range(4):
        caller.send("orders", number % 2, KEYS=f"second-{number}")
    world.act(
        "StartConsumer",
        actor="B",
        group=GROUP,
        subscriptions=ORDERS,
        work_ms=[1],
        from_where="CONSUME_FROM_FIRST_OFFSET",
    )
    world.act(
        "StartConsumer",
        actor="C",
        group="newcomers",
        subscriptions=ORDERS,
        work_ms=[1],
        from_where="CONSUME_FROM_FIRST_OFFSET",
    )
    world.run(5)
    assert start_offsets(world, "B") == [5, 5], "a client nobody knew, and yet it knows how far they are"
    assert sorted(consumed(world, "B")) == [f"second-{n}" for n in range(4)]
    assert start_offsets(world, "C") == [0, 0], "progress is the group's own"
    assert len(consumed(world, "C")) == 14


@pytest.mark.seed("0.34")
def test_the_stored_offset_is_the_last_commit_and_the_next_owner_continues_from_it(
    world: World, caller: Caller
) -> None:
    world.act("StartConsumer", actor="A", group=GROUP, subscriptions=ORDERS, work_ms=[1])
    wire = WireLog(world)
    for number in range(3):
        for _ in range(4):
            caller.send("orders", 0, KEYS=f"m-{number}")
        world.run(8)
    reports: list[tuple[int, int]] = []  # sandbox ms and offset, of queue 0, by timer or with a pull
    for frame in wire.requests(UPDATE):
        update = UpdateOffsetHeader.from_ext(frame.command.ext)
        if (update.topic, update.queue_id) == ("orders", 0):
            reports.append((frame.at_ms, update.commit_offset))
    for frame in wire.requests(PULL):
        pull = PullHeader.from_ext(frame.command.ext)
        if (pull.topic, pull.queue_id) == ("orders", 0) and pull.sys_flag & 1:
            reports.append((frame.at_ms, pull.commit_offset))
    last_reported = sorted(reports)[-1][1]
    assert last_reported == 12
    assert caller.stored_offset(GROUP, "orders", 0) == last_reported
    journal = [
        (e.at_ms, e.event.offset)
        for e in world.entries(OffsetCommitted)
        if e.event.queue_id == 0 and e.event.topic == "orders"
    ]
    assert {row for row in journal if row[1]} <= set(reports), "nothing is stored that nobody reported"
    caller.commit(GROUP, "orders", 0, 10)
    assert caller.stored_offset(GROUP, "orders", 0) == 10, "the last one counts, be it smaller"
    world.act("CrashActor", actor="A")
    world.run(1)
    assert caller.stored_offset(GROUP, "orders", 0) == 10
    wire = WireLog(world)
    world.act("StartConsumer", actor="B", group=GROUP, subscriptions=ORDERS, work_ms=[1])
    world.run(3)
    asked = [
        frame
        for frame in wire.requests(QUERY)
        if QueryOffsetHeader.from_ext(frame.command.ext)[:3] == (GROUP, "orders", 0)
    ]
    assert len(asked) == 1
    assert start_offsets(world, "B")[0] == 10
    assert consumed(world, "B") == ["m-2"] * 2
    world.run(10)
    assert caller.stored_offset(GROUP, "orders", 0) == 12
