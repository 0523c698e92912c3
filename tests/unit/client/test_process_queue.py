"""The cache of one queue and the offset it lets go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.client.process_queue import ProcessQueue
from sandbox.message import properties
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue

MQ = MessageQueue("T", "b", 0)


def messages(*offsets: int) -> list[Message]:
    return [
        Message("T", b"12345", {properties.KEYS: f"k{o}", properties.MAX_OFFSET: "20"}, queue_offset=o) for o in offsets
    ]


def queue(*offsets: int) -> ProcessQueue:
    pq = ProcessQueue(MQ, now_ms=0)
    pq.put(messages(*offsets))
    return pq


@pytest.mark.seed("0.27", "D39")
def test_the_smallest_unfinished_offset_is_committed() -> None:
    pq = queue(*range(1, 11))
    assert pq.remove(messages(*range(2, 11))) == 1
    assert pq.done_ahead == 9
    assert pq.remove(messages(1)) == 11
    assert pq.done_ahead == 0
    assert pq.remove(messages(1)) == -1  # empty beforehand


def test_when_none_of_a_batch_is_finished_the_committed_offset_stays() -> None:
    """Neither the broker nor the retry topic took them: they stay cached, and nothing was finished."""
    pq = queue(10, 11)
    assert pq.remove([]) == 10
    assert pq.done_ahead == 0


def test_messages_put_twice_count_once() -> None:
    pq = queue(0, 1)
    pq.put(messages(1, 2))
    assert (pq.count, pq.bytes, pq.queue_offset_max, pq.accumulated) == (3, 15, 2, 18)


def test_waking_is_asked_for_once_until_the_cache_was_seen_empty() -> None:
    pq = ProcessQueue(MQ, now_ms=0)
    assert pq.put(messages(0, 1))
    assert not pq.put(messages(2))
    assert [m.queue_offset for m in pq.take(2)] == [0, 1]
    assert pq.commit() == 2
    assert pq.take(5)
    assert pq.commit() == 3
    assert pq.take(1) == []
    assert pq.put(messages(3))


def test_what_was_taken_goes_back_in_order() -> None:
    pq = queue(0, 1, 2, 3)
    taken = pq.take(2)
    pq.again(taken)
    assert [m.queue_offset for m in pq.take(9)] == [0, 1, 2, 3]
    pq.rollback()
    assert pq.cached == 4
    assert pq.commit() == -1


def test_cells_distinguish_done_processing_and_buffered_runs() -> None:
    pq = queue(10, 11, 12, 13, 16, 17)
    pq.begin(messages(10, 11), now_ms=5)
    pq.remove(messages(12))
    assert pq.cells() == (10, "2p1d1b2d2b")
    assert pq.oldest() == (10, "k10", 5)
    assert pq.span == 7
    assert pq.unfinished_runs() == ((10, 11), (13, 13), (16, 17))


def test_clear_forgets_everything() -> None:
    pq = queue(4, 5)
    pq.begin(messages(4), now_ms=1)
    pq.clear()
    assert (pq.count, pq.bytes, pq.span, pq.oldest(), pq.cells()) == (0, 0, 0, None, (0, ""))


@given(st.permutations(range(12)))
def test_whatever_the_order_of_finishing_nothing_unfinished_is_passed(order: list[int]) -> None:
    pq = queue(*range(12))
    unfinished = set(range(12))
    for offset in order:
        unfinished.discard(offset)
        first = min(unfinished, default=12)
        assert pq.remove(messages(offset)) == first
        assert pq.done_ahead == sum(1 for done in range(first, 12) if done not in unfinished)
