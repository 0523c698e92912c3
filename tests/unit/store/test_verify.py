"""Verification: every damage is found, at its position, and nothing is found where there is none."""

import os
import struct
from pathlib import Path

import pytest

from sandbox.kernel.errors import StoreError
from sandbox.store.disk import FileDisk
from sandbox.store.findings import VerifyReport
from sandbox.store.mapped_file import MapPool
from sandbox.store.mapped_file_queue import MappedFileQueue
from sandbox.store.reader import StoreReader
from sandbox.store.verify import verify
from tests.golden.golden_stores import unpack
from tests.unit.store.damage import flip, index_file, overwrite

LOG = "commitlog/00000000000000000000"
QUEUE = "consumequeue/GoldenBasic/0"
ENTRIES_AT = 40 + 4 * 1_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return unpack("basic-clean", tmp_path)


def checked(root: Path) -> VerifyReport:
    with StoreReader(root) as reader:
        return verify(reader)


def codes(root: Path) -> list[tuple[str, str, int]]:
    return [(finding.code, finding.where, finding.position) for finding in checked(root).findings]


def test_a_flipped_bit_in_a_body_is_a_wrong_checksum_and_nothing_else(root: Path) -> None:
    flip(root / LOG, 90)
    assert codes(root) == [("crc", "commitlog", 0)]
    assert checked(root).records == 153


@pytest.mark.parametrize("at", [2, 5, 30, 84])
def test_a_record_that_is_none_any_more_is_stepped_over(root: Path, at: int) -> None:
    flip(root / LOG, 214 + at)  # the second record
    report = checked(root)
    assert ("unreadable", "commitlog", 214) in codes(root)
    assert report.records == 152
    assert {finding.code for finding in report.findings} == {"unreadable", "orphan_unit", "orphan_entry"}


def test_a_flipped_bit_in_a_queue_unit_is_found_where_it_is(root: Path) -> None:
    flip(root / QUEUE / "0".zfill(20), 20 * 3 + 19)
    assert codes(root) == [("wrong_unit", QUEUE, 60)]
    text = checked(root).findings[0].text
    assert text.startswith("offset 3: tags_code ")
    assert "the record says" in text


def test_a_missing_unit_is_found_where_it_should_be(root: Path) -> None:
    overwrite(root / QUEUE / "0".zfill(20), 20 * 11, bytes(20))  # the last of twelve
    assert codes(root) == [("missing_unit", QUEUE, 220)]
    overwrite(root / QUEUE / "0".zfill(20), 20 * 4, bytes(20))  # and one in the middle
    assert codes(root) == [("missing_unit", QUEUE, 80), ("missing_unit", QUEUE, 220)]


def test_a_unit_for_no_message_is_found(root: Path) -> None:
    overwrite(root / QUEUE / "0".zfill(20), 20 * 12, struct.pack(">qiq", 5, 100, 0))
    assert codes(root) == [("orphan_unit", QUEUE, 240)]
    with StoreReader(root) as reader:
        assert reader.max_offset("GoldenBasic", 0) == 12, "a reader goes no further than the last unit it can trust"


ENTRY_FIELDS = [(2, "wrong_entry"), (10, "orphan_entry"), (15, "wrong_time"), (19, "broken_chain")]


@pytest.mark.parametrize(("at", "code"), ENTRY_FIELDS)
def test_a_flipped_bit_in_an_index_entry_is_found_where_it_is(root: Path, at: int, code: str) -> None:
    flip(index_file(root), ENTRIES_AT + 20 * 5 + at)
    found = codes(root)
    assert (code, f"index/{index_file(root).name}", ENTRIES_AT + 100) in found
    assert not checked(root).sound


def test_a_wrong_slot_and_a_wrong_header_are_found(root: Path) -> None:
    path = index_file(root)
    slot = next(at for at in range(40, ENTRIES_AT, 4) if any(path.read_bytes()[at : at + 4]))
    overwrite(path, slot, struct.pack(">i", 0))
    assert codes(root) == [("wrong_slot", f"index/{path.name}", slot)]
    overwrite(path, 32, struct.pack(">i", 5))
    assert ("wrong_header", f"index/{path.name}", 32) in codes(root)


def test_a_hole_in_the_log_is_lost_bytes(root: Path) -> None:
    overwrite(root / LOG, 214, bytes(512))
    found = checked(root).findings
    assert (found[0].code, found[0].position) == ("unreadable", 214)
    assert found[0].text.endswith("bytes are lost")


def test_a_torn_last_record_is_an_error_only_if_a_queue_points_to_it(root: Path) -> None:
    with StoreReader(root) as reader:
        last = list(reader.records())[-1]
    second = root / "commitlog" / "1048576".zfill(20)
    overwrite(second, last.physical_offset + last.store_bytes - 1_048_576, b"\x00\x00\x01\x00\xda\xa3\x20\xa7rest")
    assert [(f.severity, f.code) for f in checked(root).findings] == [("warning", "torn_tail")]
    assert checked(root).sound
    overwrite(second, last.physical_offset - 1_048_576 + 4, b"\x00")
    assert ("torn_record", "commitlog", last.physical_offset) in codes(root)


def test_what_an_open_store_has_not_dispatched_yet_is_a_note(root: Path) -> None:
    overwrite(root / QUEUE / "0".zfill(20), 20 * 11, bytes(20))
    (root / "abort").touch()
    report = checked(root)
    assert [(f.severity, f.code) for f in report.findings] == [("note", "behind")]
    assert report.sound


def test_deleted_log_files_take_their_messages_along_and_no_one_complains(root: Path) -> None:
    (root / LOG).unlink()
    report = checked(root)
    assert report.findings == []
    assert report.records == 1
    with StoreReader(root) as reader:
        assert (reader.min_offset("GoldenBig", 1), reader.max_offset("GoldenBig", 1)) == (3, 4)
        assert (reader.min_offset("GoldenBasic", 0), reader.max_offset("GoldenBasic", 0)) == (0, 12)
        assert list(reader.read("GoldenBasic", 0, 0, 12)) == []
        assert reader.offset_by_time("GoldenBig", 1, 0) == 3


def test_a_lost_log_file_in_the_middle_is_a_gap(root: Path) -> None:
    third = root / "commitlog" / "2097152".zfill(20)
    third.write_bytes((root / LOG).read_bytes())
    (root / "commitlog" / "1048576".zfill(20)).unlink()
    assert ("gap", "commitlog", 1_048_576) in codes(root)


def test_files_of_different_size_are_read_but_not_passed_over(root: Path) -> None:
    os.truncate(root / "commitlog" / "1048576".zfill(20), 400_000)
    report = checked(root)
    assert [(f.severity, f.code) for f in report.findings] == [("warning", "file_sizes")]
    assert report.records == 153


def sizes_texts(root: Path) -> list[str]:
    return [finding.text for finding in checked(root).findings if finding.code == "file_sizes"]


def test_b5_an_empty_last_file_says_which_brokers_start_on_it_and_ours_does(root: Path) -> None:
    """RocketMQ: `MappedFileQueue.load`, from 5.1.3 on with an empty last file; `MappedFileQueue` of ours."""
    queue = root / QUEUE / "0".zfill(20)
    os.truncate(queue, 0)
    assert sizes_texts(root) == [
        "the file is empty: RocketMQ before 5.1.3, 4.9.8 too, refuses to start on it; RocketMQ from 5.1.3 on and "
        "QueueViz's broker delete it and start"
    ]
    disk = FileDisk(root)
    files = MappedFileQueue(disk, MapPool(disk, 4), QUEUE, 20_000)
    files.load()
    assert files.files == []
    assert not queue.exists()


@pytest.mark.parametrize("size", [0, 400])
def test_b5_on_a_file_of_another_size_no_broker_starts(root: Path, size: int) -> None:
    queue = root / QUEUE / "0".zfill(20)
    queue.with_name("20000".zfill(20)).write_bytes(queue.read_bytes())
    os.truncate(queue, size)
    assert sizes_texts(root) == [
        "files differ in size: RocketMQ, 4.9.8 and 5.x, and QueueViz's broker refuse to start on them"
    ]
    disk = FileDisk(root)
    with pytest.raises(StoreError, match=f"has {size} bytes; this store is configured for files of 20000"):
        MappedFileQueue(disk, MapPool(disk, 4), QUEUE, 20_000).load()


def test_a_store_without_index_is_sound(root: Path) -> None:
    index_file(root).unlink()
    assert [(f.severity, f.code) for f in checked(root).findings] == [("note", "no_index")]


def test_findings_have_a_limit_and_the_rest_is_counted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.store.findings.MAX_FINDINGS", 3)
    overwrite(index_file(root), ENTRIES_AT + 20, os.urandom(20 * 40))
    report = checked(root)
    assert len(report.findings) == 3
    assert report.omitted > 10
    assert not report.sound
