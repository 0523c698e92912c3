"""The audit of a store, without Spark: clean where nothing happened, one finding for each thing that did."""

import os
import struct
from pathlib import Path

import pytest

from sandbox.pipeline.audit.verdict import Verdict
from sandbox.pipeline.audit.whole import audit
from sandbox.store.reader import StoreReader
from tests.golden.golden_stores import NAMES, unpack

FIRST = "0".zfill(20)
SECOND = "1048576".zfill(20)
ENTRIES_AT = 40 + 4 * 1_000
RECORDS = {"basic-clean": 153, "basic-crash": 153, "basic-recovered": 154}  # a half message put again
Place = tuple[str, str, int]


def checked(root: Path) -> Verdict:
    [verdict] = audit({"golden": root})
    return verdict


def places(root: Path) -> list[Place]:
    return [(found.kind, found.file, found.position) for found in checked(root).findings]


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def flip(path: Path, at: int) -> None:
    overwrite(path, at, bytes([path.read_bytes()[at] ^ 0x10]))


def index_file(root: Path) -> Path:
    return next((root / "index").iterdir())


def last_record(root: Path) -> tuple[int, int]:
    with StoreReader(root) as reader:
        *_, last = reader.records()
    return last.physical_offset, last.store_bytes


def flip_a_body(root: Path) -> Place:
    flip(root / "commitlog" / FIRST, 90)
    return "crc", f"commitlog/{FIRST}", 0


def zero_a_unit(root: Path, number: int = 4) -> Place:
    overwrite(root / "consumequeue/GoldenBasic/0" / FIRST, 20 * number, bytes(20))
    return "missing_unit", f"consumequeue/GoldenBasic/0/{FIRST}", 20 * number


def cut_the_log(root: Path) -> Place:
    """In the middle of its last record."""
    physical, size = last_record(root)
    path = max((root / "commitlog").iterdir(), key=lambda file: file.name if any(file.read_bytes()) else "")
    os.truncate(path, physical - int(path.name) + size // 2)
    return "torn_record", f"commitlog/{path.name}", physical - int(path.name)


def zero_the_tail(root: Path) -> Place:
    """The same, as a file system leaves it that knew the size and not the bytes."""
    place = cut_the_log(root)
    os.truncate(root / place[1], 1_048_576)
    return place


def misdirect_an_entry(root: Path, number: int = 5) -> Place:
    at = ENTRIES_AT + 20 * number
    overwrite(index_file(root), at + 4, struct.pack(">q", 77_777))
    return "wrong_entry", f"index/{index_file(root).name}", at


@pytest.fixture(params=NAMES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return unpack(request.param, tmp_path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return unpack("basic-clean", tmp_path)


@pytest.mark.golden
@pytest.mark.parametrize("name", NAMES)
def test_the_recorded_stores_are_clean(name: str, tmp_path: Path) -> None:
    verdict = checked(unpack(name, tmp_path))
    assert verdict.findings == []
    seen = verdict.checked
    assert seen["records"] == seen["bodies"] == RECORDS[name]
    assert seen["units"] == seen["queue_units"] == RECORDS[name] - seen["not_for_queues"]
    assert seen["index_entries"] >= 312
    assert [seen[what] for what in ("not_dispatched", "before_queue", "without_queue", "omitted")] == [0, 0, 0, 0]
    physical, size = last_record(tmp_path / "store")
    assert (seen["log_start"], seen["log_end"]) == (0, physical + size)


@pytest.mark.golden
@pytest.mark.parametrize("tear", [cut_the_log, zero_the_tail])
def test_four_damages_are_four_findings_each_where_it_is(store: Path, tear: object) -> None:
    assert callable(tear)
    expected = [tear(store), flip_a_body(store), zero_a_unit(store), misdirect_an_entry(store)]
    assert sorted(places(store)) == sorted(expected)


@pytest.mark.parametrize("damage", [flip_a_body, zero_a_unit, cut_the_log, zero_the_tail, misdirect_an_entry])
def test_one_damage_is_one_finding(store: Path, damage: object) -> None:
    assert callable(damage)
    expected = damage(store)
    assert places(store) == [expected]


@pytest.mark.parametrize("number", range(12))
def test_any_unit_of_a_queue_may_be_the_one_that_is_gone(root: Path, number: int) -> None:
    expected = zero_a_unit(root, number)
    assert places(root) == [expected]


def test_any_entry_of_the_index_may_be_the_one_that_leads_elsewhere(root: Path) -> None:
    path = index_file(root)
    sound = path.read_bytes()
    count = struct.unpack_from(">i", sound, 36)[0]
    for number in range(1, count):
        path.write_bytes(sound)
        place = misdirect_an_entry(root, number)
        assert places(root) == [place], number
