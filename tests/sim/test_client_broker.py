"""Real clients with the real broker in virtual time: what a class watches on the board."""

from collections import Counter
from itertools import pairwise

import pytest

from sandbox.journal.events import (
    LockDenied,
    MessageDeadLettered,
    QueueLocked,
)
from tests.sim.client_world import BROKER_ADDRESS, Work, World, client_world, owned

world = client_world()


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


@pytest.mark.seed("4.29", "D44")
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


@pytest.mark.seed("0.18")
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


def test_members_get_only_the_tags_they_asked_for(world: World) -> None:
    work = Work(world)
    world.consumer("a", work, expression="red || Aa")
    for tags in ("red", "blue", "Aa", "BB", ""):
        world.send(1, tags=tags)
    world.pass_s(1)
    assert sorted(work.keys) == ["k0", "k2"]
