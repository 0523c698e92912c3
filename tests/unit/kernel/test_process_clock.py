"""A stopped process: the world's clock goes on, its own timers wait."""

from sandbox.kernel.clock import ScaledClock
from sandbox.kernel.process_clock import ProcessClock
from sandbox.sim.loop import SimLoop


def test_what_falls_due_while_stopped_runs_in_order_when_it_goes_on() -> None:
    loop = SimLoop()
    clock = ProcessClock(ScaledClock(loop, start_ms=0))
    rung: list[str] = []
    clock.call_later(1, lambda: rung.append("first"))
    clock.call_later(2, lambda: rung.append("second"))
    clock.call_later(9, lambda: rung.append("later"))
    clock.stop()
    loop.run_for(5)
    assert rung == []
    clock.wake()
    clock.ring_late()
    assert rung == ["first", "second"]
    assert clock.now_ms() == 5000
    loop.run_for(5)
    assert rung == ["first", "second", "later"]


def test_a_timer_cancelled_while_it_waits_does_not_run() -> None:
    loop = SimLoop()
    clock = ProcessClock(ScaledClock(loop, start_ms=0))
    rung: list[str] = []
    timer = clock.call_later(1, lambda: rung.append("no"))
    clock.stop()
    loop.run_for(2)
    timer.cancel()
    clock.wake()
    clock.ring_late()
    assert rung == []


def test_who_sleeps_in_a_stopped_process_sleeps_on() -> None:
    loop = SimLoop()
    clock = ProcessClock(ScaledClock(loop, start_ms=0))

    async def nap() -> int:
        await clock.sleep(1)
        await clock.going_on()
        return clock.now_ms()

    with loop:
        task = loop.create_task(nap())
        clock.stop()
        loop.run_for(3)
        assert not task.done()
        clock.wake()
        clock.ring_late()
        loop.run_until_idle()
        assert task.result() == 3000
