"""Messages that were not answered OK."""

from sandbox.store.unanswered import Unanswered


def test_offsets_are_unanswered_until_a_sender_is_answered() -> None:
    unanswered = Unanswered()
    unanswered.add((0, 100, 200), flushed=0)
    unanswered.answered((100,))
    assert [offset in unanswered for offset in (0, 100, 200, 300)] == [True, False, True, False]


def test_what_is_flushed_is_forgotten_once_there_is_much() -> None:
    unanswered = Unanswered()
    for offset in range(5_000):
        unanswered.add((offset,), flushed=4_000)
    assert 4_500 in unanswered
    assert 17 not in unanswered, "durable: whether somebody was told is no question any more"
