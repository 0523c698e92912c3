"""A wrong wall clock says another time, and lets as much of it pass."""

from sandbox.kernel.clock import ScaledClock
from sandbox.kernel.skewed_clock import SkewedClock
from sandbox.sim.loop import SimLoop


def test_moments_are_wrong_and_durations_are_right() -> None:
    loop = SimLoop()
    right = ScaledClock(loop, start_ms=1_000_000)
    wrong = SkewedClock(right, -250_000)
    rang: list[tuple[int, int]] = []
    wrong.call_later(2, lambda: rang.append((right.now_ms(), wrong.now_ms())))
    loop.run_for(5)
    assert rang == [(1_002_000, 752_000)]
    assert wrong.monotonic() == right.monotonic()
    assert wrong.ms_at(1.5) == right.ms_at(1.5) - 250_000


def test_setting_it_right_moves_no_timer() -> None:
    loop = SimLoop()
    wrong = SkewedClock(ScaledClock(loop, start_ms=0), 60_000)
    rang: list[float] = []
    wrong.call_later(10, lambda: rang.append(loop.time()))
    loop.run_for(4)
    wrong.skew_ms = 0
    loop.run(wrong.sleep(7))
    assert rang == [10]
    assert wrong.now_ms() == 11_000
