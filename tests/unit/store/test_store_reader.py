"""Reading stores that someone else owns: what is no store, what is torn, what is being written."""

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.kernel.errors import StoreError
from sandbox.store.reader import Checkpoint, StoreReader
from sandbox.store.reader_files import OpenFiles
from sandbox.store.reader_index import IndexFileReader
from tests.golden.golden_stores import unpack
from tests.golden.independent_reader import hash_of_key
from tests.unit.store.damage import overwrite

LOG, QUEUE = "commitlog/00000000000000000000", "consumequeue/GoldenBasic/0/00000000000000000000"
HOLD = """
import fcntl, sys
with open(sys.argv[1], "a+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return unpack("basic-clean", tmp_path)


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir(), lambda path: path.write_text("x")])
def test_what_is_no_store_is_refused_with_a_sentence(make: object, tmp_path: Path) -> None:
    assert callable(make)
    make(tmp_path / "x")
    with pytest.raises(StoreError, match="is not a store: "):
        StoreReader(tmp_path / "x")


def test_a_store_that_was_opened_but_never_written_is_a_store(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "checkpoint").write_bytes(bytes(4096))
    with StoreReader(tmp_path) as reader:
        assert reader.queues() == []
        assert list(reader.records()) == []
        assert reader.max_physical_offset() == 0
        assert reader.checkpoint() == Checkpoint(0, 0, 0)
        assert reader.max_offset("T", 0) == reader.min_offset("T", 0) == reader.offset_by_time("T", 0, 5) == 0
        assert reader.query("T", "key", 32, 0, 2**62) == ([], 0, 0)


def test_a_reader_goes_no_further_than_the_last_whole_unit(root: Path) -> None:
    overwrite(root / QUEUE, 20 * 12, struct.pack(">qi", 0, 214))  # half a unit
    with StoreReader(root) as reader:
        assert reader.max_offset("GoldenBasic", 0) == 12
    overwrite(root / QUEUE, 20 * 12, struct.pack(">qiq", 0, 214, 0))  # a whole one, of another message
    with StoreReader(root) as reader:
        assert reader.max_offset("GoldenBasic", 0) == 12
        assert [m.queue_offset for m in reader.read("GoldenBasic", 0, 0, 99)] == list(range(12))


def test_a_reader_sees_what_is_written_after_it_was_made(root: Path) -> None:
    unit = (root / QUEUE).read_bytes()[20 * 11 : 20 * 12]
    overwrite(root / QUEUE, 20 * 11, bytes(20))
    with StoreReader(root) as reader:
        assert reader.max_offset("GoldenBasic", 0) == 11
        overwrite(root / QUEUE, 20 * 11, unit)
        assert reader.max_offset("GoldenBasic", 0) == 12


def test_a_record_whose_queue_unit_is_missing_still_counts_as_the_logs_end(root: Path) -> None:
    with StoreReader(root) as reader:
        end = reader.max_physical_offset()
    shutil.rmtree(root / "consumequeue")
    with StoreReader(root) as reader:
        assert reader.max_physical_offset() == end
        assert len(list(reader.records())) == 153


def test_records_end_where_one_is_torn(root: Path) -> None:
    overwrite(root / LOG, 425 + 88, b"\xff" * 8)  # the body of the third
    with StoreReader(root) as reader:
        assert [m.physical_offset for m in reader.records()] == [0, 214]
        assert reader.message_at(3) is None


def test_files_deleted_under_the_reader_leave_it_standing(root: Path) -> None:
    with StoreReader(root) as reader:
        assert reader.max_offset("GoldenBasic", 0) == 12
        shutil.rmtree(root / "consumequeue" / "GoldenBasic")
        assert reader.max_offset("GoldenBasic", 0) == 0
        shutil.rmtree(root / "commitlog")
        assert list(reader.records()) == []
        assert list(reader.read("GoldenBig", 0, 0, 5)) == []


def test_a_length_out_of_all_reason_is_not_read(root: Path) -> None:
    overwrite(root / QUEUE, 8, struct.pack(">i", 0x7FFF_FFFE))
    overwrite(root / LOG, 0, struct.pack(">i", 0x7FFF_FFFE))
    with StoreReader(root) as reader:
        assert next(reader.records(), None) is None
        assert [m.queue_offset for m in reader.read("GoldenBasic", 0, 0, 3)] == [1, 2]


def test_config_falls_back_to_the_backup(root: Path) -> None:
    path = root / "config" / "consumerOffset.json"
    path.write_text('{"offsetTable":{"T@G":{0:1,')
    (root / "config" / "consumerOffset.json.bak").write_text(json.dumps({"offsetTable": {"T@G": {"0": 7}}}))
    with StoreReader(root) as reader:
        assert reader.consumer_offsets() == {("T", "G"): {0: 7}}
        path.unlink()
        assert reader.consumer_offsets() == {("T", "G"): {0: 7}}
        assert reader.config("nothing") is None


def test_the_process_that_holds_the_lock_is_named_and_keeps_it(root: Path) -> None:
    with (
        StoreReader(root) as reader,
        subprocess.Popen(
            [sys.executable, "-c", HOLD, str(root / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as holder,
    ):
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert reader.lock() == reader.lock() == (True, holder.pid)
        holder.communicate(b"")
        assert reader.lock() == (True, 0)
        (root / "lock").unlink()
        assert reader.lock() == (False, 0)


def index_bytes(slots: int, entries: int, keys: list[str]) -> bytes:
    """An index file as the format describes it."""
    table, rows = [0] * slots, [bytes(20)]
    for number, key in enumerate(keys, 1):
        key_hash = hash_of_key("T", key)
        rows.append(struct.pack(">iqii", key_hash, 100 * number, number // 10, table[key_hash % slots]))
        table[key_hash % slots] = number
    header = struct.pack(">qqqqii", 1000, 9000, 100, 100 * len(keys), sum(1 for slot in table if slot), len(rows))
    return (header + struct.pack(f">{slots}i", *table) + b"".join(rows)).ljust(40 + 4 * slots + 20 * entries, b"\0")


@pytest.mark.parametrize(("slots", "entries"), [(1_000, 4_000), (97, 400), (7, 20), (250, 1_000), (13, 111), (8, 8)])
def test_the_number_of_slots_is_found_out(slots: int, entries: int, tmp_path: Path) -> None:
    keys = [f"key{n % 5}-{n}" for n in range(min(entries - 1, 60))]
    path = tmp_path / "20261120045824166"
    path.write_bytes(index_bytes(slots, entries, keys))
    with OpenFiles() as opened:
        file = IndexFileReader(path, path.stat().st_size, opened)
        assert (file.slots, file.entries) == (slots, entries)
        for number, key in enumerate(keys, 1):
            assert 100 * number in file.find(hash_of_key("T", key), 32, 0, 2**62)


def test_a_chain_that_runs_in_a_circle_ends(tmp_path: Path) -> None:
    path = tmp_path / "20261120045824166"
    path.write_bytes(index_bytes(1_000, 4_000, ["a", "a", "a"]))
    overwrite(path, 40 + 4 * 1_000 + 20 * 1 + 16, struct.pack(">i", 3))
    with OpenFiles() as opened:
        file = IndexFileReader(path, path.stat().st_size, opened)
        assert file.find(hash_of_key("T", "a"), 32, 0, 2**62) == [300, 200, 100]


def test_few_files_are_open_at_once(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / str(number)).write_bytes(bytes([number]))
    with OpenFiles(limit=3) as opened:
        assert [opened.read(str(tmp_path / str(n)), 9, 0) for n in range(40)] == [bytes([n]) for n in range(40)]
        assert len(opened._descriptors) == 3
    assert opened.read(str(tmp_path / "gone"), 1, 0) == b""
