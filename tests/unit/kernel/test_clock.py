"""One clock for everything below the web: life, slow motion, fast, pause and step."""

import asyncio
from collections.abc import Iterator

import pytest

from sandbox.kernel import clock as clock_module
from sandbox.kernel.clock import ScaledClock
from sandbox.sim.loop import SimLoop

START_MS = 1_700_000_000_000


@pytest.fixture
def loop() -> Iterator[SimLoop]:
    with SimLoop() as loop:
        yield loop


@pytest.fixture
def clock(loop: SimLoop) -> ScaledClock:
    return ScaledClock(loop, start_ms=START_MS)


def at(clock: ScaledClock, seen: list[int], delay: float) -> None:
    """Note the clock's milliseconds since the start when `delay` is over."""
    clock.call_later(delay, lambda: seen.append(clock.now_ms() - START_MS))


def test_at_rate_one_clock_and_loop_agree(loop: SimLoop, clock: ScaledClock) -> None:
    loop.run_for(12.345)
    assert clock.now_ms() == START_MS + 12_345
    assert clock.monotonic() == pytest.approx(12.345)


@pytest.mark.parametrize(("rate", "loop_seconds"), [(0.1, 100.0), (1.0, 10.0), (60.0, 10 / 60)])
def test_a_timer_fires_when_its_virtual_time_has_come(loop: SimLoop, rate: float, loop_seconds: float) -> None:
    clock, seen = ScaledClock(loop, start_ms=START_MS, rate=rate), []
    at(clock, seen, 10)
    loop.run_for(loop_seconds * 0.999)
    assert seen == []
    loop.run_for(loop_seconds * 0.001 + 1e-6)
    assert seen == [10_000]


def test_a_change_of_rate_moves_timers_that_already_wait(loop: SimLoop, clock: ScaledClock) -> None:
    seen: list[int] = []
    at(clock, seen, 100)
    loop.run_for(40)
    clock.set_rate(60)
    loop.run_for(1)
    assert seen == [100_000]
    assert clock.now_ms() == START_MS + 100_000


def test_pause_stops_time_and_going_on_loses_none(loop: SimLoop, clock: ScaledClock) -> None:
    seen: list[int] = []
    at(clock, seen, 5)
    loop.run_for(4)
    clock.set_rate(0)
    loop.run_for(1000)
    assert (seen, clock.now_ms()) == ([], START_MS + 4000)
    clock.set_rate(1)
    loop.run_for(1)
    assert seen == [5000]


def test_a_rate_below_zero_is_refused(clock: ScaledClock) -> None:
    with pytest.raises(ValueError, match="rate must not be negative, got -1"):
        clock.set_rate(-1)


def test_timers_run_in_order_of_time_then_age(loop: SimLoop, clock: ScaledClock) -> None:
    seen: list[str] = []
    for name, delay in (("c", 2.0), ("a", 1.0), ("d", 2.0), ("b", 1.0), ("now", -5.0)):
        clock.call_later(delay, lambda name=name: seen.append(name))
    loop.run_for(3)
    assert seen == ["now", "a", "b", "c", "d"]


def test_a_cancelled_timer_never_fires_and_may_be_cancelled_twice(loop: SimLoop, clock: ScaledClock) -> None:
    seen: list[int] = []
    timer = clock.call_later(1, lambda: seen.append(1))
    timer.cancel()
    timer.cancel()
    loop.run_for(2)
    assert seen == []


def test_cancelling_after_the_timer_fired_does_nothing(loop: SimLoop, clock: ScaledClock) -> None:
    timer = clock.call_later(1, lambda: None)
    loop.run_for(2)
    timer.cancel()
    assert clock._cancelled == 0


def test_the_heap_is_swept_when_most_of_it_is_cancelled(loop: SimLoop, clock: ScaledClock) -> None:
    seen: list[int] = []
    at(clock, seen, 500)
    for timer in [clock.call_later(1000 + n, lambda: None) for n in range(10_000)]:
        timer.cancel()
    assert len(clock._timers) < 200
    loop.run_for(500)
    assert seen == [500_000]


def test_a_step_runs_what_is_due_at_its_own_time_and_leaves_the_clock_paused(loop: SimLoop, clock: ScaledClock) -> None:
    seen: list[int] = []
    for delay in (1, 2, 31):
        at(clock, seen, delay)
    clock.step(30)
    assert clock.stepping
    loop.run_until_idle()
    assert (seen, clock.now_ms() - START_MS, clock.rate, clock.stepping) == ([1000, 2000], 30_000, 0, False)
    loop.run_for(60)
    assert clock.now_ms() - START_MS == 30_000


def test_what_a_step_starts_is_part_of_the_step(loop: SimLoop, clock: ScaledClock) -> None:
    seen: list[int] = []

    async def wait_thrice() -> None:
        for _ in range(3):
            await clock.sleep(1)
            seen.append(clock.now_ms() - START_MS)

    task = loop.create_task(wait_thrice())
    clock.step(2.5)
    loop.run_until_idle()
    assert seen == [1000, 2000]
    clock.step(1)
    loop.run_until_idle()
    assert (seen, task.done()) == ([1000, 2000, 3000], True)


def test_a_step_can_be_ended_by_what_it_waited_for(loop: SimLoop, clock: ScaledClock) -> None:
    clock.call_later(3, clock.stop_step)
    clock.step(100)
    loop.run_until_idle()
    assert clock.now_ms() - START_MS == 3000


def test_a_step_goes_forward(clock: ScaledClock) -> None:
    with pytest.raises(ValueError, match="a step goes forward, got -1"):
        clock.step(-1)


def test_a_jump_moves_time_at_once_and_runs_what_fell_due_in_order(loop: SimLoop, clock: ScaledClock) -> None:
    seen: list[str] = []
    clock.call_later(20, lambda: seen.append("second"))
    clock.call_later(10, lambda: seen.append("first"))
    clock.jump_to(START_MS + 60_000)
    assert (clock.now_ms(), seen) == (START_MS + 60_000, [])
    loop.run_until_idle()
    assert (seen, loop.time()) == (["first", "second"], 0)


def test_a_jump_never_goes_back(loop: SimLoop, clock: ScaledClock) -> None:
    loop.run_for(10)
    clock.jump_to(START_MS)
    assert clock.now_ms() == START_MS + 10_000


def test_many_due_timers_share_the_loop_with_others(
    loop: SimLoop, clock: ScaledClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock_module, "DUE_PER_TURN", 3)
    order: list[object] = []
    for n in range(6):
        clock.call_later(1, lambda n=n: order.append(n))
    clock.call_later(1 - 1e-12, lambda: loop.call_soon(order.append, "other"))
    loop.run_for(2)
    assert sorted(map(str, order)) == ["0", "1", "2", "3", "4", "5", "other"]
    assert order.index("other") < order.index(5)


def test_a_failing_timer_stops_no_other(loop: SimLoop, clock: ScaledClock, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[int] = []
    clock.call_later(1, lambda: 1 // 0)
    at(clock, seen, 1)
    loop.run_for(2)
    assert seen == [1000]
    assert "a timer failed" in caplog.text


def test_sleep_wakes_at_its_time_and_a_cancelled_sleep_leaves_no_timer(loop: SimLoop, clock: ScaledClock) -> None:
    async def main() -> int:
        await clock.sleep(2)
        woke = clock.now_ms() - START_MS
        sleeper = asyncio.create_task(clock.sleep(1000))
        await asyncio.sleep(0)
        sleeper.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sleeper
        return woke

    assert loop.run(main()) == 2000
    assert all(timer.fn is None for _, _, timer in clock._timers)


def test_a_closed_clock_fires_nothing(loop: SimLoop, clock: ScaledClock) -> None:
    seen: list[int] = []
    at(clock, seen, 1)
    clock.close()
    at(clock, seen, 2)
    loop.run_for(10)
    assert seen == []


def test_the_same_clock_runs_on_a_real_loop() -> None:
    async def main() -> list[str]:
        clock, seen = ScaledClock(asyncio.get_running_loop(), start_ms=START_MS, rate=0), list[str]()
        clock.call_later(3600, lambda: seen.append("an hour later"))
        clock.step(3600)
        while clock.stepping:
            await asyncio.sleep(0)
        return seen

    assert asyncio.run(main()) == ["an hour later"]
