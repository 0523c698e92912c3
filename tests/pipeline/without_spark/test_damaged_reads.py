"""Reads of damaged stores without Spark: every reader returns each intact record once."""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox.message.compression import ZLIB_FLAGS, compress
from sandbox.pipeline.sources import records
from sandbox.pipeline.sources.records import rows_of
from sandbox.pipeline.sources.store import StoreSource
from sandbox.store.reader import StoreReader
from sandbox.store.reader_files import FileRun, OpenFiles
from sandbox.store_columns.queue_positions import log_files, queues_of
from tests.pipeline.store_reads import streaming, written
from tests.unit.store.damage import overwrite
from tests.unit.store.stores import Stores, message

COUNT = 900
UNITS = f"consumequeue/orders/0/{0:020}"
LARGE = {"consume_queue_file_entries": 1_000, "commit_log_file_bytes": 1 << 16}


def batch(root: Path, **given_options: str) -> list[dict[str, Any]]:
    """As Spark reads once."""
    reader = StoreSource({"path": str(root), **given_options}).reader(None)
    return [row for part in reader.partitions() for made in reader.read(part) for row in made.to_pylist()]


def offsets_by(root: Path) -> dict[str, list[int]]:
    """The queue offsets that every reader returns."""
    with StoreReader(root) as reader:
        independent = [one.queue_offset for one in reader.read("orders", 0, 0, 10_000)]
    return {
        "batch": [row["queueOffset"] for row in batch(root)],
        "stream": [row[3] for row in streaming(path=str(root)).run()],
        "rows": [row["queueOffset"] for made in rows_of(root) for row in made.to_pylist()],
        "reader": independent,
    }


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    stores = Stores(**LARGE)
    store = stores.opened()
    stores.put(store, *(message(number) for number in range(COUNT)))
    store.close()
    return stores.sim_disk.image()


@pytest.fixture
def root(files: dict[str, bytes], tmp_path: Path) -> Path:
    return written(files, tmp_path / "store")


BAD_UNITS = {
    "zeros": bytes(20),
    "far": struct.pack(">qiq", 1 << 60, 205, 0),
    "negative": struct.pack(">qiq", -5, 205, 0),
    "low": struct.pack(">qiq", 1, 205, 0),
    "no length": struct.pack(">qiq", 9_000, -1, 0),
    "filler": struct.pack(">qiq", 0, 0x7FFF_FFFF, 0),
}


@pytest.mark.parametrize("kind", BAD_UNITS)
@pytest.mark.parametrize("number", [0, 450, 898])
def test_a_bad_unit_costs_its_own_message_alone(root: Path, number: int, kind: str) -> None:
    overwrite(root / UNITS, 20 * number, BAD_UNITS[kind])
    expected = [n for n in range(COUNT) if n != number]
    assert offsets_by(root) == dict.fromkeys(("batch", "stream", "rows", "reader"), expected)


@pytest.mark.parametrize("at", [12, 15])
def test_a_record_of_another_queue_is_no_row_of_any_reader(root: Path, at: int) -> None:
    """Option `queueId` asks the directory, a filter asks the record."""
    with StoreReader(root) as reader:
        [third] = reader.read("orders", 0, 3, 4)
    [log] = [one for one in log_files(root) if one.start <= third.physical_offset < one.end]
    overwrite(Path(log.path), third.physical_offset - log.start + at, b"\x05")
    assert [row["queueOffset"] for row in batch(root)] == [n for n in range(COUNT) if n != 3]
    assert {row["queueId"] for row in batch(root)} == {0}
    for queue_id in (0, 5, 5 << 24):
        filtered = [row for row in batch(root) if row["queueId"] == queue_id]
        assert batch(root, queueId=str(queue_id)) == filtered


@contextmanager
def vanishing(monkeypatch: pytest.MonkeyPatch, path: Path) -> Iterator[None]:
    """The file goes when its directory has just been listed."""
    scandir = os.scandir

    class Listing(list[Any]):
        def __enter__(self) -> Any:
            return iter(self)

        def __exit__(self, *_: object) -> None:
            pass

    def listed(directory: Any) -> Any:
        with scandir(directory) as entries:
            found = Listing(entries)
        if str(directory) == str(path.parent):
            path.unlink(missing_ok=True)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", listed)
        yield


def test_a_file_that_vanishes_while_it_is_listed_hides_no_other(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = log_files(root)
    with vanishing(monkeypatch, Path(before[0].path)):
        assert log_files(root) == before[1:]
    with vanishing(monkeypatch, Path(before[1].path)), OpenFiles() as opened:
        assert [file.path for file in FileRun(root / "commitlog", opened).files] == [log.path for log in before[2:]]
    index = sorted((root / "index").iterdir())
    with vanishing(monkeypatch, index[0]), StoreReader(root) as reader:
        assert [file.path for file in reader.index_files()] == index[1:]
    with vanishing(monkeypatch, root / "consumequeue" / "orders" / "none"):
        assert queues_of(root) == [("orders", 0)]


def test_bodies_are_unpacked_a_few_at_a_time_and_one_that_never_ends_stays_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = Stores(max_message_bytes=1 << 17, commit_log_file_bytes=1 << 18)
    store = stores.opened()
    bodies = [bytes(100_000) + bytes([number]) for number in range(12)]
    for number, body in enumerate(bodies):
        stores.put(store, message(number, body=compress(body), flags=ZLIB_FLAGS))
    bomb = compress(bytes(66 << 20))
    stores.put(store, message(12, body=bomb, flags=ZLIB_FLAGS))
    store.close()
    root = written(stores.sim_disk.image(), tmp_path)
    monkeypatch.setattr(records, "UNPACKED_BYTES", 300_000)
    made = list(rows_of(root, ["queueOffset", "body", "properties", "keys"]))
    assert [len(one) for one in made] == [3, 3, 3, 3, 1]
    rows = [row for one in made for row in one.to_pylist()]
    assert [row["body"] for row in rows] == [*bodies, bomb]
    assert [(row["queueOffset"], row["keys"]) for row in rows] == [(n, f"k{n}") for n in range(13)]
