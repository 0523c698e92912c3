"""Queue locks, as members of an orderly group meet them."""

import pytest

from sandbox.broker.rebalance_lock import RebalanceLockManager
from sandbox.journal.events import LockDenied, LocksLost, QueueLocked, QueueUnlocked
from sandbox.message.queue import MessageQueue
from tests.unit.broker.world import Time

Q0, Q1 = MessageQueue("orders", "broker-a", 0), MessageQueue("orders", "broker-a", 1)


@pytest.fixture
def locks(time: Time) -> RebalanceLockManager:
    return RebalanceLockManager(time.clock, time.journal)


def test_a_free_queue_goes_to_who_asks_first(time: Time, locks: RebalanceLockManager) -> None:
    assert locks.try_lock_batch("g", "c1", [Q0]) == [Q0]
    assert locks.try_lock_batch("g", "c2", [Q0, Q1]) == [Q1]
    denied = time.events(LockDenied)
    assert [(d.client_id, d.holder, d.left_ms) for d in denied] == [("c2", "c1", 60_000)]


def test_groups_do_not_meet_in_the_lock_table(locks: RebalanceLockManager) -> None:
    assert locks.try_lock_batch("g", "c1", [Q0]) == [Q0]
    assert locks.try_lock_batch("h", "c2", [Q0]) == [Q0]


def test_renewal_keeps_the_lock_beyond_its_first_minute(time: Time, locks: RebalanceLockManager) -> None:
    granted_ms = time.clock.now_ms()
    locks.try_lock_batch("g", "c1", [Q0])
    for _ in range(4):
        time.pass_s(20)
        assert locks.try_lock_batch("g", "c1", [Q0]) == [Q0]
    assert locks.try_lock_batch("g", "c2", [Q0]) == []
    assert locks.table["g"][Q0].granted_ms == granted_ms
    assert [e.how for e in time.events(QueueLocked)] == ["free", *["renewed"] * 4]


@pytest.mark.seed("4.23")
def test_a_crashed_owner_protects_its_queue_for_exactly_a_minute(time: Time, locks: RebalanceLockManager) -> None:
    locks.try_lock_batch("g", "c1", [Q0])
    time.pass_s(60)
    assert locks.try_lock_batch("g", "c2", [Q0]) == []
    time.pass_s(0.001)
    assert locks.holder("g", Q0) is None
    assert locks.try_lock_batch("g", "c2", [Q0]) == [Q0]
    taken = time.events(QueueLocked)[-1]
    assert (taken.how, taken.previous, taken.client_id) == ("taken_over", "c1", "c2")


def test_unlock_gives_back_only_what_the_client_holds(time: Time, locks: RebalanceLockManager) -> None:
    locks.try_lock_batch("g", "c1", [Q0])
    locks.unlock_batch("g", "c2", [Q0], why="rebalance")
    assert locks.holder("g", Q0) is not None
    locks.unlock_batch("g", "c1", [Q0], why="shutdown")
    assert locks.table == {}
    assert [(e.client_id, e.why) for e in time.events(QueueUnlocked)] == [("c1", "shutdown")]


def test_locks_of_queues_that_are_not_asked_for_are_untouched(locks: RebalanceLockManager) -> None:
    locks.try_lock_batch("g", "c1", [Q0, Q1])
    assert locks.try_lock_batch("g", "c1", [Q1]) == [Q1]
    assert set(locks.table["g"]) == {Q0, Q1}


def test_a_restart_loses_every_lock_and_says_so(time: Time, locks: RebalanceLockManager) -> None:
    locks.try_lock_batch("g", "c1", [Q0, Q1])
    locks.lose_all("broker-a")
    assert locks.table == {}
    assert time.events(LocksLost) == [LocksLost(broker="broker-a", count=2)]
    locks.lose_all("broker-a")
    assert len(time.events(LocksLost)) == 1


def test_a_teacher_can_force_a_lock_open(time: Time, locks: RebalanceLockManager) -> None:
    locks.try_lock_batch("g", "c1", [Q0])
    assert locks.force_unlock("g", Q0) is not None
    assert locks.force_unlock("g", Q0) is None
    assert time.events(QueueUnlocked)[0].why == "forced"


def test_attempts_report_who_asked_in_vain(locks: RebalanceLockManager) -> None:
    locks.try_lock_batch("g", "c1", [Q0])
    locks.try_lock_batch("g", "c2", [Q0])
    assert [(a.client_id, a.granted, a.holder) for a in locks.attempts] == [("c1", True, "c1"), ("c2", False, "c1")]
