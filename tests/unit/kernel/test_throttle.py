"""A throttle, with times of its caller's."""

from sandbox.kernel.throttle import Throttle


def test_a_burst_goes_at_once_and_then_its_pace_counts() -> None:
    throttle = Throttle(2, burst=3)
    assert [throttle.take(0) for _ in range(4)] == [True, True, True, False]
    assert [throttle.take(0.25), throttle.take(0.5), throttle.take(0.5)] == [False, True, False]
    assert [throttle.take(100) for _ in range(4)] == [True, True, True, False]


def test_what_was_refused_counts_nothing_however_often_it_is_tried() -> None:
    throttle = Throttle(1)
    assert throttle.take(1000.1)
    assert not any(throttle.take(1000.1 + n / 1000) for n in range(1000))
    assert throttle.take(1001.1)


def test_a_reservation_says_when_its_turn_comes() -> None:
    throttle = Throttle(8, burst=2)
    assert [throttle.wait_s(5) for _ in range(4)] == [0, 0, 0.125, 0.25]
    assert not throttle.take(5.25), "what comes until then is reserved"
    assert throttle.take(5.375)


def test_keys_do_not_slow_each_other_and_the_one_asked_for_longest_ago_is_forgotten() -> None:
    throttle = Throttle(1, keys=2)
    assert [throttle.take(0, key) for key in ("a", "b", "a", "c", "a", "b")] == [True, True, False, True, False, True]
    assert len(throttle) == 2
