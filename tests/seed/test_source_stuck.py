"""Order before availability: the time a queue is stopped after its owner ends, and settings that change it."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.client.config import PushConsumerConfig
from sandbox.journal.events import (
    LockDenied,
    MemberLeft,
    MessagesConsumed,
    QueueLocked,
    QueueTaken,
    QueueUnlocked,
)
from sandbox.remoting.codes import RequestCode
from sandbox.simulation.world import World
from tests.seed.stage import WireLog, application, broker_address, member

TOPIC = "payments"
GROUP = "payment-fifo"
UNLOCK, BYE = RequestCode.UNLOCK_BATCH_MQ, RequestCode.UNREGISTER_CLIENT


def join(world: World, **fields: Any) -> str:
    """Its client id."""
    world.act(
        "StartConsumer",
        **{"group": GROUP, "subscriptions": [["payments", "*"]], "listener": "orderly", "work_ms": [1], **fields},
    )
    return max(world.cluster.actors.consumers(GROUP), key=lambda actor: actor.label).client_id


def now_ms(world: World) -> int:
    return int(world.cluster.clock.now_ms())


def taken_ms(world: World, client_id: str, queue_id: int, after_ms: int) -> int:
    """When that member had the queue; waits for it."""

    def found() -> list[int]:
        return [
            entry.at_ms
            for entry in world.entries(QueueTaken)
            if entry.at_ms >= after_ms
            and (entry.event.client_id, entry.event.topic, entry.event.queue_id) == (client_id, "payments", queue_id)
        ]

    world.run_until(lambda: bool(found()), within_s=200, step_s=0.05)
    return found()[0]


@pytest.mark.seed("4.28")
def test_after_a_clean_stop_the_successor_starts_at_once(world: World) -> None:
    first, second = join(world), ""
    world.run(3)
    second = join(world)
    world.run(40)
    world.act("SendMessages", topic="payments", count=8)
    world.run(1)
    wire, since, stopped_ms = WireLog(world), world.cluster.journal.next_seq, now_ms(world)
    world.act("StopActor", actor="A")
    world.run(0.1)
    unlocks = [frame for frame in wire.requests(UNLOCK) if not frame.command.is_oneway]
    assert len(unlocks) == 1
    assert unlocks[0].sender.startswith(first.split("@")[0] + ":")
    [heard] = [frame for frame in wire.answers(UNLOCK) if frame.command.opaque == unlocks[0].command.opaque]
    goodbye = wire.requests(BYE, sender=unlocks[0].sender)[0]
    assert wire.frames.index(heard) < wire.frames.index(goodbye), "it waits until the broker has unlocked"
    assert {entry.event.why for entry in world.entries(QueueUnlocked, since=since)} == {"shutdown"}
    freed = {
        entry.event.queue_id for entry in world.entries(QueueUnlocked, since=since) if entry.event.topic == "payments"
    }
    assert freed == {0, 1}
    assert [taken_ms(world, second, queue_id, stopped_ms) - stopped_ms for queue_id in freed] == [0, 0]
    assert {
        entry.event.how
        for entry in world.entries(QueueLocked, since=since)
        if entry.event.queue_id in freed and entry.event.topic == "payments"
    } == {"free"}
    assert world.entries(LockDenied, since=since) == []
    world.act("SendMessages", topic="payments", queue="broker-a:0", count=1, key="next")
    world.run(0.1)
    assert [entry.event.client_id for entry in world.entries(MessagesConsumed) if "next" in entry.event.keys] == [
        second
    ]


def stuck_for_s(home: Path, phase_s: float) -> float:
    """Return how long queues are stopped after a crash `phase_s` after a renewal, without a notification."""
    with World(home) as world:
        world.act("CreateTopic", topic="payments", write_queues=4, read_queues=4)
        world.run(1)
        join(world)
        world.run(7)
        second = join(world)
        world.run(65)
        renewals = len(world.entries(QueueLocked))
        world.run_until(
            lambda: any(e.event.client_id != second for e in world.entries(QueueLocked)[renewals:]),
            within_s=21,
            step_s=0.01,
        )
        world.run(phase_s)
        crashed_ms = now_ms(world)
        since = world.cluster.journal.next_seq
        world.act("CrashActor", actor="A")
        world.cluster.network.partition(broker_address(world), second.split("@")[0], one_way=True)
        world.run(0.1)
        world.cluster.network.heal()
        stuck_ms = taken_ms(world, second, 0, crashed_ms) - crashed_ms
        left = [entry.event for entry in world.entries(MemberLeft, since=since)]
        assert {(event.reason, event.client_id == second) for event in left} == {("closed", False)}
        over = [entry.event for entry in world.entries(QueueLocked, since=since) if entry.event.how == "taken_over"]
        assert {event.client_id for event in over} == {second}
        return stuck_ms / 1000


@pytest.mark.seed("4.29", "D44")
def test_a_successor_with_a_rhythm_of_its_own_has_them_after_forty_to_eighty_seconds(tmp_path: Path) -> None:
    """It looks every 20 s, at any moment between two renewals of the other."""
    waits_s = [stuck_for_s(tmp_path / str(phase), phase) for phase in (0.2, 4, 8, 12, 16, 19.8)]
    assert all(40 <= wait <= 80 for wait in waits_s)
    assert max(waits_s) - min(waits_s) > 15, f"it depends: {waits_s}"


@pytest.mark.seed("4.29", "4.34")
@pytest.mark.parametrize(("same", "how", "waits"), [(True, "renewed", False), (False, "taken_over", True)])
def test_a_crashed_owner_that_comes_back_under_its_old_id_does_not_wait(
    world: World, same: bool, how: str, waits: bool
) -> None:
    """A new process has a new id by default, so it waits for its crashed predecessor."""
    config = PushConsumerConfig(group=GROUP, listener="orderly")
    old = application(world, "till")
    member(world, old, config, "payments")
    world.run(45)
    old.crash()
    world.run(1)
    began_ms, since = now_ms(world), world.cluster.journal.next_seq
    new = application(world, "till" if same else "till again")
    member(world, new, config, "payments")
    took_s = (taken_ms(world, new.client_id, 0, began_ms) - began_ms) / 1000
    assert (took_s > 40) is waits
    assert took_s < 80
    if not waits:
        assert took_s == 0
    first = next(
        entry.event
        for entry in world.entries(QueueLocked, since=since)
        if (entry.event.topic, entry.event.queue_id) == ("payments", 0)
    )
    assert (first.how, first.client_id) == (how, new.client_id)
    assert bool(world.entries(LockDenied, since=since)) is waits


@pytest.mark.seed("4.23", "D44")
def test_a_frozen_owner_is_replaced_when_the_broker_misses_its_heartbeats(world: World) -> None:
    """Its lock ends after 60 s, it stays in the member list for 120 s, and its expiry is not announced."""
    join(world)
    world.run(3)
    second = join(world)
    world.run(40)
    frozen = world.cluster.actors.get("A").client_id
    world.act("SendMessages", topic="payments", queue="broker-a:0", count=4)
    world.run(1)
    hung_ms, since = now_ms(world), world.cluster.journal.next_seq
    world.act("HangActor", actor="A")
    world.act("SendMessages", topic="payments", queue="broker-a:0", count=4, key="waiting")
    took_ms = taken_ms(world, second, 0, hung_ms)
    [left] = [entry for entry in world.entries(MemberLeft, since=since) if entry.event.client_id == frozen]
    assert left.event.reason == "expired"
    assert 90_000 <= left.at_ms - hung_ms <= 130_000, "120 s after its last heartbeat, at the next scan"
    assert 0 < took_ms - left.at_ms <= 20_000, "at the next look; the lock had ended long before"
    assert [entry for entry in world.entries(LockDenied, since=since) if entry.event.client_id == second] == []
    world.run(1)
    world.act("ResumeActor", actor="A")
    world.run(60)
    waiting = [entry.event for entry in world.entries(MessagesConsumed, since=since) if "waiting" in entry.event.keys]
    assert [event.outcome for event in waiting if event.client_id == second] == ["SUCCESS"] * 4
    again_ms = next(
        entry.at_ms
        for entry in world.entries(QueueLocked, since=since)
        if entry.event.queue_id == 0 and (entry.event.client_id, entry.event.topic) == (frozen, "payments")
    )
    late = [event.started_ms for event in waiting if event.client_id == frozen]
    assert all(started_ms >= again_ms for started_ms in late), "who wakes up does not trust its old lock"
    assert [
        entry.event.holder
        for entry in world.entries(LockDenied, since=since)
        if (entry.event.client_id, entry.event.queue_id) == (frozen, 0)
    ][:1] == [second]


@pytest.mark.seed("4.31")
def test_an_unlocked_queue_is_stopped_while_a_concurrent_group_continues(world: World) -> None:
    members = {"order": [join(world), join(world)]}
    for _ in range(2):
        join(world, group="payment-any", listener="concurrent")
    world.run(45)
    world.act("StartProducer", actor="till", topic="payments", rate_per_s=8)
    world.run(5)
    crashed = {
        "payment-fifo": members["order"][0],
        "payment-any": world.cluster.actors.consumers("payment-any")[0].client_id,
    }
    lost = {
        group: {mq for mq in range(4) if owner_of(world, group, mq) == client_id}
        for group, client_id in crashed.items()
    }
    began_ms, since = now_ms(world), world.cluster.journal.next_seq
    for client_id in crashed.values():
        world.act("CrashActor", actor=world.cluster.label_of(client_id))
    world.run(30)
    read: dict[str, set[int]] = {"payment-fifo": set(), "payment-any": set()}
    for entry in world.entries(MessagesConsumed, since=since):
        if entry.at_ms > began_ms:
            read[entry.event.group].add(entry.event.queue_id)
    assert all(len(queues) == 2 for queues in lost.values())
    assert read == {"payment-fifo": set(range(4)) - lost["payment-fifo"], "payment-any": set(range(4))}
    world.run(60)
    assert {
        entry.event.queue_id
        for entry in world.entries(MessagesConsumed, since=since)
        if entry.event.group == "payment-fifo"
    } == set(range(4)), "when the lock has expired"


def owner_of(world: World, group: str, queue_id: int) -> str | None:
    row = next(row for row in world.snapshot()["groups"] if row["group"] == group)
    return next(
        (queue["owner"] for queue in row["queues"] if (queue["topic"], queue["queue_id"]) == ("payments", queue_id)),
        None,
    )
