"""Verification: every damage is found, at its position, and nothing is found where there is none."""

import fcntl
import os
import struct
from pathlib import Path

import pytest

from sandbox.kernel.errors import StoreError
from sandbox.message.record import STORE_MS_AT, Layout
from sandbox.store.disk import FileDisk
from sandbox.store.mapped_file import MapPool
from sandbox.store.mapped_file_queue import MappedFileQueue
from sandbox.store.reader import StoreReader
from sandbox.store.reader_index import keys_of
from sandbox.store_audit.one_process import verify
from sandbox.store_audit.verdict import NORMAL_STATES
from tests.golden.golden_stores import unpack
from tests.pipeline.store_reads import written
from tests.unit.store.damage import flip, index_file, overwrite
from tests.unit.store.stores import Stores, message

LOG = "commitlog/00000000000000000000"
SECOND = f"commitlog/{1_048_576:020}"
QUEUE = "consumequeue/GoldenBasic/0"
FIRST = f"{QUEUE}/{0:020}"
ENTRIES_AT = 40 + 4 * 1_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return unpack("basic-clean", tmp_path)


def rows(root: Path) -> list[tuple[str, str, int]]:
    return [(finding.kind, finding.file, finding.position) for finding in verify(root).findings]


def notes(root: Path) -> dict[str, int]:
    """The normal states that the audit counts, of a store without findings."""
    verdict = verify(root)
    assert verdict.findings == []
    assert verdict.sound
    return {name: verdict.checked[name] for name in NORMAL_STATES if verdict.checked[name]}


def test_a_flipped_bit_in_a_body_is_a_wrong_checksum_and_nothing_else(root: Path) -> None:
    flip(root / LOG, 90)
    assert rows(root) == [("crc", LOG, 0)]
    assert verify(root).checked["records"] == 153


@pytest.mark.parametrize("at", [2, 5, 30, 84])
def test_a_record_that_is_none_any_more_is_stepped_over(root: Path, at: int) -> None:
    flip(root / LOG, 214 + at)  # the second record
    assert rows(root) == [("unreadable", LOG, 214)]
    assert verify(root).checked["records"] == 152


def test_a_record_whose_topic_is_not_utf_8_is_no_record(root: Path) -> None:
    with StoreReader(root) as reader:
        damaged, item = reader.message_at(214), reader.log.layout(214)
        assert damaged is not None
        assert item is not None
        assert isinstance(item.found, Layout)
    flip(root / LOG, 214 + item.found.topic_at, 0x80)
    [finding] = verify(root).findings
    assert (finding.kind, finding.file, finding.position) == ("unreadable", LOG, 214)
    assert finding.says == (
        f"its topic is not UTF-8; {damaged.store_bytes} bytes are lost; "
        f"1 queue units and {len(keys_of(damaged))} index entries lead there"
    )
    assert verify(root).checked["records"] == 152


def test_a_flipped_bit_in_a_queue_unit_is_found_where_it_is(root: Path) -> None:
    flip(root / FIRST, 20 * 3 + 19)
    assert rows(root) == [("wrong_unit", FIRST, 60)]
    text = verify(root).findings[0].says
    assert text.startswith("offset 3: tags_code ")
    assert "the record says" in text


def test_a_missing_unit_is_found_where_it_should_be(root: Path) -> None:
    overwrite(root / FIRST, 20 * 11, bytes(20))  # the last of twelve
    assert rows(root) == [("missing_unit", FIRST, 220)]
    overwrite(root / FIRST, 20 * 4, bytes(20))  # and one in the middle
    assert rows(root) == [("missing_unit", FIRST, 80), ("missing_unit", FIRST, 220)]


def test_a_unit_for_no_message_is_found(root: Path) -> None:
    overwrite(root / FIRST, 20 * 12, struct.pack(">qiq", 5, 100, 0))
    assert rows(root) == [("orphan_unit", FIRST, 240)]
    with StoreReader(root) as reader:
        assert reader.max_offset("GoldenBasic", 0) == 12, "a reader goes no further than the last unit it can trust"


@pytest.mark.parametrize("physical", [5, 13_133_236, 1 << 62, -7])
def test_a_unit_for_no_message_is_found_in_an_open_store_too(root: Path, physical: int) -> None:
    (root / "abort").touch()
    overwrite(root / FIRST, 20 * 12, struct.pack(">qiq", physical, 100, 0))
    assert rows(root) == [("orphan_unit", FIRST, 240)]


ENTRY_FIELDS = [(2, "wrong_entry"), (10, "wrong_entry"), (15, "wrong_time"), (19, "broken_chain")]


@pytest.mark.parametrize(("at", "kind"), ENTRY_FIELDS)
def test_a_flipped_bit_in_an_index_entry_is_found_where_it_is(root: Path, at: int, kind: str) -> None:
    flip(index_file(root), ENTRIES_AT + 20 * 5 + at)
    assert rows(root) == [(kind, f"index/{index_file(root).name}", ENTRIES_AT + 100)]
    assert not verify(root).sound


def test_a_wrong_slot_and_a_wrong_header_are_found(root: Path) -> None:
    path = index_file(root)
    slot = next(at for at in range(40, ENTRIES_AT, 4) if any(path.read_bytes()[at : at + 4]))
    overwrite(path, slot, struct.pack(">i", 0))
    assert rows(root) == [("wrong_slot", f"index/{path.name}", slot)]
    overwrite(path, 32, struct.pack(">i", 5))
    assert ("wrong_header", f"index/{path.name}", 32) in rows(root)


def test_a_hole_in_the_log_is_lost_bytes(root: Path) -> None:
    overwrite(root / LOG, 214, bytes(512))
    [finding] = verify(root).findings
    assert (finding.kind, finding.position) == ("unreadable", 214)
    assert "bytes are lost" in finding.says


def test_a_torn_last_record_is_an_error_only_if_a_queue_points_to_it(root: Path) -> None:
    with StoreReader(root) as reader:
        last = list(reader.records())[-1]
    second = root / "commitlog" / "1048576".zfill(20)
    overwrite(second, last.physical_offset + last.store_bytes - 1_048_576, b"\x00\x00\x01\x00\xda\xa3\x20\xa7rest")
    assert [(finding.severity, finding.kind) for finding in verify(root).findings] == [("warning", "torn_tail")]
    assert verify(root).sound
    overwrite(second, last.physical_offset - 1_048_576 + 4, b"\x00")
    assert ("torn_record", SECOND, last.physical_offset - 1_048_576) in rows(root)


def test_units_that_an_open_store_has_not_written_yet_are_counted(root: Path) -> None:
    overwrite(root / FIRST, 20 * 11, bytes(20))
    (root / "abort").touch()
    assert notes(root) == {"not_dispatched": 1}


def test_keys_that_the_index_of_an_open_store_has_not_yet_are_counted(root: Path) -> None:
    """The last message has two keys; the index ends before both, or between them."""
    (root / "abort").touch()
    path = index_file(root)
    count = struct.unpack_from(">i", path.read_bytes(), 36)[0]
    for missing in (1, 2):
        overwrite(path, 36, struct.pack(">i", count - missing))
        assert notes(root) == {"not_indexed": missing}


def test_a_store_that_a_process_holds_is_in_use(root: Path) -> None:
    expected = [("missing_unit", FIRST, 220)]
    overwrite(root / FIRST, 20 * 11, bytes(20))
    with (root / "lock").open("r+b") as lock:
        assert rows(root) == expected
        fcntl.lockf(lock, fcntl.LOCK_EX)
        assert notes(root) == {"not_dispatched": 1}


def test_records_of_queues_without_files_are_counted(root: Path) -> None:
    (root / FIRST).unlink()
    (root / FIRST).parent.rmdir()
    assert notes(root) == {"without_queue": 12}


def test_records_stored_after_a_clock_was_set_back_are_counted(tmp_path: Path) -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *(message(number) for number in range(6)))
    store.close()
    root = written(stores.sim_disk.image(), tmp_path)
    with StoreReader(root) as reader:
        records = list(reader.records())
    for later in (records[1], records[3]):
        log = root / f"commitlog/{0:020}"
        overwrite(log, later.physical_offset + STORE_MS_AT, struct.pack(">q", later.store_ms + 5))
    assert notes(root) == {"time_goes_back": 2}


def test_a_unit_that_points_to_a_half_message_is_found(root: Path) -> None:
    """A record of sys flag 0x4 takes no queue offset and no unit."""
    with StoreReader(root) as reader:
        unit = reader.queue("GoldenBasic", 0).unit(11)
        assert unit is not None
    log = root / "commitlog" / f"{unit.physical_offset // 1_048_576 * 1_048_576:020}"
    flip(log, unit.physical_offset % 1_048_576 + 39, 0x4)
    assert rows(root) == [("orphan_unit", FIRST, 220)]


def test_deleted_log_files_take_their_messages_along_and_no_one_complains(root: Path) -> None:
    (root / LOG).unlink()
    verdict = verify(root)
    assert verdict.findings == []
    assert verdict.checked["records"] == 1
    with StoreReader(root) as reader:
        assert (reader.min_offset("GoldenBig", 1), reader.max_offset("GoldenBig", 1)) == (3, 4)
        assert (reader.min_offset("GoldenBasic", 0), reader.max_offset("GoldenBasic", 0)) == (0, 12)
        assert list(reader.read("GoldenBasic", 0, 0, 12)) == []
        assert reader.offset_by_time("GoldenBig", 1, 0) == 3


def test_a_lost_log_file_in_the_middle_is_a_gap(root: Path) -> None:
    third = root / "commitlog" / "2097152".zfill(20)
    third.write_bytes((root / LOG).read_bytes())
    (root / "commitlog" / "1048576".zfill(20)).unlink()
    assert ("gap", SECOND, 0) in rows(root)


def test_files_of_different_size_are_read_but_not_passed_over(root: Path) -> None:
    os.truncate(root / "commitlog" / "1048576".zfill(20), 400_000)
    verdict = verify(root)
    assert [(finding.severity, finding.kind) for finding in verdict.findings] == [("warning", "file_sizes")]
    assert verdict.checked["records"] == 153


def sizes_text(root: Path) -> str:
    """The sentence about the length of a queue file, which follows that about its missing units."""
    [finding] = [finding for finding in verify(root).findings if finding.kind in ("file_sizes", "missing_unit")]
    return finding.says.rpartition("; ")[2] if finding.kind == "file_sizes" else finding.says.partition("; ")[2]


def test_b5_an_empty_last_file_says_which_brokers_start_on_it_and_ours_does(root: Path) -> None:
    """RocketMQ: `MappedFileQueue.load`, from 5.1.3 on with an empty last file; `MappedFileQueue` of ours."""
    queue = root / FIRST
    os.truncate(queue, 0)
    assert sizes_text(root) == (
        "the file is empty: RocketMQ before 5.1.3, 4.9.8 too, refuses to start on it; RocketMQ from 5.1.3 on and "
        "QueueViz's broker delete it and start"
    )
    disk = FileDisk(root)
    files = MappedFileQueue(disk, MapPool(disk, 4), QUEUE, 20_000)
    files.load()
    assert files.files == []
    assert not queue.exists()


@pytest.mark.parametrize("size", [0, 400])
def test_b5_on_a_file_of_another_size_no_broker_starts(root: Path, size: int) -> None:
    queue = root / FIRST
    queue.with_name("20000".zfill(20)).write_bytes(queue.read_bytes())
    os.truncate(queue, size)
    assert sizes_text(root) == (
        "files differ in size: RocketMQ, 4.9.8 and 5.x, and QueueViz's broker refuse to start on them"
    )
    disk = FileDisk(root)
    with pytest.raises(StoreError, match=f"has {size} bytes; this store is configured for files of 20000"):
        MappedFileQueue(disk, MapPool(disk, 4), QUEUE, 20_000).load()


def test_a_store_without_index_is_sound_and_says_how_many_keys_it_has(root: Path) -> None:
    index_file(root).unlink()
    assert notes(root) == {"not_indexed": 312}


def test_findings_have_a_limit_and_the_rest_is_counted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.store_audit.verdict.MAX_FINDINGS", 3)
    overwrite(index_file(root), ENTRIES_AT + 20, bytes(20 * 40))
    verdict = verify(root)
    assert len(verdict.findings) == 3
    assert verdict.checked["omitted"] > 10
    assert not verdict.sound
