"""Opening a store again: after a clean end, after a kill, with files lost or damaged."""

import shutil
from pathlib import Path

import pytest

from sandbox.journal.events import RecoveryDone
from sandbox.kernel.errors import Locked, StoreError
from sandbox.message import record
from sandbox.store.disk import FileDisk
from sandbox.store.message_store import MessageStore
from tests.unit.store.stores import Stores, message

LOG = "commitlog/00000000000000000000"


def numbers(store: MessageStore, queue_id: int = 0) -> list[int]:
    """Every message of the queue, read as a consumer would."""
    offset, found = store.min_offset("orders", queue_id), []
    while (got := store.get_message("orders", queue_id, offset, 32, None)).count:
        found += [int(m.body[:4]) for m in record.decode_all(got.records)]
        offset = got.next_offset
    return found


def filled(stores: Stores, count: int = 30) -> MessageStore:
    store = stores.opened()
    stores.put(store, *[message(n, queue_id=n % 2, KEYS=f"k{n} all") for n in range(count)], each_s=0.1)
    return store


def test_a_clean_stop_leaves_nothing_to_do() -> None:
    stores = Stores()
    store = filled(stores)
    assert stores.disk.size_of("abort") == 0
    store.close()
    assert stores.disk.size_of("abort") is None
    store = stores.opened()
    done = stores.events(RecoveryDone)[-1]
    assert (done.kind, done.truncated_bytes, done.broker, done.broker_id) == ("normal", 0, "broker-a", 0)
    assert (numbers(store, 0), numbers(store, 1)) == (list(range(0, 30, 2)), list(range(1, 30, 2)))
    assert stores.put(store, message(30))[0].queue_offset == 15


def test_a_killed_store_has_everything_that_was_written() -> None:
    stores = Stores()
    store = filled(stores)
    before = {n: set(store.query("orders", f"k{n}", 32, 0, 1 << 62).records) for n in range(30)}
    store.put_message(message(30))  # in the log, not dispatched
    store = stores.killed(store)
    done = stores.events(RecoveryDone)[-1]
    assert (done.kind, done.messages) == ("abnormal", 31)
    assert numbers(store) == [*range(0, 30, 2), 30]
    assert {n: set(store.query("orders", f"k{n}", 32, 0, 1 << 62).records) for n in range(30)} == before


def test_the_last_message_of_a_kept_index_file_is_found_twice_after_a_kill() -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(25)])  # the first file of the index is full with number 18
    store = stores.killed(store)
    found = {n: len(store.query("orders", f"k{n}", 32, 0, 1 << 62).records) for n in range(25)}
    assert [n for n, count in found.items() if count != 1] == [18]
    assert found[18] == 2


@pytest.mark.parametrize("name", [b"../../bad", b"bad\0topic"])
def test_a_log_with_a_topic_that_no_directory_can_bear_is_recovered_without_it(tmp_path: Path, name: bytes) -> None:
    stores = Stores(FileDisk(tmp_path / "up" / "store"))
    store = stores.opened()
    stores.put(store, message(0), message(1, topic="bad-topic"), message(2))
    log = tmp_path / "up" / "store" / LOG
    log.write_bytes(log.read_bytes().replace(b"bad-topic", name))
    before = set(tmp_path.rglob("*"))
    store = stores.killed(store)
    assert stores.events(RecoveryDone)[-1].messages == 3
    assert numbers(store) == [0, 2]
    assert set(tmp_path.rglob("*")) <= before, "nothing stands where the name points to"
    store.close()


@pytest.mark.parametrize("lost", ["consumequeue", "consumequeue/orders/1", "index"])
def test_lost_queues_and_indexes_are_built_again_byte_for_byte(lost: str) -> None:
    stores = Stores(index_entries=400)
    store = filled(stores)
    store.crash()
    before = stores.sim_disk.image()
    stores.disk.remove_tree(lost)
    stores.disk.remove("checkpoint")
    store = stores.opened()
    after = stores.sim_disk.image()
    kept = [name for name in before if not name.startswith("index")]
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert [data for name, data in after.items() if name.startswith("index")] == [
        data for name, data in before.items() if name.startswith("index")
    ]


def test_a_torn_last_record_is_cut_off_and_its_place_taken_again() -> None:
    stores = Stores()
    store = stores.opened()
    done = stores.put(store, *[message(n) for n in range(5)])
    store.crash()
    with_hole = bytearray(stores.disk.read(LOG) or b"")
    at = done[3].physical_offset + 95
    with_hole[at : at + 4] = b"\0\0\0\0"
    stores.disk.write(LOG, bytes(with_hole))
    store = stores.opened()
    report = stores.events(RecoveryDone)[-1]
    assert report.messages == 3
    assert report.truncated_bytes == done[4].physical_end - done[3].physical_offset
    assert (numbers(store), store.max_offset("orders", 0)) == ([0, 1, 2], 3)
    assert stores.put(store, message(9))[0].physical_offset == done[3].physical_offset
    store = stores.killed(store)
    assert numbers(store) == [0, 1, 2, 9]  # message 4, cut off before, does not rise again


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("at", [0, 1_000, 5_000])
def test_a_log_that_is_garbled_says_from_where_on_and_how_much_was_cut(at: int, clean: bool) -> None:
    stores = Stores()
    store = filled(stores)
    end = store.max_physical_offset
    if clean:
        store.close()
    else:
        store.crash()
    name = f"commitlog/{at // 4096 * 4096:020}"
    garbled = bytearray(stores.disk.read(name) or b"")
    garbled[at % 4096 : at % 4096 + 300] = b"\xff" * 300
    stores.disk.write(name, bytes(garbled))
    store = stores.opened()
    report = store.recovered
    assert report is not None
    assert store.max_physical_offset == report.end_offset <= at
    blanks = 8 * 4096  # a file's last bytes may be blank
    assert end - report.end_offset - blanks < report.truncated_bytes <= end - report.end_offset
    assert report.truncated_bytes >= 300
    assert stores.events(RecoveryDone)[-1].truncated_bytes == report.truncated_bytes
    store.close()
    assert stores.opened().recovered.truncated_bytes == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("path", ["commitlog", "consumequeue", "consumequeue/orders/0", "index"])
def test_a_file_in_the_place_of_a_directory_is_damage_and_no_empty_store(tmp_path: Path, path: str) -> None:
    stores = Stores(FileDisk(tmp_path))
    filled(stores).close()
    shutil.rmtree(tmp_path / path)
    (tmp_path / path).write_bytes(b"")
    with pytest.raises(StoreError, match=f"{path} is a file, and has to be a directory"):
        stores.opened()


def test_recovery_begins_at_the_file_the_checkpoint_vouches_for() -> None:
    stores = Stores()
    store = filled(stores, 70)
    stores.advance(120)
    stores.put(store, message(70, queue_id=0))
    stores.advance(120)
    store.crash()
    assert store.checkpoint.min_timestamp_ms > 0
    stores.opened()
    report = stores.events(RecoveryDone)[-1]
    assert report.from_offset == 12_288  # its first record is older than the newest that was surely flushed
    assert report.messages == 71 - len(store.log.files.files[:-1]) * 18


def test_after_a_clean_stop_only_the_last_three_files_are_read() -> None:
    stores = Stores()
    store = filled(stores, 90)
    files = [file.base for file in store.log.files.files]
    store.close()
    store = stores.opened()
    assert stores.events(RecoveryDone)[-1].from_offset == files[-3]
    assert len(numbers(store, 0)) == 45


def test_without_any_log_the_queues_go_too() -> None:
    stores = Stores()
    store = filled(stores)
    store.close()
    stores.disk.remove_tree("commitlog")
    store = stores.opened()
    assert list(store.queues()) == []
    assert stores.put(store, message(0))[0][1:][3:4] == (0,)


def test_a_queue_lost_after_its_first_log_file_begins_with_fillers() -> None:
    stores = Stores()
    store = filled(stores, 60)
    store.age_files(1000)
    store.clean(manual=True)
    low, high = store.min_offset("orders", 0), store.max_offset("orders", 0)
    store.crash()
    stores.disk.remove_tree("consumequeue/orders/0")
    stores.disk.remove("checkpoint")
    store = stores.opened()
    assert (store.min_offset("orders", 0), store.max_offset("orders", 0)) == (low, high)
    assert numbers(store) == list(range(2 * low, 60, 2))
    raw = stores.disk.read(f"consumequeue/orders/0/{low // 10 * 200:020d}")
    assert raw is not None
    assert raw[: low % 10 * 20] == (bytes(8) + b"\x7f\xff\xff\xff" + bytes(8)) * (low % 10)


def test_a_store_of_other_file_sizes_is_refused_with_both_sizes() -> None:
    stores = Stores()
    filled(stores).close()
    other = Stores(stores.disk, commit_log_file_bytes=8192)
    with pytest.raises(StoreError, match="4096 bytes; this store is configured for files of 8192"):
        other.opened()
    stores.opened()  # the failed try holds no lock


def test_two_stores_cannot_have_one_directory(tmp_path: Path) -> None:
    stores = Stores(FileDisk(tmp_path))
    store = stores.opened()
    assert (tmp_path / "lock").read_bytes() == b"lock"
    with pytest.raises(Locked, match="already open"):
        stores.opened()
    store.close()
    stores.opened().crash()


def test_a_file_that_was_only_being_created_is_no_obstacle() -> None:
    stores = Stores()
    filled(stores, 5).crash()
    stores.disk.write("commitlog/00000000000000004096", b"")
    assert numbers(stores.opened()) == [0, 2, 4]


def test_what_is_found_at_each_step_is_reported() -> None:
    stores = Stores()
    store = stores.killed(filled(stores))
    steps = stores.events(RecoveryDone)[-1].steps
    assert steps[:3] == ("log files 2", "index files 3, deleted 1", "queues 2")
    assert steps[-1] == f"end {store.max_physical_offset}"
