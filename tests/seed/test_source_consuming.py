"""The results of a batch: threads, statuses, offsets, and queues that move during processing."""

from collections import Counter
from typing import Any

import pytest

from sandbox.journal.events import MembersNotified, MessagesConsumed, QueuesAssigned, QueueTaken
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import UnregisterClientHeader, UpdateOffsetHeader
from sandbox.simulation.world import World
from tests.seed.stage import WireLog

GROUP = "clerks"
COMMIT, BACK, BYE = (
    RequestCode.UPDATE_CONSUMER_OFFSET,
    RequestCode.CONSUMER_SEND_MSG_BACK,
    RequestCode.UNREGISTER_CLIENT,
)


def join(world: World, **fields: Any) -> None:
    world.act("StartConsumer", **{"group": GROUP, "subscriptions": [["orders", "*"]], "work_ms": [1], **fields})
    world.run(2)


def rows(world: World) -> dict[str, dict[str, Any]]:
    return dict(world.read(f"board/{GROUP}/orders").data["queues"])


def in_memory(world: World, queue: str) -> str | None:
    value: str | None = rows(world)[queue]["in_memory"]
    return value


def consumed(world: World, *, since: int = 0) -> list[MessagesConsumed]:
    return [entry.event for entry in world.entries(MessagesConsumed, since=since) if entry.event.topic == "orders"]


@pytest.mark.seed("4.18", "D39")
def test_the_offset_moves_after_a_failure_that_was_sent_back_as_after_a_success(world: World) -> None:
    join(world)
    world.act("ChangeActor", actor="A", handler="reject bad")
    world.run(12)
    wire, since = WireLog(world), world.cluster.journal.next_seq
    for key in ("good", "bad", "good"):
        world.act("SendMessages", topic="orders", queue="broker-a:0", count=1, key=key)
    world.run(0.1)
    assert Counter(event.outcome for event in consumed(world, since=since)) == {"SUCCESS": 2, "LATER": 1}
    assert len(wire.requests(BACK)) == len(wire.answers(BACK)) == 1, "sent back, and taken"
    assert in_memory(world, "broker-a:0") == "3", "all three are behind us"
    world.run(10)
    reported = [
        header.commit_offset
        for frame in wire.requests(COMMIT)
        if ((header := UpdateOffsetHeader.from_ext(frame.command.ext or {})).topic, header.queue_id) == ("orders", 0)
    ]
    assert reported[-1] == 3


@pytest.mark.seed("4.18", "D39")
def test_a_failure_that_no_broker_takes_back_keeps_the_offset(world: World) -> None:
    """The broker hangs: neither 36 nor the send to the retry topic gets through, so the message is not finished."""
    join(world)
    world.act("ChangeActor", actor="A", handler="reject bad", work_ms=[3_000])
    world.run(12)
    for key in ("bad", "good"):
        world.act("SendMessages", topic="orders", queue="broker-a:0", count=1, key=key)
    world.run(0.5)
    world.act("HangBroker", broker="broker-a")
    world.run(30)
    assert Counter(key for event in consumed(world) for key in event.keys if event.outcome == "LATER")["bad"] >= 2
    client_id = world.cluster.actors.get("A").client_id.replace("@", "%40").replace("#", "%23")
    row = world.read(f"client/{client_id}").data["queues"]["orders/broker-a/0"]
    assert (row["in_memory"], row["runs"]) == ("0", [["0", "0"]])
    assert row["done_ahead"] == 1


@pytest.mark.seed("4.20", "D40")
def test_who_stops_unregisters_last_and_the_others_take_its_queues_at_once(world: World) -> None:
    join(world)
    join(world)
    world.run(22)
    world.act("SendMessages", topic="orders", count=20)
    world.run(1)
    wire, since, now_ms = WireLog(world), world.cluster.journal.next_seq, world.cluster.clock.now_ms()
    gone = world.cluster.actors.get("B").client_id
    world.act("StopActor", actor="B")
    world.run(0.5)
    byes = wire.requests(BYE, sender=prefix_of_id(gone))
    own = [frame for frame in byes if UnregisterClientHeader.from_ext(frame.command.ext or {}).consumer_group == GROUP]
    commits = wire.requests(COMMIT, sender=prefix_of_id(gone))
    assert len(own) == 1
    assert wire.frames.index(commits[-1]) < wire.frames.index(own[0])
    [notice] = [entry for entry in world.entries(MembersNotified, since=since) if entry.event.group == GROUP]
    assert gone not in notice.event.members
    taken = [entry for entry in world.entries(QueueTaken, since=since) if entry.event.topic == "orders"]
    assert {(entry.event.queue_id, entry.event.start_offset) for entry in taken} == {(2, 5), (3, 5)}
    assert {entry.at_ms for entry in (notice, *taken)} == {now_ms}
    assert {entry.event.trigger for entry in world.entries(QueuesAssigned, since=since)} == {"notified"}
    world.act("SendMessages", topic="orders", count=20)
    world.run(1)
    assert len(consumed(world)) == 40, "nothing twice"


def prefix_of_id(client_id: str) -> str:
    return client_id.split("@")[0] + ":"


@pytest.mark.seed("4.26")
@pytest.mark.parametrize("listener", ["concurrent", "orderly"])
def test_after_a_queue_was_dropped_its_messages_are_given_to_no_listener_here(world: World, listener: str) -> None:
    """One thread, ten messages a queue: what waits for it is thrown away, what it does then counts for nothing."""
    join(world, listener=listener, threads=1, work_ms=[400])
    world.run(12)
    for queue_id in (3, 0):
        world.act("SendMessages", topic="orders", queue=f"broker-a:{queue_id}", count=10, key=f"q{queue_id}-{{n}}")
        world.run(0.5)
    joined_ms = world.cluster.clock.now_ms()
    join(world, listener=listener, threads=1, work_ms=[1])
    first, second = (world.cluster.actors.get(label).client_id for label in "AB")
    world.run(60)
    late = [
        event
        for event in consumed(world)
        if (event.client_id, event.queue_id) == (first, 3) and event.started_ms > joined_ms
    ]
    assert late == [], "no call after the drop"
    assert any(
        event.client_id == first and event.queue_id == 0 and event.started_ms > joined_ms for event in consumed(world)
    ), "while the queue it keeps goes on"
    ignored = [event for event in consumed(world) if event.outcome == "IGNORED"]
    assert [(event.client_id, event.queue_id) for event in ignored] == [(first, 3)]
    elsewhere = {key for event in consumed(world) if event.client_id == second for key in event.keys}
    counted = {key for event in consumed(world) if event.outcome == "SUCCESS" for key in event.keys}
    assert {key for event in ignored for key in event.keys} <= elsewhere, "it comes again to whom the queue belongs"
    assert counted == {f"q{queue_id}-{n}" for queue_id in (0, 3) for n in range(1, 11)}
    assert rows(world)["broker-a:3"]["committed"] == "10"
