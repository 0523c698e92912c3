"""A disk that fills up: every stored byte had its block before, a refusal changes nothing, and there is no SIGBUS."""

import errno
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.kernel.errors import StoreFull
from sandbox.store import blocks
from sandbox.store.disk import FileDisk
from sandbox.store.message_store import MessageStore
from sandbox.store.results import PutMessageStatus
from tests.server.server import ROOT
from tests.small_disk import mounted
from tests.unit.store.stores import Stores, message

SIZES: dict[str, Any] = {
    "commit_log_file_bytes": 1 << 20,
    "consume_queue_file_entries": 5_000,
    "index_slots": 50,
    "index_entries": 8_000,
}
NO_ROOM = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class NotingDisk(FileDisk):
    """Knows which bytes were reserved.  While `full` it gives no more."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.reserved: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self.full = False

    def reserve(self, path: str, start: int, end: int) -> None:
        if self.full:
            raise StoreFull(f"cannot write {path}: no space left on device") from NO_ROOM
        super().reserve(path, start, end)
        self.reserved[path].append((start, end))

    def stored_without_room(self) -> list[str]:
        """Mapped files with bytes that are not zero where nothing was reserved."""
        found = []
        for directory in ("commitlog", "consumequeue", "index"):
            for file in sorted(path for path in (self.root / directory).rglob("*") if path.is_file()):
                name, data = str(file.relative_to(self.root)), bytearray(file.read_bytes())
                for start, end in self.reserved[name]:
                    data[start:end] = bytes(end - start)
                if any(data):
                    found.append(name)
        return found


@pytest.fixture
def disk(tmp_path: Path) -> NotingDisk:
    return NotingDisk(tmp_path)


def test_whatever_is_stored_has_its_blocks_before(disk: NotingDisk) -> None:
    stores = Stores(disk, **SIZES)
    store = stores.opened()
    for life in range(3):
        for n in range(life * 6_000, life * 6_000 + 6_000, 30):
            stores.put(store, *[message(n + i, queue_id=i % 2) for i in range(20)])
            store.put_messages([message(n + i) for i in range(20, 30)])
            store.dispatch()
        assert disk.stored_without_room() == []
        store = stores.killed(store)
    store.queue("late", 0).put_run(7_000, bytes([1] * 20), store.max_physical_offset, 1)
    replica = NotingDisk(disk.root / "slave")
    copy = Stores(replica, **SIZES).opened()
    at = store.min_physical_offset
    while at < store.max_physical_offset:
        size = min(30_000, store.log.roll_next(at) - at, store.max_physical_offset - at)
        assert copy.append_replica(at, store.log.read(at, size) or b"")
        at += size
    copy.dispatch()
    assert len(store.log.files.files) > 3
    assert copy.max_offset("orders", 0) == store.max_offset("orders", 0)
    assert [disk.stored_without_room(), replica.stored_without_room()] == [[], []]
    store.close()
    copy.close()


def test_few_messages_take_little_of_the_disk(disk: NotingDisk) -> None:
    stores = Stores(disk, **{**SIZES, "commit_log_file_bytes": 64 << 20, "consume_queue_file_entries": 300_000})
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(100)])
    taken = sum(path.stat().st_blocks * 512 for path in disk.root.rglob("*"))
    assert taken < 3 << 20
    store.close()


def test_a_put_that_finds_no_room_is_refused_as_rocketmq_does_and_the_store_goes_on(disk: NotingDisk) -> None:
    stores = Stores(disk, **SIZES)
    store = stores.opened()
    stores.put(store, message(0))
    disk.full = True
    statuses = set()
    acknowledged = 1
    while PutMessageStatus.CREATE_MAPEDFILE_FAILED not in statuses:  # what was reserved is used up first
        statuses.add((put := store.put_message(message(acknowledged))).status)
        acknowledged += put.status is PutMessageStatus.PUT_OK
        store.dispatch()
    end = store.max_physical_offset
    assert acknowledged > 100
    assert store.put_messages([message(1), message(2)]).status is PutMessageStatus.CREATE_MAPEDFILE_FAILED
    assert (store.max_physical_offset, disk.stored_without_room()) == (end, [])
    disk.full = False
    assert store.put_message(message(acknowledged)).queue_offset == acknowledged
    store.dispatch()
    assert store.max_offset("orders", 0) == acknowledged + 1
    store = stores.killed(store)
    assert store.max_offset("orders", 0) == acknowledged + 1
    store.close()


def units(store: MessageStore) -> list[int]:
    found = [store.unit("orders", 0, offset) for offset in range(store.max_offset("orders", 0))]
    return [unit.physical_offset for unit in found if unit is not None]


def test_a_run_of_units_that_finds_no_room_half_way_is_put_once(disk: NotingDisk) -> None:
    stores = Stores(disk, commit_log_file_bytes=1 << 20, consume_queue_file_entries=10)
    store = stores.opened()
    stores.put(store, *[message(n) for n in range(5)])
    for n in range(5, 20):
        store.put_message(message(n))
    disk.full = True
    store.dispatch()
    assert store.max_offset("orders", 0) == 5
    disk.full = False
    store.dispatch()
    found = units(store)
    assert (len(found), found) == (20, sorted(set(found)))
    store.close()


def test_where_a_file_system_cannot_reserve_the_blocks_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(*_: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    disk = FileDisk(tmp_path)
    mapped = disk.map("file", 1 << 20)
    mapped.view[4_096:4_100] = b"kept"
    monkeypatch.setattr(blocks, "_allocate", cannot)
    disk.reserve("file", 0, 300_000)
    assert bytes(mapped.view[4_096:4_100]) == b"kept"
    assert (tmp_path / "file").stat().st_blocks * 512 >= 300_000
    assert (tmp_path / "file").stat().st_size == 1 << 20
    mapped.close()


def test_a_small_file_that_is_taken_in_parts_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, parts = os.write, iter([3, 2])
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[: next(parts, len(data))]))
    disk = FileDisk(tmp_path)
    disk.write("table", b"0123456789")
    assert disk.read("table") == b"0123456789"


def test_what_a_disk_refuses_is_reported_with_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise NO_ROOM

    reported: list[tuple[int | None, int]] = []
    disk = FileDisk(tmp_path)
    disk.refused = lambda why, asked_bytes: reported.append((why.errno, asked_bytes))
    disk.map("file", 1 << 20).close()
    monkeypatch.setattr(blocks, "_allocate", full)
    with pytest.raises(StoreFull, match="cannot write file: No space left"):
        disk.reserve("file", 4_096, 69_632)
    assert reported == [(errno.ENOSPC, 65_536)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "small", 4 << 20) as directory:
        yield directory


FILL = """
import shutil
import sys
from pathlib import Path
from sandbox.store.disk import FileDisk
from sandbox.store.results import PutMessageStatus
from tests.unit.store.stores import Stores, message

home = Path(sys.argv[1])
stores = Stores(FileDisk(home / "store"), commit_log_file_bytes=1 << 20, consume_queue_file_entries=1000,
                index_slots=50, index_entries=4000)
store = stores.opened()
stores.put(store, message(0))
(home / "other").write_bytes(bytes(shutil.disk_usage(home).free - 8192))
n = 1
while store.put_message(message(n)).status is PutMessageStatus.PUT_OK:
    store.dispatch()
    n += 1
print(n)
"""


def test_a_disk_that_is_full_ends_no_process(small_disk: Path) -> None:
    """A write into a hole of a file would end the process by SIGBUS."""
    done = subprocess.run(
        [sys.executable, "-c", FILL, small_disk], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50
