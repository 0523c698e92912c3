"""Retention, and a disk that fills up (spec store-format 9)."""

import pytest

from sandbox.journal.events import DiskChanged, FilesDeleted, MinOffsetMoved
from sandbox.store.message_store import MessageStore
from sandbox.store.results import PutMessageStatus
from tests.unit.store.stores import HOUR_MS, START_MS, Stores, message

LIMIT = 100_000


def fill_to(stores: Stores, store: MessageStore, ratio: float) -> None:
    n = 0
    while store.cleaning.used_bytes < LIMIT * ratio:
        stores.put(store, message(n))
        n += 1


@pytest.mark.seed("0.3", "D7")
def test_files_go_at_the_hour_of_deletion_once_they_are_old_enough() -> None:
    stores = Stores(delete_when="04;16", file_reserved_hours=72)
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(60)])
    stores.advance(72 * 3600 - 3600)
    assert store.min_physical_offset == 0
    stores.advance(3600)  # 72 hours later it is five to five
    assert store.min_physical_offset > 0
    assert len(store.log.files.files) == 1  # the newest file stays
    (event,) = [e for e in stores.events(FilesDeleted) if e.kind == "commitlog"]
    assert (event.broker, event.why) == ("broker-a", "age")
    assert event.files[0] == "00000000000000000000"


@pytest.mark.seed("0.3", "D7")
def test_at_other_hours_old_files_stay() -> None:
    stores = Stores(delete_when="16", file_reserved_hours=1)
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(60)])
    stores.advance(10 * 3600)  # from 4:58 to 14:58
    assert store.min_physical_offset == 0
    stores.advance(2 * 3600)
    assert store.min_physical_offset > 0


def test_the_hour_is_that_of_the_configured_day() -> None:
    stores = Stores(delete_when="13", file_reserved_hours=0, utc_offset_minutes=8 * 60)
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(60)])
    stores.advance(300)  # 12:58 in China, then 13:03
    assert store.min_physical_offset > 0


def test_only_files_old_enough_go_and_at_most_ten_in_one_run() -> None:
    stores = Stores(file_reserved_hours=1)
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(300)])
    young = len(store.log.files.files)
    store.clean(manual=True)
    assert store.min_physical_offset == 0
    store.age_files(1)
    store.clean(manual=True)
    assert len(store.log.files.files) == young - 10
    store.clean(manual=True)
    assert len(store.log.files.files) == max(1, young - 20)


def test_queues_and_indexes_follow_the_log() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n, queue_id=n % 2) for n in range(100)])
    store.age_files(1000)
    store.clean(manual=True)
    low = store.min_offset("orders", 0)
    assert store.unit("orders", 0, low)[0] >= store.min_physical_offset > store.log.files.file_bytes  # type: ignore[index]
    assert store.unit("orders", 0, low - 1) is None
    assert store.index.files[0].end_physical >= store.min_physical_offset
    assert {e.kind for e in stores.events(FilesDeleted)} == {"commitlog", "consumequeue", "index"}
    assert [(e.queue_id, e.previous, e.offset) for e in stores.events(MinOffsetMoved)] == [
        (0, 0, low),
        (1, 0, store.min_offset("orders", 1)),
    ]
    store = stores.killed(store)
    assert store.min_offset("orders", 0) == low


def test_over_75_percent_old_files_go_at_any_hour() -> None:
    stores = Stores(store_limit_bytes=LIMIT, file_reserved_hours=1)
    store = stores.opened()
    fill_to(stores, store, 0.76)
    stores.advance(120)
    assert store.min_physical_offset == 0
    store.age_files(1)
    stores.advance(10)
    assert store.min_physical_offset > 0
    assert stores.events(FilesDeleted)[0].why == "disk"
    assert store.writable


def test_over_85_percent_files_go_whatever_their_age() -> None:
    stores = Stores(store_limit_bytes=LIMIT)
    store = stores.opened()
    fill_to(stores, store, 0.86)
    assert store.min_physical_offset == 0
    stores.advance(70)
    assert store.min_physical_offset > 0
    assert stores.events(DiskChanged) == []


def test_over_90_percent_puts_are_refused_until_there_is_room() -> None:
    stores = Stores(store_limit_bytes=LIMIT, clean_file_forcibly_enable=False)
    store = stores.opened()
    stores.advance(30)
    store.cleaning.ballast_bytes = LIMIT * 91 // 100
    assert store.writable  # no one has looked yet
    stores.advance(10)
    assert (store.writable, store.disk_state) == (False, "full")
    assert store.put_message(message()).status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    store.cleaning.ballast_bytes = LIMIT * 89 // 100
    stores.advance(10)
    assert store.disk_state == "ok"
    assert store.put_message(message()).status is PutMessageStatus.PUT_OK
    assert [event.state for event in stores.events(DiskChanged)] == ["full", "ok"]


def test_a_full_store_cleans_itself_and_goes_on() -> None:
    stores = Stores(store_limit_bytes=LIMIT)
    store = stores.opened()
    stores.advance(65)
    fill_to(stores, store, 0.95)
    stores.advance(20)
    assert store.cleaning.used_ratio() < 0.85
    assert store.writable
    states = [event.state for event in stores.events(DiskChanged)]
    assert states in ([], ["full", "ok"])


def test_a_store_opened_on_a_full_disk_refuses_at_once() -> None:
    stores = Stores(store_limit_bytes=LIMIT)
    store = stores.opened()
    fill_to(stores, store, 0.95)
    store.close()
    store = stores.opened()
    assert store.disk_state == "full"


def test_age_is_that_of_the_files_last_change() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(40)], each_s=60)
    first = store.log.files.files[0]
    assert START_MS < first.modified_ms <= START_MS + 40 * 60_000
    store.age_files(5)
    assert stores.disk.modified_ms(first.path) == first.modified_ms
    store.close()
    again = stores.opened().log.files.files[0]
    assert again.modified_ms == first.modified_ms <= START_MS - 4 * HOUR_MS
