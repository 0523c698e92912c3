"""The audit of a store, without Spark: clean where nothing happened, one finding for each thing that did."""

import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.store.reader import StoreReader
from sandbox.store.reader_index import keys_of
from tests.golden.golden_stores import NAMES, unpack
from tests.pipeline.both_commands import agreed
from tests.unit.store.damage import flip, index_file, overwrite

FIRST = "0".zfill(20)
SECOND = "1048576".zfill(20)
ENTRIES_AT = 40 + 4 * 1_000
RECORDS = {"basic-clean": 153, "basic-crash": 153, "basic-recovered": 154}  # a half message put again
Place = tuple[str, str, int]
Damage = Callable[[Path], list[Place]]


def places(root: Path) -> list[Place]:
    return [(found.kind, found.file, found.position) for found in agreed(root).findings]


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
    """Cut the log in the middle of its last record."""
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


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return unpack("basic-clean", tmp_path)


@pytest.mark.golden
@pytest.mark.parametrize("name", NAMES)
def test_the_recorded_stores_are_clean(name: str, tmp_path: Path) -> None:
    verdict = agreed(unpack(name, tmp_path))
    assert verdict.findings == []
    seen = verdict.checked
    assert seen["records"] == seen["bodies"] == RECORDS[name]
    assert seen["units"] == seen["queue_units"] == RECORDS[name] - seen["not_for_queues"]
    assert seen["index_entries"] >= 312
    assert [seen[what] for what in ("not_dispatched", "before_queue", "without_queue", "omitted")] == [0, 0, 0, 0]
    physical, size = last_record(tmp_path / "store")
    assert (seen["log_start"], seen["log_end"]) == (0, physical + size)


@pytest.mark.parametrize("number", range(12))
def test_any_unit_of_a_queue_may_be_the_one_that_is_gone(root: Path, number: int) -> None:
    expected = zero_a_unit(root, number)
    assert places(root) == [expected]


def test_any_entry_of_the_index_may_be_the_one_that_leads_elsewhere(root: Path) -> None:
    path = index_file(root)
    sound = path.read_bytes()
    count = struct.unpack_from(">i", sound, 36)[0]
    for number in (*range(1, 6), *range(6, count - 3, 29), *range(count - 3, count)):
        path.write_bytes(sound)
        place = misdirect_an_entry(root, number)
        assert places(root) == [place], number


QUEUE = f"consumequeue/GoldenBasic/0/{FIRST}"


def damaged_unit(root: Path) -> list[Place]:
    flip(root / QUEUE, 20 * 3 + 19)
    return [("wrong_unit", QUEUE, 60)]


def unit_for_no_message(root: Path) -> list[Place]:
    overwrite(root / QUEUE, 20 * 12, struct.pack(">qiq", 5, 100, 0))
    return [("orphan_unit", QUEUE, 240)]


def lost_page(root: Path) -> list[Place]:
    overwrite(root / QUEUE, 20 * 2, bytes(20 * 5))
    return [("missing_unit", QUEUE, 40)]


def lost_queue_file(root: Path) -> list[Place]:
    (root / QUEUE).write_bytes(bytes(20_000))
    return [("missing_unit", QUEUE, 0)]


def exchanged_queue_files(root: Path) -> list[Place]:
    """As many findings as files, however many units they have."""
    other = f"consumequeue/GoldenBasic/1/{FIRST}"
    one, two = (root / QUEUE).read_bytes(), (root / other).read_bytes()
    (root / QUEUE).write_bytes(two)
    (root / other).write_bytes(one)
    return [("wrong_unit", QUEUE, 0), ("wrong_unit", other, 0)]


def hole_in_the_log(root: Path) -> list[Place]:
    overwrite(root / "commitlog" / FIRST, 214, bytes(512))
    return [("unreadable", f"commitlog/{FIRST}", 214)]


def head_that_is_none(root: Path) -> list[Place]:
    flip(root / "commitlog" / FIRST, 214 + 5)
    return [("unreadable", f"commitlog/{FIRST}", 214)]


def short_last_file(root: Path) -> list[Place]:
    os.truncate(root / "commitlog" / SECOND, 400_000)
    return [("file_sizes", f"commitlog/{SECOND}", 400_000)]


def short_first_file(root: Path) -> list[Place]:
    """Cut between two records."""
    os.truncate(root / "commitlog" / FIRST, 214)
    return [("unreadable", f"commitlog/{FIRST}", 214)]


def lost_last_file(root: Path) -> list[Place]:
    (root / "commitlog" / SECOND).unlink()
    return [("gap", f"commitlog/{SECOND}", 0)]


def lost_middle_file(root: Path) -> list[Place]:
    third = root / "commitlog" / "2097152".zfill(20)
    third.write_bytes(bytes(1_048_576))
    (root / "commitlog" / SECOND).unlink()
    return [("gap", f"commitlog/{SECOND}", 0)]


def rubbish_behind_the_log(root: Path) -> list[Place]:
    physical, size = last_record(root)
    at = physical + size - 1_048_576
    overwrite(root / "commitlog" / SECOND, at, b"\x00\x00\x01\x00\xda\xa3\x20\xa7rest")
    return [("torn_tail", f"commitlog/{SECOND}", at)]


def empty_slot(root: Path) -> list[Place]:
    path = index_file(root)
    slot = next(at for at in range(40, ENTRIES_AT, 4) if any(path.read_bytes()[at : at + 4]))
    overwrite(path, slot, bytes(4))
    return [("wrong_slot", f"index/{path.name}", slot)]


def empty_entry(root: Path) -> list[Place]:
    overwrite(index_file(root), ENTRIES_AT + 20 * 9, bytes(20))
    return [("wrong_entry", f"index/{index_file(root).name}", ENTRIES_AT + 180)]


def entry_of_another_time(root: Path) -> list[Place]:
    flip(index_file(root), ENTRIES_AT + 20 * 7 + 15)
    return [("wrong_time", f"index/{index_file(root).name}", ENTRIES_AT + 140)]


def broken_chain(root: Path) -> list[Place]:
    flip(index_file(root), ENTRIES_AT + 20 * 7 + 19)
    return [("broken_chain", f"index/{index_file(root).name}", ENTRIES_AT + 140)]


def header_field(at: int) -> Damage:
    def wrong(root: Path) -> list[Place]:
        flip(index_file(root), at + 7 if at < 32 else at + 3)
        return [("wrong_header", f"index/{index_file(root).name}", at)]

    return wrong


def alone(damage: Callable[[Path], Place]) -> Damage:
    return lambda root: [damage(root)]


ONE = (flip_a_body, zero_a_unit, cut_the_log, zero_the_tail, misdirect_an_entry)
DAMAGES: list[Damage] = [
    *map(alone, ONE),
    damaged_unit,
    unit_for_no_message,
    lost_page,
    lost_queue_file,
    exchanged_queue_files,
    hole_in_the_log,
    head_that_is_none,
    short_last_file,
    short_first_file,
    lost_last_file,
    lost_middle_file,
    rubbish_behind_the_log,
    empty_slot,
    empty_entry,
    entry_of_another_time,
    broken_chain,
    *(header_field(at) for at in (0, 8, 16, 24, 32)),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_consequences_of_a_damage_are_not_reported_again(root: Path, damage: Damage) -> None:
    expected = damage(root)
    verdict = agreed(root)
    assert [(found.kind, found.file, found.position) for found in verdict.findings] == expected
    assert verdict.sound == (not {kind for kind, _, _ in expected} - {"file_sizes", "torn_tail"})


def test_what_is_lost_says_what_leads_there(root: Path) -> None:
    with StoreReader(root) as reader:
        lost = [message for message in reader.records() if 214 <= message.physical_offset < 214 + 512]
        end = lost[-1].physical_offset + lost[-1].store_bytes
        keys = sum(len(keys_of(message)) for message in lost)
    hole_in_the_log(root)
    assert [found.says for found in agreed(root).findings] == [
        f"magic 00000000 is no record's; {end - 214} bytes are lost; "
        f"{len(lost)} queue units and {keys} index entries lead there"
    ]


def test_units_in_a_row_are_one_finding_that_says_how_many(root: Path) -> None:
    exchanged_queue_files(root)
    for found in agreed(root).findings:
        assert (found.items, found.queue_offset) == (12, 0)
        assert found.says.startswith("offset 0: physical_offset ")
        assert found.says.endswith(", and 11 more in a row behind it")


def test_a_log_that_ends_in_rubbish_may_be_on_its_way_as_long_as_the_store_is_open(root: Path) -> None:
    rubbish_behind_the_log(root)
    (root / "abort").touch()
    assert places(root) == []


def test_units_at_the_end_of_a_queue_may_be_on_their_way_as_long_as_the_store_is_open(root: Path) -> None:
    expected = zero_a_unit(root, 11)
    assert places(root) == [expected]
    (root / "abort").touch()
    assert places(root) == []
    assert agreed(root).checked["not_dispatched"] == 1


def test_findings_have_a_limit_and_the_rest_is_counted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.store_audit.piece_results.MAX_FINDINGS", 3)
    overwrite(index_file(root), ENTRIES_AT + 20, os.urandom(20 * 40))
    verdict = agreed(root)
    assert len(verdict.findings) <= 6
    assert verdict.checked["omitted"] > 10


def filled(place: str, data: bytes) -> Callable[[Path], object]:
    return lambda root: (root / place).write_bytes(data)


GARBLED: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "a short index": (lambda root: index_file(root).write_bytes(bytes(17)), ["file_sizes"]),
    "an index of rubbish": (lambda root: index_file(root).write_bytes(b"\x7f" * 84_040), ["wrong_header"]),
    "a cut index": (lambda root: os.truncate(index_file(root), 5_000), ["unknown_shape"]),
    "a log of three bytes": (filled(f"commitlog/{SECOND}", b"abc"), ["torn_record"]),
    "an empty log": (lambda root: [path.write_bytes(b"") for path in (root / "commitlog").iterdir()], ["gap"]),
    "a log of rubbish": (filled(f"commitlog/{FIRST}", b"\xff" * 1_048_576), ["unreadable"]),
    "a queue of an odd size": (lambda root: os.truncate(root / QUEUE, 20 * 12 + 7), ["file_sizes"]),
    "a queue of rubbish": (filled(QUEUE, b"\x01" * 20_000), ["orphan_unit", "wrong_unit"]),
}


@pytest.mark.parametrize("what", GARBLED)
def test_no_file_is_too_garbled_to_be_audited(root: Path, what: str) -> None:
    garble, expected = GARBLED[what]
    garble(root)
    assert sorted({kind for kind, _, _ in places(root)}) == expected
