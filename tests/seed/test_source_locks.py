"""Consuming in order: one owner of a queue, one thread at a time, one request per broker to stay the owner."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sandbox.client.config import PushConsumerConfig
from sandbox.journal.events import LockDenied, MessagesConsumed, QueueLocked, QueueTaken
from sandbox.remoting.bodies import LockBatchBody, LockedQueues
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import PullHeader
from sandbox.simulation.world import World
from tests.seed.stage import Frame, WireLog, application, broker_address, member, prefix_of

TOPIC = "payments"
GROUP = "payment-fifo"
LOCK, PULL = RequestCode.LOCK_BATCH_MQ, RequestCode.PULL_MESSAGE


def join(world: World, **fields: Any) -> None:
    world.act(
        "StartConsumer",
        **{"group": GROUP, "subscriptions": [["payments", "*"]], "listener": "orderly", "work_ms": [1], **fields},
    )


def queues_in(frame: Frame) -> list[tuple[str, str, int]]:
    return list(LockBatchBody.decode(frame.command.body).queues)


def pulled(wire: WireLog, sender: str = "") -> list[Frame]:
    return [
        frame
        for frame in wire.requests(PULL, sender=sender)
        if PullHeader.from_ext(frame.command.ext or {}).topic == "payments"
    ]


@pytest.mark.seed("4.21")
def test_a_queue_has_one_thread_at_a_time_and_not_always_the_same(world: World) -> None:
    join(world, threads=8, work_ms=[5, 300])
    world.act("StartProducer", topic="payments", actor="till", rate_per_s=20)
    looks = 0
    for _ in range(600):
        world.run(0.1)
        rows = world.read(f"locks/{GROUP}").data["queues"]
        working = [row["consuming"]["thread"] for row in rows.values() if row["consuming"] is not None]
        assert len(working) == len(set(working)), "and a thread has one queue"
        looks += len(working) > 1
    assert looks > 50, "different queues go on beside each other"
    spans: dict[int, list[tuple[int, int, int]]] = {}
    for entry in world.entries(MessagesConsumed):
        spans.setdefault(entry.event.queue_id, []).append((entry.event.started_ms, entry.at_ms, entry.event.thread))
    assert len(spans) == 4
    for work in spans.values():
        assert all(ended <= begun for (_, ended, _), (begun, _, _) in pairwise(sorted(work)))
        assert len({thread for _, _, thread in work}) > 1, "its thread's name changes"


@pytest.mark.seed("4.22")
def test_locks_are_renewed_one_second_after_the_start_and_every_twenty_seconds(world: World) -> None:
    wire, began_ms = WireLog(world), world.cluster.clock.now_ms()
    join(world)
    world.run(90)
    at_ms = [frame.at_ms - began_ms for frame in wire.requests(LOCK) if len(queues_in(frame)) > 1]
    assert at_ms == [1_000, 21_000, 41_000, 61_000, 81_000]
    how = [
        (entry.at_ms - began_ms, entry.event.how)
        for entry in world.entries(QueueLocked)
        if (entry.event.topic, entry.event.queue_id) == ("payments", 2)
    ]
    assert how == [(0, "free"), *((ms, "renewed") for ms in at_ms)]


@pytest.mark.seed("4.24")
def test_a_round_of_locking_is_one_request_to_each_broker_s_master(tmp_path: Path) -> None:
    with World(tmp_path, "cluster") as world:
        process = application(world)
        member(world, process, PushConsumerConfig(group="alone", listener="orderly"), "orders")
        world.run(35)
        wire = WireLog(world)
        world.run(20)
        mine = wire.requests(LOCK, sender="10.0.9.8:")
        assert len({frame.at_ms for frame in mine}) == 1
        assert {frame.receiver: broker_of(frame) for frame in mine} == {
            broker_address(world, "broker-a"): {"broker-a"},
            broker_address(world, "broker-b"): {"broker-b"},
        }
        assert len(mine) == 2, "the slave is asked nothing, and nobody twice"
        assert {LockBatchBody.decode(frame.command.body).client_id for frame in mine} == {process.client_id}
        held = sorted(queue for frame in mine for queue in queues_in(frame) if queue[0] == "orders")
        assert held == [("orders", broker, n) for broker in ("broker-a", "broker-b") for n in range(4)]
        answers = [LockedQueues.decode(frame.command.body) for frame in wire.answers(LOCK, receiver="10.0.9.8:")]
        assert sorted(len(answer.queues) for answer in answers) == sorted(len(queues_in(frame)) for frame in mine)


def broker_of(frame: Frame) -> set[str]:
    return {broker for _, broker, _ in queues_in(frame)}


@pytest.mark.seed("4.24")
def test_a_broker_that_does_not_answer_holds_a_round_up_for_one_second(tmp_path: Path) -> None:
    with World(tmp_path, "cluster") as world:
        process = application(world)
        clerk = member(world, process, PushConsumerConfig(group="alone", listener="orderly"), "orders")
        world.run(35)
        wire = WireLog(world)
        world.act("HangBroker", broker="broker-a")
        world.run(22)
        first, second = [frame for frame in wire.requests(LOCK, sender="10.0.9.8:") if len(queues_in(frame)) > 1][:2]
        assert (broker_of(first), broker_of(second)) == ({"broker-a"}, {"broker-b"})
        assert 1_000 <= second.at_ms - first.at_ms <= 2_000, "a timeout of 1 s, and the next scan"
        held = [pq.locked for mq, pq in clerk.process_queues.items() if mq.broker == "broker-a"]
        assert held
        assert all(held), "a call that failed changes nothing"


@pytest.mark.seed("4.25")
def test_a_second_member_with_the_same_queue_gets_nothing_of_it(world: World) -> None:
    """Both are given queue 0 by hand; who came second asks at every rebalance and is refused."""
    join(world)
    world.run(1)
    join(world)
    world.act(
        "SetStrategy", group=GROUP, strategy="CONFIG", queues_by_member={"A": ["broker-a:0"], "B": ["broker-a:0"]}
    )
    world.run(45)
    wire, since = WireLog(world), world.cluster.journal.next_seq
    world.act("SendMessages", topic="payments", queue="broker-a:0", count=20)
    world.run(70)
    first, second = (world.cluster.actors.get(label).client_id for label in "AB")
    done = [entry.event for entry in world.entries(MessagesConsumed)]
    assert {event.client_id for event in done} == {first}
    assert len(done) == 20
    assert pulled(wire, prefix_of(world, "B")) == []
    denied = [
        entry
        for entry in world.entries(LockDenied, since=since)
        if (entry.event.client_id, entry.event.topic) == (second, "payments")
    ]
    assert {(entry.event.queue_id, entry.event.holder) for entry in denied} == {(0, first)}
    rounds = sorted({entry.at_ms for entry in denied})
    assert {later - earlier for earlier, later in pairwise(rounds)} == {20_000}
    board = world.read(f"locks/{GROUP}").data["queues"]["broker-a:0"]
    assert (board["lock"]["holder"], board["waiting"]) == (first, [second])
    world.act("StopActor", actor="A")
    world.act("SendMessages", topic="payments", queue="broker-a:0", count=5)
    world.run(21)
    [taken] = [
        entry.event
        for entry in world.entries(QueueTaken)
        if (entry.event.client_id, entry.event.topic, entry.event.queue_id) == (second, "payments", 0)
    ][-1:]
    assert taken.start_offset == 20
    assert len([entry for entry in world.entries(MessagesConsumed) if entry.event.client_id == second]) == 5
