"""Putting: what is taken gets its places, what is refused leaves no trace."""

import pytest

from sandbox.journal.events import CommitLogRolled, MessagesStored
from sandbox.message import record, sys_flag
from sandbox.store.results import PutMessageStatus
from tests.unit.store.stores import Stores, message


def test_each_queue_counts_from_zero_and_the_log_goes_on() -> None:
    stores = Stores()
    done = stores.put(stores.opened(), *[message(n, queue_id=n % 2) for n in range(6)])
    assert [d.queue_offset for d in done] == [0, 0, 1, 1, 2, 2]
    ends = [0, *[d.physical_end for d in done[:-1]]]
    assert [d.physical_offset for d in done] == ends


def test_a_message_is_readable_after_dispatch_and_not_before() -> None:
    stores = Stores()
    store = stores.opened()
    store.put_message(message(7))
    assert store.max_offset("orders", 0) == 0
    store.dispatch()
    assert store.max_offset("orders", 0) == 1
    found = store.read_message(0)
    assert found is not None
    assert found.body == message(7).body


def test_a_record_that_does_not_fit_begins_the_next_file_after_a_blank() -> None:
    stores = Stores()
    store = stores.opened()
    done = stores.put(store, *[message(n) for n in range(40)])
    starts = [d.physical_offset for d in done]
    assert 4096 in starts
    assert 8192 in starts
    last = max(start for start in starts if start < 4096)
    blank_at = last + done[starts.index(last)].store_bytes
    raw = stores.disk.read("commitlog/00000000000000000000")
    assert raw is not None
    assert record.examine(raw, blank_at, 4096, check_crc=True) == record.Blank(4096 - blank_at)
    assert [e.file for e in stores.events(CommitLogRolled)][:2] == ["00000000000000004096", "00000000000000008192"]
    assert store.get_message("orders", 0, 0, 64, None).count == 10  # to the end of the queue's file


@pytest.mark.parametrize("spare", range(7, 10))
def test_eight_bytes_stay_free_for_the_blank(spare: int) -> None:
    stores = Stores()
    store = stores.opened()
    empty = record.size_of(0, 6, len(message().properties))
    stores.put(store, message(0, body=b"x" * (2048 - empty)))
    stores.put(store, message(0, body=b"x" * (2048 - empty - spare)))
    assert store.max_physical_offset == (4096 - spare if spare >= 8 else 4096 + 2048 - spare)


def test_a_batch_lies_side_by_side_in_one_file_with_consecutive_offsets() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(16)])
    done = store.put_messages([message(n) for n in range(16, 24)])
    store.dispatch()
    assert (done.status, done.queue_offset, done.count) == (PutMessageStatus.PUT_OK, 16, 8)
    assert done.physical_offset == done.physical_offsets[0] == 4096
    for i, physical in enumerate(done.physical_offsets):
        found = store.read_message(physical)
        assert found is not None
        assert (found.queue_offset, found.body) == (16 + i, message(16 + i).body)
    assert store.unit("orders", 0, 23) == (done.physical_offsets[7], done.store_bytes // 8, message().tags_code)


@pytest.mark.parametrize(
    ("flags", "counts"),
    [
        (sys_flag.TRANSACTION_PREPARED, False),
        (sys_flag.TRANSACTION_ROLLBACK, False),
        (sys_flag.TRANSACTION_COMMIT, True),
        (sys_flag.TRANSACTION_NONE, True),
    ],
)
def test_prepared_and_rolled_back_records_take_no_place_in_the_queue(flags: int, counts: bool) -> None:
    stores = Stores()
    store = stores.opened()
    done = stores.put(store, message(0), message(1, flags=flags), message(2))
    assert [d.queue_offset for d in done] == ([0, 1, 2] if counts else [0, 0, 1])
    assert store.max_offset("orders", 0) == (3 if counts else 2)
    found = store.query("orders", "k1", 32, 0, 1 << 62)
    assert len(found.records) == (0 if flags == sys_flag.TRANSACTION_ROLLBACK else 1)


def test_what_crosses_a_limit_is_refused_and_nothing_is_written() -> None:
    stores = Stores()
    store = stores.opened()
    illegal = PutMessageStatus.MESSAGE_ILLEGAL
    assert store.put_message(message(0, topic="t" * 128)).status is illegal
    assert store.put_message(message(0, body=b"x" * 2049)).status is illegal
    assert store.put_messages([message(0, body=b"x" * 1025)] * 2).status is illegal
    assert store.put_messages([message(0, body=b"", KEYS="k" * 1500)] * 3).status is illegal  # fits no file
    assert store.put_message(message(0, KEYS="k" * 32_768)).status is PutMessageStatus.PROPERTIES_SIZE_EXCEEDED
    assert store.put_messages([message(0, KEYS="k" * 32_768)]).status is PutMessageStatus.PROPERTIES_SIZE_EXCEEDED
    assert store.max_physical_offset == 0
    assert store.put_message(message(1)).queue_offset == 0


@pytest.mark.parametrize("topic", ["", ".", "..", "../../etc", "/etc", "a\0b"])
def test_a_topic_that_no_directory_can_bear_is_refused(topic: str) -> None:
    store = Stores().opened()
    assert store.put_message(message(topic=topic)).status is PutMessageStatus.MESSAGE_ILLEGAL
    assert store.put_messages([message(topic=topic)]).status is PutMessageStatus.MESSAGE_ILLEGAL
    assert store.max_physical_offset == 0


def test_a_store_that_is_not_open_takes_nothing() -> None:
    stores = Stores()
    store = stores.made()
    assert store.put_message(message()).status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    store = stores.opened()
    store.close()
    assert store.put_message(message()).status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert store.put_messages([message()]).status is PutMessageStatus.SERVICE_NOT_AVAILABLE


def test_without_room_for_a_new_file_the_put_fails_and_the_log_stays_whole() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(16)])
    end = store.max_physical_offset
    stores.sim_disk.fill()
    batch = [message(n) for n in range(16, 22)]
    assert store.put_messages(batch).status is PutMessageStatus.CREATE_MAPEDFILE_FAILED
    assert store.max_physical_offset == end
    stores.sim_disk.capacity_bytes = None
    assert store.put_messages(batch).queue_offset == 16


def test_without_room_for_a_queue_file_puts_stop_until_there_is() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, message(0))
    stores.sim_disk.fill()
    assert store.put_message(message(1, queue_id=1)).status is PutMessageStatus.PUT_OK
    assert store.put_message(message(2)).status is PutMessageStatus.PUT_OK
    store.dispatch()
    assert (store.writable, store.disk_state) == (False, "failing")
    assert store.put_message(message(3)).status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    stores.sim_disk.capacity_bytes = None
    store.dispatch()
    assert (store.writable, store.max_offset("orders", 1), store.max_offset("orders", 0)) == (True, 1, 2)
    for n in range(3):
        assert len(store.query("orders", f"k{n}", 32, 0, 1 << 62).records) == 1


def test_index_entries_that_found_no_room_are_put_when_there_is() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(15)], message(15, KEYS=" ".join("abc")))
    stores.sim_disk.fill()
    store.put_message(message(16, KEYS=" ".join("defg")))  # one of its four entries fits into the file
    store.dispatch()
    assert (store.max_offset("orders", 0), store.writable) == (17, False)
    assert [len(store.query("orders", key, 32, 0, 1 << 62).records) for key in "dg"] == [1, 0]
    stores.sim_disk.capacity_bytes = None
    stores.advance(20)
    assert store.writable
    assert [len(store.query("orders", key, 32, 0, 1 << 62).records) for key in "cdefg"] == [1] * 5


def test_a_log_fed_with_a_masters_bytes_builds_the_same_queues_and_index() -> None:
    master, slave = Stores(), Stores()
    source, copy = master.opened(), slave.opened()
    master.put(source, *[message(n, queue_id=n % 3, KEYS=f"k{n} all") for n in range(40)], each_s=0.5)
    at = 0
    while at < source.max_physical_offset:
        size = min(300, source.log.roll_next(at) - at, source.max_physical_offset - at)
        data = source.log.read(at, size)
        assert data is not None
        assert at == 0 or not copy.log.append_raw(at + 1, data, 0)  # only what comes next is taken
        assert copy.log.append_raw(at, data, slave.clock.now_ms())
        copy.dispatch()
        at += size
    parts = ("commitlog", "consumequeue")
    image, original = slave.sim_disk.image(), master.sim_disk.image()
    assert [(n, d) for n, d in image.items() if n.startswith(parts)] == [
        (n, d) for n, d in original.items() if n.startswith(parts)
    ]
    assert [d for n, d in image.items() if n.startswith("index")] == [
        d for n, d in original.items() if n.startswith("index")
    ]


def test_the_journal_hears_of_one_range_per_queue_and_turn() -> None:
    stores = Stores()
    store = stores.opened()
    for n in range(4):
        store.put_message(message(n, queue_id=n % 2))
    done = store.put_messages([message(n) for n in range(4, 7)])
    store.dispatch()
    reported = stores.events(MessagesStored)
    assert [(e.queue_id, e.first_offset, e.count, e.physical_offset) for e in reported] == [
        (0, 0, 5, 0),
        (1, 0, 2, done.store_bytes // 3),
    ]
    assert sum(e.bytes for e in reported) == store.max_physical_offset


def test_arrivals_are_reported_for_awaited_queues_alone() -> None:
    stores = Stores()
    store = stores.opened()
    heard: list[tuple[object, ...]] = []
    store.reput.on_arrival = lambda *arrival: heard.append(arrival)
    store.reput.awaited = {("orders", 1)}
    store.put_message(message(0, queue_id=0))
    store.put_message(message(1, queue_id=1))
    store.dispatch()
    assert heard == [("orders", 1, 1, message().tags_code, stores.clock.now_ms(), {"KEYS": "k1", "TAGS": "TagA"})]
    store.reput.awaited = None
    stores.put(store, message(2, queue_id=0))
    assert heard[-1][:3] == ("orders", 0, 2)


def test_a_message_put_by_who_is_woken_is_dispatched_in_the_same_turn() -> None:
    stores = Stores()
    store = stores.opened()
    moved = message(9, topic="moved")
    store.reput.on_arrival = lambda topic, *_: store.put_message(moved) if topic == "orders" else None
    stores.put(store, message(0))
    assert store.max_offset("moved", 0) == 1


def test_all_that_is_put_in_one_turn_is_stored_at_one_moment_and_what_comes_later_later() -> None:
    stores = Stores()
    store = stores.opened()
    moved = message(9, topic="moved")
    store.reput.on_arrival = lambda topic, *_: store.put_message(moved) if topic == "orders" else None
    start_ms = stores.clock.now_ms()
    first = [store.put_message(message(n)).store_ms for n in range(3)]
    store.dispatch()
    stores.advance(5)
    batch = store.put_messages([message(3), message(4)])
    store.dispatch()
    stores.advance(5)
    (last,) = stores.put(store, message(5))
    assert [*first, batch.store_ms, last.store_ms] == [start_ms] * 3 + [start_ms + 5_000, start_ms + 10_000]
    assert [store.store_time("moved", 0, n) for n in range(6)] == [*first, *[batch.store_ms] * 2, last.store_ms]


def test_a_delayed_message_has_its_delivery_time_in_the_queue() -> None:
    stores = Stores()
    store = stores.opened()
    store_ms = stores.clock.now_ms()
    for level, seconds in ((1, 1), (3, 10), (18, 7200), (99, 7200)):
        stores.put(store, message(0, topic="SCHEDULE_TOPIC_XXXX", queue_id=min(level, 18) - 1, DELAY=str(level)))
        unit = store.unit(
            "SCHEDULE_TOPIC_XXXX", min(level, 18) - 1, store.max_offset("SCHEDULE_TOPIC_XXXX", min(level, 18) - 1) - 1
        )
        assert unit is not None
        assert unit.tags_code == store_ms + seconds * 1000
    stores.put(store, message(0, DELAY="3"))  # in any other topic DELAY is history
    assert store.unit("orders", 0, 0)[2] == message().tags_code  # type: ignore[index]
