"""One queue of the journal: its ends, and the store times of its messages."""

import random

from sandbox.pipeline.lag.queue_ends import RUNS_KEPT, QueueEnds


def test_times_are_those_of_the_turn_a_message_came_in() -> None:
    queue = QueueEnds(0, 0)
    queue.stored(0, 3, 100)
    queue.stored(3, 1, 250)
    assert [queue.stored_ms(offset) for offset in (0, 2, 3)] == [100, 100, 250]
    assert (queue.max_offset, queue.produced) == (4, 4)


def test_a_repeated_turn_counts_once() -> None:
    queue = QueueEnds(0, 0)
    for _ in range(2):
        queue.stored(0, 3, 100)
    assert (queue.max_offset, queue.produced) == (3, 3)


def test_a_missing_event_has_no_time_and_makes_the_count_unknown() -> None:
    queue = QueueEnds(0, 0)
    queue.stored(0, 2, 100)
    queue.stored(5, 1, 300)
    assert (queue.max_offset, queue.produced) == (6, None)
    assert [queue.stored_ms(offset) for offset in (1, 2, 4, 5)] == [100, None, None, 300]


def test_a_queue_that_was_lost_is_known_again_with_its_next_message() -> None:
    queue = QueueEnds(0, 0)
    queue.stored(0, 9, 100)
    queue.lose()
    assert (queue.max_offset, queue.stored_ms(3)) == (None, None)
    queue.stored(7, 2, 200)  # its log was cut
    assert (queue.max_offset, queue.stored_ms(6), queue.stored_ms(8)) == (9, None, 200)


def test_a_keyframe_that_agrees_changes_nothing() -> None:
    queue = QueueEnds(0, 0)
    queue.stored(0, 4, 100)
    queue.ends_at(4, counted=False)
    assert (queue.produced, queue.stored_ms(2)) == (4, 100)


def test_far_behind_the_wait_is_at_most_a_thousandth_too_long() -> None:
    draw = random.Random(1)
    for gap_ms in (1, 50, 5_000):
        queue, times, now_ms = QueueEnds(0, 0), [], 0
        for offset in range(30_000):
            now_ms += draw.randrange(1, 2 * gap_ms) if draw.random() < 0.9 else 20 * gap_ms
            queue.stored(offset, 1, now_ms)
            times.append(now_ms)
        longest_ms = now_ms - times[0]
        for offset, stored_ms in enumerate(times):
            reported_ms = queue.stored_ms(offset)
            assert reported_ms is not None
            assert 0 <= stored_ms - reported_ms <= longest_ms / 1_000
        assert len(queue.to_json()[3]) <= RUNS_KEPT


def test_times_that_no_group_needs_are_dropped() -> None:
    queue = QueueEnds(0, 0)
    for offset in range(100):
        queue.stored(offset, 1, offset * 10)
    queue.forget_below(60)
    assert (queue.stored_ms(59), queue.stored_ms(60)) == (None, 600)
    assert len(queue.to_json()[3]) == 40
    assert QueueEnds.from_json(queue.to_json()).stored_ms(99) == 990
