"""Offsets during a rebalance: of a released queue, of an acquired one, and the additions of ordered consumption."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.client.config import PushConsumerConfig
from sandbox.client.push_consumer import PushConsumer
from sandbox.journal.events import QueueDropped, QueueTaken
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import LockBatchBody
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import PullHeader, QueryOffsetHeader, UpdateOffsetHeader
from sandbox.simulation.world import World
from tests.seed.stage import Caller, Listener, WireLog, application, broker_address, member

QUERY, COMMIT, PULL = (RequestCode.QUERY_CONSUMER_OFFSET, RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.PULL_MESSAGE)
LOCK, UNLOCK = RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ
FIRST, SECOND = "10.0.9.1", "10.0.9.2"
QUEUES = [MessageQueue("orders", "broker-a", n) for n in range(4)]


def clerk(world: World, ip: str, *, hears: Listener | None = None, **config: Any) -> PushConsumer:
    """A member of the group on a machine of its own; the first gives queues 2 and 3 to the second."""
    return member(
        world,
        application(world, f"at {ip}", ip=ip),
        PushConsumerConfig(group="clerks", **config),
        "orders",
        listener=hears,
    )


def sent(wire: WireLog, ip: str) -> list[tuple[int, int, int, int]]:
    """Return that machine's requests about `orders` (offsets, locks, messages): time, code, queue id, offset or −1."""
    found = []
    for frame in wire.frames:
        if frame.answer or not frame.sender.startswith(f"{ip}:"):
            continue
        ext = frame.command.ext or {}
        if frame.code in (LOCK, UNLOCK):
            queues = LockBatchBody.decode(frame.command.body).queues
            found += [(frame.at_ms, frame.code, queue_id, -1) for topic, _, queue_id in queues if topic == "orders"]
        elif frame.code in (QUERY, COMMIT, PULL) and ext["topic"] == "orders":
            header: Any = {QUERY: QueryOffsetHeader, COMMIT: UpdateOffsetHeader, PULL: PullHeader}[
                RequestCode(frame.code)
            ].from_ext(ext)
            offset = {
                QUERY: -1,
                COMMIT: getattr(header, "commit_offset", -1),
                PULL: getattr(header, "queue_offset", -1),
            }[RequestCode(frame.code)]
            found.append((frame.at_ms, frame.code, header.queue_id, offset))
    return found


def of_queue(wire: WireLog, ip: str, queue_id: int, *codes: int) -> list[tuple[int, int]]:
    """Code and offset, in order."""
    return [(code, offset) for _, code, at, offset in sent(wire, ip) if at == queue_id and code in codes]


@pytest.mark.seed("2.12", "4.13", "D43")
@pytest.mark.parametrize(
    ("listener", "asked"),
    [
        ("concurrent", [(QUERY, -1), (PULL, 10)]),
        pytest.param("orderly", [(LOCK, -1), (QUERY, -1), (QUERY, -1), (PULL, 10)], id="orderly: lock first"),
    ],
)
def test_of_a_queue_that_comes_the_broker_is_asked_whatever_memory_says(
    world: World, listener: str, asked: list[tuple[int, int]]
) -> None:
    """Orderly members request the offset twice: at the acquisition, and before the first pull under the lock."""
    world.act("SendMessages", topic="orders", count=40)
    caller = Caller(world, broker_address(world))
    for queue_id in range(4):
        caller.commit("clerks", "orders", queue_id, 7)
    first, second = (clerk(world, ip, listener=listener) for ip in (FIRST, SECOND))
    world.run(25)
    assert sorted(mq.queue_id for mq in second.process_queues if mq.topic == "orders") == [2, 3]
    for mq in QUEUES[2:]:
        first.offset_store.update_offset(mq, 999, increase_only=False)
    wire, since = WireLog(world), world.cluster.journal.next_seq
    world.environment.sim.run(second.shutdown())
    world.run(1)
    for mq in QUEUES[2:]:
        assert of_queue(wire, FIRST, mq.queue_id, LOCK, QUERY, PULL) == asked
        assert first.status("orders")[mq] == 10
    begun = {
        entry.event.queue_id: (entry.event.start_offset, entry.event.trace)
        for entry in world.entries(QueueTaken, since=since)
        if entry.event.topic == "orders"
    }
    assert begun == {2: (10, ("stored",)), 3: (10, ("stored",))}


@pytest.mark.seed("2.12", "4.13", "D43")
@pytest.mark.parametrize("listener", ["concurrent", "orderly"])
def test_cached_offsets_of_an_acquired_queue_are_dropped_even_without_a_stored_offset(
    tmp_path: Path, listener: str
) -> None:
    """Old messages lie beyond what the small memory holds, so the broker answers "not found"."""
    with World(tmp_path, preset="teaching") as world:
        world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
        world.run(1)
        world.act("SendMessages", topic="orders", count=100, body_bytes=4_000)
        world.run(1)
        first = clerk(world, FIRST, listener=listener)
        world.run(2)
        second = clerk(world, SECOND, listener=listener)
        world.run(2)
        assert first.status("orders") == {}
        for mq in QUEUES[2:]:
            first.offset_store.update_offset(mq, 999, increase_only=False)
        since = world.cluster.journal.next_seq
        world.environment.sim.run(second.shutdown())
        world.run(1)
        begun = {
            entry.event.queue_id: (entry.event.start_offset, entry.event.trace)
            for entry in world.entries(QueueTaken, since=since)
            if entry.event.topic == "orders"
        }
        assert begun == {2: (25, ("not_found", "max")), 3: (25, ("not_found", "max"))}
        assert first.status("orders") == {}, "the dirty offsets are gone"
        world.run(40)
        caller = Caller(world, broker_address(world))
        assert [caller.stored_offset("clerks", "orders", n) for n in (2, 3)] == [25, 25]


@pytest.mark.seed("2.13", "4.22")
@pytest.mark.parametrize(("listener", "extra"), [("concurrent", []), ("orderly", [UNLOCK])])
def test_in_order_a_queue_that_goes_is_unlocked_too(world: World, listener: str, extra: list[int]) -> None:
    clerk(world, FIRST, listener=listener)
    world.run(11)
    world.act("SendMessages", topic="orders", count=20)
    world.run(1)
    wire = WireLog(world)
    joined_ms = world.cluster.clock.now_ms()
    clerk(world, SECOND, listener=listener)
    world.run(1)
    for queue_id in (2, 3):
        assert [code for code, _ in of_queue(wire, FIRST, queue_id, COMMIT, UNLOCK)] == [COMMIT, *extra]
    unlocks = wire.requests(UNLOCK)
    assert {frame.at_ms - joined_ms for frame in unlocks} <= {0}
    assert all(frame.command.is_oneway for frame in unlocks)
    assert bool(wire.requests(LOCK, sender=SECOND)) is (listener == "orderly")


@pytest.mark.seed("2.13")
def test_a_queue_whose_listener_is_at_work_for_more_than_a_second_goes_with_a_later_round(world: World) -> None:
    """The consume lock is tried for one second; without it the queue stays, dropped, until the next rebalance."""
    slow = Listener(world, work_s=5)
    first = clerk(world, FIRST, listener="orderly", hears=slow)
    world.run(11)
    world.act("SendMessages", topic="orders", queue="broker-a:3", count=1)
    world.run(0.5)
    wire = WireLog(world)
    joined_ms = world.cluster.clock.now_ms()
    clerk(world, SECOND, listener="orderly")
    world.run(10)
    at_ms = {queue_id: at - joined_ms for at, code, queue_id, _ in sent(wire, FIRST) if code == UNLOCK}
    assert at_ms == {2: 0}
    assert QUEUES[3] in first.process_queues
    assert first.process_queues[QUEUES[3]].dropped
    world.run(15)
    at_ms = {queue_id: at - joined_ms for at, code, queue_id, _ in sent(wire, FIRST) if code == UNLOCK}
    assert at_ms[3] == 21_000, "20 s after the round that waited a second in vain"
    assert QUEUES[3] not in first.process_queues


@pytest.mark.seed("2.13")
def test_a_queue_with_messages_waiting_is_unlocked_twenty_seconds_after_it_went(world: World) -> None:
    """The lock is kept so that no member reads messages again that may still be processed here."""
    clerk(world, FIRST, listener="orderly", hears=Listener(world, work_s=0.6))
    world.run(11)
    world.act("SendMessages", topic="orders", queue="broker-a:3", count=4)
    world.run(0.4)
    wire = WireLog(world)
    second = clerk(world, SECOND, listener="orderly")
    world.run(45)
    [gone_ms] = [entry.at_ms for entry in world.entries(QueueDropped) if entry.event.queue_id == 3]
    [unlocked_ms] = [at for at, code, queue_id, _ in sent(wire, FIRST) if (code, queue_id) == (UNLOCK, 3)]
    assert unlocked_ms - gone_ms == 20_000
    [taken_ms] = [
        entry.at_ms
        for entry in world.entries(QueueTaken)
        if (entry.event.queue_id, entry.event.client_id) == (3, second.client_id)
    ]
    assert taken_ms >= unlocked_ms
    refused = [at for at, code, queue_id, _ in sent(wire, SECOND) if (code, queue_id) == (LOCK, 3) and at < taken_ms]
    assert len(refused) >= 1, "its new owner asked in vain before"
