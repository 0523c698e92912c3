"""Delivery to a member: one pull per queue, which the broker answers at once or holds."""

from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from sandbox.journal.events import MessagesConsumed, QueueDropped, QueueTaken
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.headers import PullHeader, PullResponseHeader
from sandbox.simulation.world import World
from tests.seed.stage import WireLog, broker_address, prefix_of

GROUP = "order-svc"
ORDERS = [["orders", "*"]]
PULL = RequestCode.PULL_MESSAGE


def join(world: World, **fields: Any) -> None:
    world.act("StartConsumer", **{"group": GROUP, "subscriptions": ORDERS, "work_ms": [1], **fields})


class Pull(NamedTuple):
    """One request and, once it came, its answer."""

    asked_ms: int
    header: PullHeader
    answered_ms: int | None
    code: int | None
    next_offset: int | None


def pulls(wire: WireLog, sender: str, queue_id: int, topic: str = "orders") -> list[Pull]:
    """Return that client's pulls of one queue, in order; a response from before the log began is omitted."""
    found: dict[tuple[str, int], Pull] = {}
    for frame in wire.frames:
        if frame.code != PULL:
            continue
        ext = frame.command.ext or {}
        if not frame.answer and frame.sender.startswith(sender):
            header = PullHeader.from_ext(ext)
            if (header.topic, header.queue_id) == (topic, queue_id):
                found[frame.sender, frame.command.opaque] = Pull(frame.at_ms, header, None, None, None)
        elif frame.answer and (frame.receiver, frame.command.opaque) in found:
            key = frame.receiver, frame.command.opaque
            following = PullResponseHeader.from_ext(ext).next_offset if "nextBeginOffset" in ext else None
            found[key] = found[key]._replace(
                answered_ms=frame.at_ms, code=int(frame.command.code), next_offset=following
            )
    return list(found.values())


def inspector(world: World, label: str) -> dict[str, Any]:
    client_id = world.cluster.actors.get(label).client_id.replace("@", "%40").replace("#", "%23")
    return dict(world.read(f"client/{client_id}").data)


@pytest.mark.seed("1.16")
def test_every_queue_has_one_pull_in_circulation(world: World) -> None:
    wire = WireLog(world)
    join(world, from_where="CONSUME_FROM_FIRST_OFFSET")
    world.act("SendMessages", topic="orders", count=2_000, rate_per_s=50)
    world.run(70)
    for queue_id in range(4):
        asked = pulls(wire, prefix_of(world, "A"), queue_id)
        assert len(asked) > 100
        for one, following in pairwise(asked):
            assert one.answered_ms is not None
            assert one.answered_ms <= following.asked_ms, "never a second one before the first is answered"
        assert asked[-1].answered_ms is None, "and always one: it waits at the broker now"
    held = inspector(world, "A")["pending"].values()
    assert sorted(row["name"] for row in held) == ["PULL_MESSAGE"] * 5, "four queues and that of the retry topic"


@pytest.mark.seed("1.23")
def test_a_new_queue_gets_a_process_queue_and_a_pull(world: World) -> None:
    world.act("SendMessages", topic="orders", count=80)
    wire = WireLog(world)
    join(world, work_ms=[60_000], threads=1)
    world.run(0.5)
    taken = {entry.event.queue_id: entry for entry in world.entries(QueueTaken) if entry.event.topic == "orders"}
    assert sorted(taken) == [0, 1, 2, 3]
    rows = inspector(world, "A")["queues"]
    for queue_id, entry in taken.items():
        row = rows[f"orders/broker-a/{queue_id}"]
        assert (row["cached"], row["next_pull"], row["dropped"]) == (20, "20", False)
        first = pulls(wire, prefix_of(world, "A"), queue_id)[0]
        assert (first.asked_ms, first.header.queue_offset) == (entry.at_ms, entry.event.start_offset)
        assert (first.header.max_messages, first.header.sys_flag & 2) == (32, 2), "at most 32, and it may be kept"


@pytest.mark.seed("1.25", "2.12")
@pytest.mark.parametrize(("age_s", "made_anew"), [(115, False), (125, True)])
def test_a_queue_that_was_not_pulled_for_two_minutes_is_made_anew(world: World, age_s: float, made_anew: bool) -> None:
    """Responses are lost and the process is stopped for a while; brokers keep it for 120 s."""
    join(world)
    world.act("SendMessages", topic="orders", count=20)
    world.run(30)
    wire, a, broker = WireLog(world), prefix_of(world, "A"), broker_address(world)
    now_ms = world.cluster.clock.now_ms

    def pulled_ms() -> int:
        return max((pull.asked_ms for n in range(4) for pull in pulls(wire, a, n)), default=now_ms())

    def just_beaten() -> bool:
        beats = wire.requests(RequestCode.HEART_BEAT, sender=a)
        return bool(beats) and now_ms() - beats[-1].at_ms < 500 and beats[-1].at_ms - pulled_ms() > 6_000

    world.run_until(just_beaten, within_s=200)
    stalled = {pull.asked_ms for n in range(4) for pull in pulls(wire, a, n)[-1:]}
    assert len(stalled) == 1, "all four wait at the broker since then"
    world.act("HangActor", actor="A")
    world.cluster.network.partition(broker, a.strip(":"), one_way=True)
    world.run(age_s - (now_ms() - pulled_ms()) / 1000)
    world.cluster.network.heal()
    since, resumed_ms = world.cluster.journal.next_seq, now_ms()
    world.act("ResumeActor", actor="A")
    world.run(30)
    dropped = [
        (entry.event.queue_id, entry.event.reason)
        for entry in world.entries(QueueDropped, since=since)
        if entry.event.topic == "orders"
    ]
    taken = {
        entry.event.queue_id: (entry.event.start_offset, entry.at_ms - resumed_ms)
        for entry in world.entries(QueueTaken, since=since)
        if entry.event.topic == "orders"
    }
    assert dropped == ([(n, "idle") for n in range(4)] if made_anew else [])
    assert taken == (dict.fromkeys(range(4), (5, 0)) if made_anew else {}), "in the same round"
    following = [next(pull for pull in pulls(wire, a, n) if pull.asked_ms >= resumed_ms) for n in range(4)]
    assert {pull.header.queue_offset for pull in following} == {5}
    assert {pull.asked_ms - resumed_ms for pull in following} == ({0} if made_anew else {1_000})
    world.act("SendMessages", topic="orders", count=20)
    world.run(1)
    got = [key for entry in world.entries(MessagesConsumed, since=since) for key in entry.event.keys]
    assert len(got) == len(set(got)) == 20


@pytest.mark.seed("1.26", "4.15")
def test_a_lost_answer_costs_the_wait_for_it_and_the_pull_goes_on(world: World) -> None:
    join(world)
    world.run(41)
    wire = WireLog(world)
    world.run(25)
    a = prefix_of(world, "A")
    world.cluster.network.partition(broker_address(world), a.strip(":"), one_way=True)
    world.act("SendMessages", topic="orders", queue="broker-a:0", count=1, key="news")
    world.run(0.1)
    world.cluster.network.heal()
    [lost] = [pull for pull in pulls(wire, a, 0) if pull.code == ResponseCode.SUCCESS]
    world.run(10)
    waiting = [row for row in inspector(world, "A")["pending"].values() if row["since_ms"] == lost.asked_ms]
    assert len(waiting) >= 1, "its number still stands in the table of requests"
    assert [entry for entry in world.entries(MessagesConsumed) if "news" in entry.event.keys] == []
    world.run(30)
    following = next(pull for pull in pulls(wire, a, 0) if pull.asked_ms > lost.asked_ms)
    assert 32_000 <= following.asked_ms - lost.asked_ms <= 33_000, (
        "30 s and one more, the next scan of the table within a second, and 1 s of rest after a failure"
    )
    assert following.header.queue_offset == lost.header.queue_offset, "it asks for the same again"
    [done] = [entry for entry in world.entries(MessagesConsumed) if "news" in entry.event.keys]
    assert done.at_ms - following.asked_ms < 100
    old = [row for row in inspector(world, "A")["pending"].values() if row["since_ms"] <= lost.asked_ms]
    assert old == [], "and the table is clean"
    others = [pull.answered_ms - pull.asked_ms for pull in pulls(wire, a, 1) if pull.answered_ms is not None]
    assert max(others) <= 20_000, "no other queue waited for it"


@pytest.mark.seed("4.15", "D38", "4.14")
def test_after_no_new_and_after_no_matched_message_the_next_pull_goes_out_at_once(world: World) -> None:
    """The tag matches no message: 19 without new messages, 20 with others."""
    join(world, subscriptions=[["orders", "red"]])
    world.run(1)
    wire = WireLog(world)
    world.run(60)
    world.act("SendMessages", topic="orders", queue="broker-a:0", count=50, tag="blue")
    world.run(60)
    world.act("SendMessages", topic="orders", queue="broker-a:0", count=5, tag="blue")
    world.run(10)
    asked = pulls(wire, prefix_of(world, "A"), 0)
    seen: dict[int, list[int]] = {}
    for one, following in pairwise(asked):
        assert one.code is not None
        assert one.answered_ms is not None
        seen.setdefault(one.code, []).append(following.asked_ms - one.answered_ms)
        assert following.header.queue_offset == one.next_offset
    assert set(seen) == {ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY}
    assert len(seen[ResponseCode.PULL_RETRY_IMMEDIATELY]) == 2
    assert {wait_ms for waits in seen.values() for wait_ms in waits} == {0}, "the waiting happens at the broker"
