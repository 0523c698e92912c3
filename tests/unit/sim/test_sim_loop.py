"""The simulated loop keeps asyncio's promises, without any clock but its own."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from sandbox.sim import loop as sim_loop
from sandbox.sim.loop import SimLoop, Stuck


@pytest.fixture
def loop() -> Iterator[SimLoop]:
    with SimLoop() as loop:
        yield loop


def test_an_hour_passes_at_once(loop: SimLoop) -> None:
    began = time.process_time()
    loop.run(asyncio.sleep(3600))
    assert loop.time() == 3600
    assert time.process_time() - began < 1


def test_the_result_of_main_is_returned(loop: SimLoop) -> None:
    async def main() -> str:
        await asyncio.sleep(0)
        return "done"

    assert loop.run(main()) == "done"


def test_the_error_of_main_is_raised(loop: SimLoop) -> None:
    async def main() -> None:
        await asyncio.sleep(1)
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        loop.run(main())


def test_callbacks_run_first_come_first_served(loop: SimLoop) -> None:
    seen: list[int] = []
    for n in range(5):
        loop.call_soon(seen.append, n)
    loop.run_until_idle()
    assert seen == [0, 1, 2, 3, 4]


def test_what_a_callback_adds_runs_in_the_next_turn(loop: SimLoop) -> None:
    seen: list[str] = []
    loop.call_soon(lambda: (seen.append("first"), loop.call_soon(seen.append, "third")))
    loop.call_soon(seen.append, "second")
    loop.run_until_idle()
    assert seen == ["first", "second", "third"]


def test_timers_run_by_time_and_equal_times_by_age(loop: SimLoop) -> None:
    seen: list[str] = []
    loop.call_later(2, seen.append, "late")
    loop.call_later(1, seen.append, "early a")
    loop.call_later(1, seen.append, "early b")
    loop.run_for(2)
    assert seen == ["early a", "early b", "late"]


def test_due_timers_are_not_starved_by_a_chain_of_callbacks(loop: SimLoop) -> None:
    fired: list[float] = []
    loop.call_later(0, fired.append, 0.0)

    def chain(left: int) -> None:
        if left and not fired:
            loop.call_soon(chain, left - 1)

    loop.call_soon(chain, 1000)
    loop.run_until_idle()
    assert fired == [0.0]


def test_run_for_stops_exactly_there_and_keeps_the_rest(loop: SimLoop) -> None:
    seen: list[float] = []
    for at in (1.0, 2.0, 3.0):
        loop.call_at(at, lambda: seen.append(loop.time()))
    loop.run_for(2.5)
    assert (seen, loop.time()) == ([1.0, 2.0], 2.5)
    loop.run_for(0.5)
    assert seen == [1.0, 2.0, 3.0]


def test_run_for_with_nothing_to_do_lets_time_pass(loop: SimLoop) -> None:
    loop.run_for(7)
    assert loop.time() == 7


def test_run_until_idle_lets_no_time_pass(loop: SimLoop) -> None:
    seen: list[str] = []
    loop.call_later(0, seen.append, "now")
    loop.call_later(0.001, seen.append, "later")
    loop.run_until_idle()
    assert (seen, loop.time()) == (["now"], 0.0)


def test_a_cancelled_timer_does_not_move_time(loop: SimLoop) -> None:
    loop.call_later(100, lambda: None).cancel()
    loop.run(asyncio.sleep(1))
    assert loop.time() == 1


def test_cancelled_timers_are_swept(loop: SimLoop) -> None:
    handles = [loop.call_later(1000 + n, lambda: None) for n in range(1000)]
    for handle in handles:
        handle.cancel()
    assert len(loop._timers) < 200
    loop.run_for(5)
    assert loop.time() == 5


def test_waiting_for_what_never_comes_is_stuck_and_names_who_waits(loop: SimLoop) -> None:
    async def wait_for_no_one() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        await asyncio.create_task(wait_for_no_one(), name="the patient one")

    with pytest.raises(Stuck, match=r"nothing can happen any more, at t=0.000 s; waiting: main, the patient one"):
        loop.run(main())


def test_an_endless_chain_without_time_is_stuck(loop: SimLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sim_loop, "CALLBACKS_PER_INSTANT", 1000)

    def again() -> None:
        loop.call_soon(again)

    again()
    with pytest.raises(Stuck, match="no time passed"):
        loop.run_until_idle()


def test_an_error_no_one_handled_ends_the_run(loop: SimLoop) -> None:
    loop.call_later(1, lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        loop.run_for(5)
    assert loop.time() == 1
    loop.run_for(1)


def test_an_exception_handler_takes_unhandled_errors_over(loop: SimLoop) -> None:
    met: list[BaseException] = []
    loop.set_exception_handler(lambda _, context: met.append(context["exception"]))
    loop.call_soon(lambda: 1 // 0)
    loop.run_until_idle()
    assert [type(error) for error in met] == [ZeroDivisionError]


def test_timeout_ends_a_wait_at_its_time(loop: SimLoop) -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3):
                await asyncio.Event().wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.get_running_loop().create_future(), 2)
        return asyncio.get_running_loop().time()

    assert loop.run(main()) == 5


def test_a_task_group_waits_for_its_tasks_and_cancels_them_on_failure(loop: SimLoop) -> None:
    ended: list[str] = []

    async def worker(name: str, seconds: float) -> None:
        try:
            await asyncio.sleep(seconds)
            if name == "bad":
                raise ValueError(name)
        finally:
            ended.append(f"{name} at {loop.time():.0f}")

    async def main(*names: tuple[str, float]) -> None:
        async with asyncio.TaskGroup() as group:
            for name, seconds in names:
                group.create_task(worker(name, seconds))

    loop.run(main(("a", 2), ("b", 1)))
    assert ended == ["b at 1", "a at 2"]
    with pytest.raises(ExceptionGroup):
        loop.run(main(("bad", 1), ("slow", 50)))
    assert ended[2:] == ["bad at 3", "slow at 3"]


def test_events_queues_and_gather_work(loop: SimLoop) -> None:
    async def main() -> list[object]:
        bell, letters = asyncio.Event(), asyncio.Queue[str]()

        async def ring() -> str:
            await asyncio.sleep(4)
            bell.set()
            letters.put_nowait("hello")
            return "rang"

        async def listen() -> str:
            await bell.wait()
            return await letters.get()

        return list(await asyncio.gather(listen(), ring()))

    assert loop.run(main()) == ["hello", "rang"]


def test_other_tasks_go_on_with_the_next_run(loop: SimLoop) -> None:
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            await asyncio.sleep(1)
            ticks.append(loop.time())

    async def main() -> None:
        loop.ticker = asyncio.create_task(tick())
        await asyncio.sleep(2.5)

    loop.run(main())
    assert ticks == [1, 2]
    loop.run_for(2)
    assert ticks == [1, 2, 3, 4]


def test_closing_cancels_tasks_and_lets_them_clean_up() -> None:
    cleaned: list[str] = []

    async def stay() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            cleaned.append("clean")

    async def main() -> "asyncio.Task[None]":
        task = asyncio.create_task(stay())
        await asyncio.sleep(0)
        return task

    loop = SimLoop()
    task = loop.run(main())
    loop.close()
    loop.close()
    assert cleaned == ["clean"]
    assert task.cancelled()
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon(print)


def test_the_running_loop_is_the_simulated_one_only_while_it_runs(loop: SimLoop) -> None:
    async def main() -> object:
        return asyncio.get_running_loop()

    assert loop.run(main()) is loop
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()


def test_a_running_loop_cannot_be_run_again(loop: SimLoop) -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match="already running"):
            loop.run_for(1)

    loop.run(main())


def test_there_are_no_sockets_and_no_threads(loop: SimLoop) -> None:
    async def main() -> None:
        with pytest.raises(NotImplementedError):
            await asyncio.to_thread(print)
        with pytest.raises(NotImplementedError):
            await asyncio.open_connection("127.0.0.1", 1)

    loop.run(main())


def test_it_runs_within_a_task_of_another_loop_whose_task_goes_on() -> None:
    loop = SimLoop()

    async def inside() -> int:
        await asyncio.sleep(5)
        return 7

    async def outside() -> int:
        before = asyncio.current_task()
        result = loop.run(inside())
        assert asyncio.current_task() is before
        await asyncio.sleep(0)
        return result

    assert asyncio.run(outside()) == 7
