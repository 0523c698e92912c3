"""Durability: when bytes are flushed, and who waits for it (spec broker-behaviour 11)."""

from collections.abc import Callable

import pytest

from sandbox.journal.events import DiskChanged
from sandbox.store.message_store import MessageStore
from sandbox.store.results import PutMessageStatus
from tests.unit.store.stores import HOST, Stores, message


class SlowFlusher:
    """Keeps what it is given until asked to do it."""

    def __init__(self) -> None:
        self.given: list[tuple[Callable[[], None], Callable[[BaseException | None], None]]] = []

    def submit(self, work: Callable[[], None], done: Callable[[BaseException | None], None]) -> None:
        self.given.append((work, done))

    def finish(self) -> None:
        work, done = self.given.pop(0)
        work()
        done(None)


def slow(stores: Stores) -> tuple[MessageStore, SlowFlusher]:
    flusher = SlowFlusher()
    store = MessageStore(
        stores.config,
        disk=stores.disk,
        clock=stores.clock,
        journal=stores.journal,
        broker="broker-a",
        broker_id=0,
        store_host=HOST,
        flusher=flusher,
    )
    store.load()
    store.start()
    return store, flusher


@pytest.mark.seed("3.14")
def test_four_dirty_pages_are_flushed_after_half_a_second_less_after_ten() -> None:
    stores = Stores(commit_log_file_bytes=1 << 20)
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(70)])
    assert store.max_physical_offset < 4 * 4096
    stores.advance(9)
    assert store.flushed_offset == 0
    stores.advance(1.5)
    assert store.flushed_offset == store.max_physical_offset
    stores.put(store, *[message(n) for n in range(90)])
    stores.advance(0.4)
    assert store.flushed_offset < store.max_physical_offset
    stores.advance(0.2)
    assert store.flushed_offset == store.max_physical_offset


@pytest.mark.seed("3.14")
def test_sync_flush_answers_all_of_a_turn_with_one_flush() -> None:
    stores = Stores(flush="SYNC_FLUSH")
    store, flusher = slow(stores)
    answers: list[tuple[int, bool]] = []
    for n in range(3):
        done = store.put_message(message(n))
        store.when_flushed(done.physical_end, lambda in_time, n=n: answers.append((n, in_time)))
    store.dispatch()
    assert len(flusher.given) == 1
    late = store.put_message(message(3))
    store.when_flushed(late.physical_end, lambda in_time: answers.append((3, in_time)))
    store.dispatch()
    assert (len(flusher.given), answers) == (1, [])
    flusher.finish()
    assert answers == [(0, True), (1, True), (2, True)]
    flusher.finish()
    assert answers[3:] == [(3, True)]


@pytest.mark.seed("3.14")
def test_who_waits_longer_than_five_seconds_is_informed() -> None:
    stores = Stores(flush="SYNC_FLUSH")
    store, flusher = slow(stores)
    answers: list[bool] = []
    done = store.put_message(message())
    store.when_flushed(done.physical_end, answers.append)
    store.dispatch()
    stores.advance(4.9)
    assert answers == []
    stores.advance(0.2)
    assert answers == [False]
    flusher.finish()
    assert answers == [False]
    store.when_flushed(done.physical_end, answers.append)
    assert answers == [False, True]


def test_a_wish_to_wait_is_granted_under_async_flush_too() -> None:
    stores = Stores()
    store = stores.opened()
    answers: list[bool] = []
    done = stores.put(store, message())[0]
    store.when_flushed(done.physical_end, answers.append)
    stores.advance(0.01)
    assert answers == [True]


def test_a_flush_that_fails_stops_puts_until_one_succeeds() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, message())
    stores.sim_disk.broken_sync = True
    stores.advance(11)
    assert store.put_message(message()).status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert store.flushed_offset == 0
    stores.sim_disk.broken_sync = False
    stores.advance(11)
    assert store.put_message(message()).status is PutMessageStatus.PUT_OK
    assert [event.state for event in stores.events(DiskChanged)] == ["failing", "ok"]


def test_the_checkpoint_follows_log_queues_and_full_index_files() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(25)], each_s=1)
    stores.advance(130)
    raw = stores.disk.read("checkpoint")
    assert raw is not None
    assert len(raw) == 4096
    newest, full = store.store_time("orders", 0, 24), store.store_time("orders", 0, 18)
    assert [int.from_bytes(raw[i : i + 8], "big") for i in (0, 8, 16)] == [newest, newest, full]


def test_an_idle_store_has_no_flush_timers_and_no_maps() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n, queue_id=n) for n in range(5)])
    assert len(store.pool) > 5
    stores.advance(180)
    assert len(store.pool) == 0
    assert (store.flush._log_timer, store.flush._queue_timer) == (None, None)
    assert store.get_message("orders", 3, 0, 32, None).count == 1
    stores.put(store, message(9))
    assert store.max_offset("orders", 0) == 2


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_after_a_power_cut_what_was_flushed_is_there(flush: str) -> None:
    stores = Stores(flush=flush)
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(30)])
    stores.advance(70)
    store.crash()
    stores.sim_disk.power_cut()
    store = stores.opened()
    assert store.max_offset("orders", 0) == 30
