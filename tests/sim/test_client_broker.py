"""Real clients with the real broker in virtual time: what a class watches on the board."""

from collections import Counter
from itertools import pairwise

import pytest

from sandbox.client.config import ConsumeFromWhere, MessageModel
from sandbox.client.push_consumer import PushConsumer
from sandbox.journal.events import (
    LockDenied,
    MemberLeft,
    MemberStateChanged,
    MessageDeadLettered,
    MessagePinned,
    OffsetCommitted,
    QueueLocked,
    QueuesAssigned,
    QueueTaken,
    QueueUnlocked,
)
from sandbox.message.queue import MessageQueue
from tests.sim.client_world import BROKER, BROKER_ADDRESS, NAME_SERVER, Work, World, client_world, owned

Q0 = MessageQueue("T", BROKER, 0)
world = client_world()


# Sharing queues.


def test_two_members_share_eight_queues_and_every_message_is_read_once(world: World) -> None:
    first, second = Work(world), Work(world)
    a = world.consumer("a", first)
    assert owned(a) == list(range(8))
    b = world.consumer("b", second)
    assert (owned(a), owned(b)) == ([0, 1, 2, 3], [4, 5, 6, 7])
    world.send(80)
    world.pass_s(1)
    assert (len(first.keys), len(second.keys)) == (40, 40)
    assert Counter(first.keys + second.keys) == Counter(f"k{i}" for i in range(80))


def test_a_third_member_moves_queues_within_a_second(world: World) -> None:
    a, b = world.consumer("a", Work(world)), world.consumer("b", Work(world))
    before_s = world.now_s
    c = world.consumer("c", Work(world))
    assert (owned(a), owned(b), owned(c)) == ([0, 1, 2], [3, 4, 5], [6, 7])
    reported = [at for at, event in world.entries(QueuesAssigned) if event.topic == "T" and at >= before_s]
    assert max(reported) - before_s < 0.1


def test_a_clean_stop_hands_over_at_once_and_repeats_nothing(world: World) -> None:
    first, second = Work(world), Work(world)
    a, b = world.consumer("a", first), world.consumer("b", second)
    world.send(80)
    world.pass_s(0.5)
    world.run(a.shutdown())
    world.pass_s(0.1)
    assert owned(b) == list(range(8))
    assert len(first.keys) + len(second.keys) == 80
    assert (a.state, a.instance.state) == ("stopped", "stopped")


def test_a_new_group_reads_a_small_backlog_from_its_start_even_from_last(world: World) -> None:
    world.send(16)
    work = Work(world)
    world.consumer("a", work, from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET)
    world.pass_s(1)
    assert len(work.keys) == 16
    traces = {event.trace for event in world.events(QueueTaken) if event.topic == "T"}
    assert traces == {("zero_in_memory",)}


def test_a_group_that_comes_back_goes_on_where_it_had_committed(world: World) -> None:
    world.send(16)
    a = world.consumer("a", Work(world))
    world.pass_s(1)
    world.run(a.shutdown())
    world.send(8)
    again = Work(world)
    world.consumer("a2", again)
    world.pass_s(1)
    assert sorted(again.keys) == sorted(f"k{i}" for i in range(16, 24))
    starts = [event.start_offset for event in world.events(QueueTaken) if event.client_id.endswith("a2")
              and event.topic == "T"]  # fmt: skip
    assert starts == [2] * 8


# Crashing and hanging.


def test_a_crash_repeats_at_most_what_was_not_committed(world: World) -> None:
    first, second = Work(world), Work(world)
    a, b = world.consumer("a", first), world.consumer("b", second)
    for _ in range(40):
        world.send(8)
        world.pass_s(0.3)
    in_doubt = a.in_doubt()
    a.crash()
    world.pass_s(2)
    assert owned(b) == list(range(8))
    seen = Counter(first.keys + second.keys)
    assert set(seen) == {f"k{i}" for i in range(320)}
    assert sum(count - 1 for count in seen.values()) <= in_doubt
    assert in_doubt <= 8  # pulls carry offsets, so it is less than the five seconds between two timers


def test_what_a_crashed_member_had_not_finished_is_delivered_again(world: World) -> None:
    first, second = Work(world), Work(world)
    first.usual_s = 30
    a = world.consumer("a", first)
    world.send(10, queue_id=0)
    world.pass_s(12)
    a.crash()
    world.consumer("b", second)
    world.pass_s(1)
    assert second.keys == [f"k{i}" for i in range(10)]
    [crashed] = [event for event in world.events(MemberStateChanged) if event.state == "crashed"]
    assert crashed.unfinished == (("T/broker-a/0", ((0, 9),)),)


def test_a_hung_member_loses_its_queues_when_the_broker_expires_it(world: World) -> None:
    a, b = world.consumer("a", Work(world)), world.consumer("b", Work(world))
    world.pass_s(10)
    hung_s = world.now_s
    a.hang()
    world.pass_s(85)
    assert owned(b) == [4, 5, 6, 7]
    world.pass_s(75)
    [(left_s, left)] = world.entries(MemberLeft)
    assert left.client_id == a.client_id
    assert left.reason in ("expired", "closed")
    assert 90 <= left_s - hung_s <= 130
    assert owned(b) == list(range(8))


def test_a_member_that_goes_on_after_hanging_joins_again(world: World) -> None:
    a, b = world.consumer("a", Work(world)), world.consumer("b", Work(world))
    world.pass_s(10)
    a.hang()
    world.pass_s(200)
    assert owned(b) == list(range(8))
    a.resume()
    world.pass_s(60)
    assert sorted(owned(a) + owned(b)) == list(range(8))
    assert len(owned(a)) == 4


def test_after_the_broker_came_back_everything_goes_on(world: World) -> None:
    work = Work(world)
    world.consumer("a", work)
    world.send(8)
    world.pass_s(6)
    world.broker.kill()
    world.network.unlisten(BROKER_ADDRESS)
    world.pass_s(20)
    world.start_broker()
    world.pass_s(40)
    world.send(8)
    world.pass_s(5)
    assert set(work.keys) == {f"k{i}" for i in range(16)}


# Order.


def test_an_orderly_group_keeps_the_order_of_every_queue_while_members_come_and_go(world: World) -> None:
    works = [Work(world, orderly=True) for _ in range(3)]
    for work in works:
        work.usual_s = 0.05
    members: list[PushConsumer] = []
    for name, work in zip("abc", works, strict=True):
        members.append(world.consumer(name, work, listener="orderly"))
        world.send(40)
        world.pass_s(3)
    world.run(members[0].shutdown())
    world.send(40)
    world.pass_s(30)
    begun = sorted((entry for work in works for entry in work.begun), key=lambda entry: entry[0])
    assert {entry[1] for entry in begun} == {f"k{i}" for i in range(160)}
    last: dict[MessageQueue, int] = {}
    for _, _, mq, offset, _ in begun:
        assert offset <= last.get(mq, -1) + 1, "a later message was begun before an earlier one"
        last[mq] = max(last.get(mq, -1), offset)


def test_a_clean_stop_in_order_unlocks_at_once(world: World) -> None:
    a = world.consumer("a", Work(world, orderly=True), listener="orderly")
    b = world.consumer("b", Work(world, orderly=True), listener="orderly")
    world.pass_s(25)
    stopped_s = world.now_s
    world.run(a.shutdown())
    world.pass_s(0.2)
    assert owned(b) == list(range(8))
    unlocked = [at for at, event in world.entries(QueueUnlocked) if event.client_id == a.client_id and at >= stopped_s]
    assert unlocked
    assert max(unlocked) - stopped_s < 0.01


@pytest.mark.parametrize("phase_s", [0.5, 7, 13, 19.5])
def test_queues_of_a_crashed_orderly_member_are_taken_over_when_its_locks_have_run_out(
    world: World, phase_s: float
) -> None:
    a = world.consumer("a", Work(world, orderly=True), listener="orderly")
    b = world.consumer("b", Work(world, orderly=True), listener="orderly")
    world.pass_s(60 + phase_s)
    mine = owned(a)
    renewed_s = max(at for at, event in world.entries(QueueLocked) if event.client_id == a.client_id)
    crashed_s = world.now_s
    a.crash()
    world.pass_s(90)
    assert owned(b) == list(range(8))
    taken = [(at, event) for at, event in world.entries(QueueLocked) if at > crashed_s and event.how == "taken_over"]
    assert sorted(event.queue_id for _, event in taken if event.topic == "T") == mine
    for at, event in taken:
        assert event.previous == a.client_id
        assert at - renewed_s > 60
        assert at - crashed_s == pytest.approx(60, abs=0.2)
    denied = {round(at - crashed_s) for at, event in world.entries(LockDenied) if at >= crashed_s}
    assert denied == {0, 20, 40}


def test_a_restarted_broker_has_lost_its_locks_and_the_holder_takes_them_again(world: World) -> None:
    a = world.consumer("a", Work(world, orderly=True), listener="orderly")
    world.pass_s(30)
    world.broker.kill()
    world.network.unlisten(BROKER_ADDRESS)
    world.pass_s(2)
    world.start_broker()
    world.pass_s(60)
    holders = {entry.client_id for entry in world.broker.locks.table["G"].values()}
    assert holders == {a.client_id}
    assert owned(a) == list(range(8))


# Slow and failing messages.


def test_one_slow_message_pins_the_offset_while_pulls_go_on(world: World) -> None:
    work = Work(world)
    work.slow["slow"] = 100
    a = world.consumer("a", work)
    world.send(1, queue_id=0, key="slow")
    for _ in range(20):
        world.send(5, queue_id=0)
        world.pass_s(1)
    assert world.broker.consumer_offsets.get("G", "T", 0) in (None, 0)
    assert a.process_queues[Q0].next_offset == 101
    assert len(work.finished) == 100
    [pinned] = world.events(MessagePinned)
    assert (pinned.offset, pinned.key) == (0, "slow")
    world.pass_s(100)
    assert world.broker.consumer_offsets.get("G", "T", 0) == 101


def test_a_message_that_always_fails_is_retried_sixteen_times_and_then_buried(world: World) -> None:
    work = Work(world)
    work.failing.add("bad")
    world.consumer("a", work)
    world.send(1, key="bad")
    world.send(1, key="good")
    world.pass_s(5 * 3600)
    tries = [(at, times) for at, key, _, _, times in work.begun if key == "bad"]
    assert [times for _, times in tries] == list(range(17))
    waits_s = [later[0] - earlier[0] for earlier, later in pairwise(tries[1:])]
    delays_s = [30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200]
    assert waits_s == pytest.approx(delays_s, abs=1.5)
    [buried] = world.events(MessageDeadLettered)
    assert buried.reconsume_times == 16
    assert world.broker.store.max_offset("%DLQ%G", 0) == 1
    assert work.keys.count("good") == 1


def test_the_first_retry_of_a_new_group_waits_for_the_route_of_its_retry_topic(world: World) -> None:
    work = Work(world)
    work.failing.add("bad")
    world.consumer("a", work)
    world.send(1, key="bad")
    world.pass_s(60)
    tries = [at for at, key, *_ in work.begun if key == "bad"]
    assert 10 <= tries[1] - tries[0] <= 51  # 10 s delay, then the 30 s route poll and the 20 s rebalance


# Broadcasting.


def test_broadcasting_delivers_every_message_to_every_member(world: World) -> None:
    works = [Work(world) for _ in range(3)]
    for name, work in zip("abc", works, strict=True):
        world.consumer(name, work, model=MessageModel.BROADCASTING)
    world.send(16)
    world.pass_s(12)
    assert all(sorted(work.keys) == sorted(f"k{i}" for i in range(16)) for work in works)
    assert sorted(world.files.content) == [
        f"10.0.1.{i}@{name}/G/offsets.json" for i, name in enumerate("abc", 1)]
    assert all(event.client_id for event in world.events(OffsetCommitted))


def test_a_broadcasting_member_goes_on_from_its_own_file(world: World) -> None:
    first = world.consumer("a", Work(world), model=MessageModel.BROADCASTING)
    world.send(16)
    world.pass_s(1)
    world.run(first.shutdown())
    world.send(8)
    work = Work(world)
    world.consumer("a", work, model=MessageModel.BROADCASTING, like=first)
    world.pass_s(1)
    assert sorted(work.keys) == sorted(f"k{i}" for i in range(16, 24))


# Filters and names.


def test_members_get_only_the_tags_they_asked_for(world: World) -> None:
    work = Work(world)
    world.consumer("a", work, expression="red || Aa")
    for tags in ("red", "blue", "Aa", "BB", ""):
        world.send(1, tags=tags)
    world.pass_s(1)
    assert sorted(work.keys) == ["k0", "k2"]


def test_without_its_name_server_a_running_group_goes_on(world: World) -> None:
    work = Work(world)
    world.consumer("a", work)
    world.send(1)
    world.network.unlisten(NAME_SERVER)
    world.name_server.stop()
    world.pass_s(300)
    world.send(8)
    world.pass_s(1)
    assert len(work.keys) == 9


def test_the_same_run_gives_the_same_transcript_twice() -> None:
    def transcript() -> list[str]:
        world = World()
        a = world.consumer("a", Work(world))
        world.consumer("b", Work(world, orderly=False))
        world.send(30)
        world.pass_s(12)
        a.crash()
        world.pass_s(30)
        reported = [str(entry) for entry in world.journal.since(0)]
        world.loop.close()
        return reported

    assert transcript() == transcript()
