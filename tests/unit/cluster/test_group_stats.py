"""A group's own count: rates, delays, deliveries repeated."""

import json

from sandbox.cluster.actors.group_stats import GroupStats
from sandbox.cluster.actors.redelivery import CRASH, HAND_OVER, RESET, RETRY, UNKNOWN, Ownership
from sandbox.kernel.clock import ScaledClock
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.queries.snapshot_cache import QueueRate
from sandbox.sim.loop import SimLoop

BEGIN_MS = 1_700_000_000_000
QUEUE = MessageQueue("orders", "broker-a", 0)


def message(offset: int, *, store_ms: int = BEGIN_MS) -> Message:
    made = Message.make("orders", b"x")
    made.broker, made.queue_id, made.queue_offset, made.store_ms = "broker-a", 0, offset, store_ms
    return made


def test_only_what_was_given_before_counts_as_delivered_again() -> None:
    with SimLoop() as loop:
        stats = GroupStats(ScaledClock(loop, start_ms=BEGIN_MS))
        for offset in (10, 12, 11, 15):  # threads overtake each other, filters leave gaps
            stats.delivered(QUEUE, message(offset))
        assert stats.delivered_again == 0
        for offset in (11, 15, 13, 16):
            stats.delivered(QUEUE, message(offset))
        assert stats.delivered_again == 2


def test_a_retry_was_given_before_and_broadcasting_members_count_alone() -> None:
    with SimLoop() as loop:
        stats = GroupStats(ScaledClock(loop, start_ms=BEGIN_MS))
        retried = message(0)
        retried.reconsume_times = 1
        stats.delivered(MessageQueue("%RETRY%g", "broker-a", 0), retried)
        assert stats.delivered_again == 1
        stats.delivered(QUEUE, message(0))
        assert stats.delivered_again == 1, "the retry queue's offsets are its own"
        stats.delivered(QUEUE, message(0), "A")
        stats.delivered(QUEUE, message(0), "B")
        assert stats.delivered_again == 1
        stats.delivered(QUEUE, message(0), "A")
        assert stats.delivered_again == 2


def test_a_restored_ledger_knows_what_was_given() -> None:
    with SimLoop() as loop:
        clock = ScaledClock(loop, start_ms=BEGIN_MS)
        first, second = GroupStats(clock), GroupStats(clock)
        for offset in (3, 4, 9, 4):
            first.delivered(QUEUE, message(offset))
        second.restore(json.loads(json.dumps(first.record())))
        assert second.delivered_again == 1
        for offset in (5, 9):
            second.delivered(QUEUE, message(offset))
        assert second.delivered_again == 2


def test_delays_are_from_the_store_to_the_listeners_yes() -> None:
    with SimLoop() as loop:
        stats = GroupStats(ScaledClock(loop, start_ms=BEGIN_MS))
        assert stats.delays_ms() == (None, None)
        loop.run_for(1)
        for n in range(100):
            stats.done(message(n, store_ms=BEGIN_MS + 1_000 - n))
        assert stats.delays_ms() == (49, 98)
        loop.run_for(1)
        assert stats.per_s() == 50, "a hundred in the two seconds there were"
        loop.run_for(8)
        assert stats.per_s() == 10, "a hundred in the last ten seconds"


def test_a_queues_rate_is_that_of_the_last_ten_seconds() -> None:
    rate = QueueRate()
    seen = [rate.per_s(float(second), second * 7) for second in range(60)]
    assert seen[0] is None, "there is no second sample"
    assert seen[30] == 7
    assert [rate.per_s(60.0 + second, 59 * 7) for second in range(14)][-1] == 0
    assert rate.per_s(80.0, 3) == 0, "a deleted topic begins again"


def ledger_of(loop: SimLoop) -> GroupStats:
    return GroupStats(ScaledClock(loop, start_ms=BEGIN_MS))


FIRST, SECOND, THIRD = Ownership("10.0.0.11@1", 1_000), Ownership("10.0.0.12@2", 2_000), Ownership("10.0.0.13@3", 3_000)


def test_what_a_crashed_process_had_been_given_comes_again_because_of_the_crash() -> None:
    with SimLoop() as loop:
        stats = ledger_of(loop)
        for offset in range(4):
            stats.delivered(QUEUE, message(offset), ownership=FIRST)
        stats.crashed([(QUEUE, FIRST)])
        for offset in range(2, 6):
            stats.delivered(QUEUE, message(offset), ownership=SECOND)
        assert stats.again_by_cause == {CRASH: 2}


def test_a_queue_let_go_before_the_crash_was_handed_over() -> None:
    with SimLoop() as loop:
        stats = ledger_of(loop)
        stats.delivered(QUEUE, message(0), ownership=FIRST)
        stats.delivered(QUEUE, message(0), ownership=SECOND)
        stats.crashed([(MessageQueue("orders", "broker-a", 1), FIRST)])
        stats.delivered(QUEUE, message(0), ownership=THIRD)
        assert stats.again_by_cause == {HAND_OVER: 2}


def test_in_the_same_hold_only_what_was_not_accepted_comes_again() -> None:
    with SimLoop() as loop:
        stats = ledger_of(loop)
        for _ in range(3):
            stats.delivered(QUEUE, message(7), ownership=FIRST)
        assert stats.again_by_cause == {RETRY: 2}


def test_a_reset_explains_what_it_went_over_and_the_crash_the_rest() -> None:
    with SimLoop() as loop:
        stats = ledger_of(loop)
        for offset in range(4):
            stats.delivered(QUEUE, message(offset), ownership=FIRST)
        stats.crashed([(QUEUE, FIRST)])
        stats.reset(QUEUE, 2)
        for offset in range(1, 4):
            stats.delivered(QUEUE, message(offset), ownership=SECOND)
        assert stats.again_by_cause == {RESET: 2, CRASH: 1}
        stats.crashed([(QUEUE, SECOND)])
        stats.delivered(QUEUE, message(3), ownership=THIRD)
        assert stats.again_by_cause == {RESET: 2, CRASH: 2}, "a reset explains one time, not all that follow"


def test_what_comes_again_after_the_server_was_killed_comes_because_of_the_kill() -> None:
    with SimLoop() as loop:
        before = ledger_of(loop)
        before.delivered(QUEUE, message(0), ownership=FIRST)
        for crashed, cause in ((True, CRASH), (False, HAND_OVER)):
            after = ledger_of(loop)
            after.restore(json.loads(json.dumps(before.record())), crashed=crashed)
            after.delivered(QUEUE, message(0), ownership=SECOND)
            assert after.again_by_cause == {cause: 1}


def test_an_older_file_reports_how_often_and_not_why() -> None:
    with SimLoop() as loop:
        stats = ledger_of(loop)
        stats.restore({"delivered_again": 3, "seen": []})
        assert (stats.delivered_again, stats.again_by_cause) == (3, {UNKNOWN: 3})
