"""Reading a queue: every row of the status table, and every limit (spec broker-behaviour 3.2 and 7)."""

import pytest

from sandbox.message import record
from sandbox.message.filter import parse_tags
from sandbox.store.message_store import MessageStore
from sandbox.store.results import GetMessageStatus as Status
from sandbox.store.results import GetResult
from tests.unit.store.stores import HOUR_MS, Stores, message


def get(store: MessageStore, offset: int, count: int = 32, tags: str = "*") -> GetResult:
    return store.get_message("orders", 0, offset, count, parse_tags(tags))


def bodies(found: GetResult) -> list[int]:
    return [int(m.body[:4]) for m in record.decode_all(found.records)]


def aged(stores: Stores, store: MessageStore) -> None:
    """Delete all closed log files."""
    store.age_files(1000)
    store.clean(manual=True)


def test_an_unknown_or_empty_queue_has_no_message() -> None:
    store = Stores().opened()
    for offset in (0, 5):
        assert get(store, offset) == GetResult(Status.NO_MESSAGE_IN_QUEUE, 0, 0, 0)


def test_messages_come_in_order_with_the_offset_to_go_on_from() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(5)])
    found = get(store, 1, 3)
    assert (found.status, found.next_offset, found.count, found.first_offset) == (Status.FOUND, 4, 3, 1)
    assert (found.min_offset, found.max_offset, bodies(found)) == (0, 5, [1, 2, 3])


@pytest.mark.parametrize(
    ("offset", "status", "next_offset"),
    [
        (3, Status.OFFSET_OVERFLOW_ONE, 3),
        (4, Status.OFFSET_OVERFLOW_BADLY, 3),
        (900, Status.OFFSET_OVERFLOW_BADLY, 3),
        (-1, Status.OFFSET_TOO_SMALL, 0),
    ],
)
def test_an_offset_outside_the_queue_gets_the_one_to_go_on_at(offset: int, status: Status, next_offset: int) -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(3)])
    found = get(store, offset)
    assert (found.status, found.next_offset, found.max_offset, found.records) == (status, next_offset, 3, b"")


def test_an_offset_below_the_first_that_is_left_is_too_small() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(60)])
    aged(stores, store)
    low = store.min_offset("orders", 0)
    assert low > 0
    assert (get(store, 0).status, get(store, 0).next_offset) == (Status.OFFSET_TOO_SMALL, low)
    assert bodies(get(store, low))[0] == low


def test_a_queue_that_lost_all_its_messages_says_they_are_being_removed() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n, body=b"0001" * 10) for n in range(5)])
    stores.put(store, *[message(n, topic="other") for n in range(40)])
    aged(stores, store)
    found = get(store, 0)
    assert (found.min_offset, found.status, found.next_offset) == (0, Status.MESSAGE_WAS_REMOVING, 5)


def test_filtered_messages_are_passed_over_and_counted() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n, TAGS="odd" if n % 2 else "even") for n in range(8)])
    found = get(store, 0, 32, "odd")
    assert (bodies(found), found.next_offset, found.skipped, found.first_offset) == ([1, 3, 5, 7], 8, 4, 1)
    found = get(store, 0, 2, "odd")
    assert (bodies(found), found.next_offset, found.skipped) == ([1, 3], 4, 2)
    found = get(store, 2, 32, "none")
    assert (found.status, found.next_offset, found.skipped) == (Status.NO_MATCHED_MESSAGE, 8, 6)


def test_a_filter_may_ask_for_the_properties() -> None:
    class Third:
        codes = None
        by_properties = True

        def wants(self, properties: dict[str, str]) -> bool:
            return properties["KEYS"] == "k3"

    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(5)])
    found = store.get_message("orders", 0, 0, 32, Third())
    assert (bodies(found), found.next_offset, found.first_offset, found.skipped) == ([3], 5, 3, 0)


def test_a_read_ends_with_the_queue_file() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(25)])
    assert [get(store, offset).next_offset for offset in (0, 4, 10, 20)] == [10, 10, 20, 25]


@pytest.mark.seed("3.28")
def test_at_most_800_units_are_looked_at_unless_more_messages_are_asked_for() -> None:
    stores = Stores(consume_queue_file_entries=2000, commit_log_file_bytes=1 << 20, index_entries=4000)
    store = stores.opened()
    for _ in range(10):
        assert store.put_messages([message(0, body=b"", KEYS="") for _ in range(100)]).count == 100
    store.dispatch()
    assert get(store, 0, 32, "none").next_offset == 800
    assert get(store, 0, 900, "none").next_offset == 900


@pytest.mark.parametrize(("body_bytes", "count"), [(40, 32), (9000, 28)])
def test_a_batch_from_memory_ends_at_32_messages_or_256_kib(body_bytes: int, count: int) -> None:
    stores = Stores(commit_log_file_bytes=1 << 20, consume_queue_file_entries=100, max_message_bytes=10_000)
    store = stores.opened()
    stores.put(store, *[message(n, body=b"0000" + b"x" * body_bytes) for n in range(50)])
    found = get(store, 0, 1000)
    assert (found.count, found.next_offset, found.cold) == (count, count, False)
    assert len(found.records) <= 262_144


@pytest.mark.parametrize(("body_bytes", "count"), [(40, 8), (9000, 7)])
def test_a_batch_from_disk_ends_at_8_messages_or_64_kib(body_bytes: int, count: int) -> None:
    stores = Stores(
        commit_log_file_bytes=1 << 20, consume_queue_file_entries=100, max_message_bytes=10_000, memory_bytes=2000
    )
    store = stores.opened()
    stores.put(store, *[message(n, body=b"0000" + b"x" * body_bytes) for n in range(50)])
    found = get(store, 0, 1000)
    assert (found.count, found.next_offset, found.cold) == (count, count, True)


def test_the_first_message_is_given_whatever_its_size() -> None:
    stores = Stores(commit_log_file_bytes=1 << 20, max_message_bytes=400_000)
    store = stores.opened()
    stores.put(store, message(0, body=b"0000" + b"x" * 300_000), message(1))
    assert bodies(get(store, 0)) == [0]


def test_what_is_within_40_percent_of_memory_is_in_memory() -> None:
    stores = Stores(memory_bytes=2000)
    store = stores.opened()
    assert store.first_in_memory("orders", 0)
    stores.put(store, *[message(n) for n in range(4)])
    assert store.max_physical_offset > 800
    assert not store.first_in_memory("orders", 0)
    stores.put(store, message(9, queue_id=1))
    assert store.first_in_memory("orders", 1)


def test_the_offset_of_a_moment_is_that_of_the_nearest_message() -> None:
    stores = Stores()
    store = stores.opened()
    assert store.offset_by_time("orders", 0, 5) == 0
    begin = stores.clock.now_ms()
    stores.put(store, *[message(n) for n in range(5)], each_s=10)
    at = [(-5000, 0), (0, 0), (4999, 0), (5000, 0), (5001, 1), (10_000, 1), (35_001, 4), (40_000, 4), (99_000, 4)]
    assert [store.offset_by_time("orders", 0, begin + ms) for ms, _ in at] == [offset for _, offset in at]


def test_the_offset_of_a_moment_is_sought_in_the_file_written_then() -> None:
    stores = Stores()
    store = stores.opened()
    begin = stores.clock.now_ms()
    stores.put(store, *[message(n) for n in range(25)], each_s=10)
    assert [store.offset_by_time("orders", 0, begin + n * 10_000) for n in range(25)] == list(range(25))
    assert store.offset_by_time("orders", 0, begin + 99_000) == 10  # the first file was written last at 90 s
    store = stores.killed(store)
    assert store.offset_by_time("orders", 0, begin + 241_000) == 24


def test_a_moment_whose_messages_are_gone_means_the_first_that_is_left() -> None:
    stores = Stores(consume_queue_file_entries=100)
    store = stores.opened()
    begin = stores.clock.now_ms()
    stores.put(store, *[message(n) for n in range(60)], each_s=1)
    aged(stores, store)
    assert store.offset_by_time("orders", 0, begin) == store.min_offset("orders", 0) > 0


def test_store_times_are_reported_while_the_record_is_there() -> None:
    stores = Stores()
    store = stores.opened()
    assert store.earliest_store_time("orders", 0) is None
    begin = stores.clock.now_ms()
    stores.put(store, *[message(n) for n in range(60)], each_s=1)
    assert store.store_time("orders", 0, 3) == begin + 3000
    assert store.store_time("orders", 0, 60) is None
    aged(stores, store)
    assert store.store_time("orders", 0, 3) is None
    assert store.earliest_store_time("orders", 0) == begin + store.min_offset("orders", 0) * 1000


def test_a_deleted_topic_begins_again_and_its_records_stay_in_the_log() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(3)], message(3, topic="kept"))
    store.delete_topic("orders")
    assert get(store, 0).status is Status.NO_MESSAGE_IN_QUEUE
    assert list(store.queues()) == [("kept", 0)]
    assert store.read(0) is not None
    assert stores.put(store, message(4))[0].queue_offset == 0


def test_reading_where_no_record_begins_finds_nothing() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, message(0))
    assert store.read(1) is None
    assert store.read(store.max_physical_offset) is None
    assert store.read(HOUR_MS * HOUR_MS) is None
    assert store.read_message(-5) is None


@pytest.mark.parametrize("hole", [0, 1, 2])
def test_a_hole_in_the_queue_is_passed_over(hole: int) -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(3)])
    files = store.queue("orders", 0).files
    files.pool.view(files.files[0])[hole * 20 : hole * 20 + 20] = bytes(20)
    found = get(store, 0)
    assert (found.status, found.count, found.next_offset) == (Status.FOUND, 2, 3)
    assert bodies(found) == [n for n in range(3) if n != hole]


def test_a_queue_of_holes_answers_that_messages_are_going() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, message(0))
    files = store.queue("orders", 0).files
    files.pool.view(files.files[0])[:20] = bytes(20)
    found = get(store, 0)
    assert (found.status, found.count, found.records, found.next_offset) == (Status.MESSAGE_WAS_REMOVING, 0, b"", 1)
