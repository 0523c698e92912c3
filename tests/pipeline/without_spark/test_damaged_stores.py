"""Foreign and missing files of a store: findings of the audit that never end it."""

import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.kernel.errors import StoreError
from sandbox.pipeline.sources.records import rows_of
from sandbox.store.reader import StoreReader
from tests.golden.golden_stores import unpack
from tests.pipeline.both_commands import agreed
from tests.pipeline.store_reads import written
from tests.pipeline.without_spark.test_store_audit import FIRST, QUEUE, SECOND, Place, places
from tests.unit.store.damage import index_file, overwrite
from tests.unit.store.stores import Stores, message

FILE_BYTES = 1_048_576
LAST = "9437184".zfill(20)
Odd = Callable[[Path], str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return unpack("basic-clean", tmp_path)


def append(path: Path, data: bytes) -> None:
    path.write_bytes(path.read_bytes() + data)


def pipe(place: str) -> Odd:
    def made(root: Path) -> str:
        os.mkfifo(root / place)
        return place

    return made


def directory(place: str) -> Odd:
    def made(root: Path) -> str:
        (root / place).mkdir()
        return place

    return made


def file(place: str) -> Odd:
    def made(root: Path) -> str:
        (root / place).write_bytes(b"by hand")
        return place

    return made


def circle(place: str) -> Odd:
    def made(root: Path) -> str:
        (root / place).symlink_to(root / place)
        return place

    return made


def dangling(root: Path) -> str:
    (root / "index" / "link").symlink_to(root / "nowhere")
    return "index/link"


def no_text(root: Path) -> str:
    os.mkdir(os.fsencode(root / "consumequeue") + b"/\xff\xfe")
    return "consumequeue/\ufffd\ufffd"


ODD = [
    pipe(f"commitlog/{LAST}"),
    pipe(f"consumequeue/GoldenBasic/0/{LAST}"),
    pipe("index/20991120045824166"),
    pipe("consumequeue/GoldenBasic/9"),
    directory(f"commitlog/{LAST}"),
    directory(f"consumequeue/GoldenBasic/0/{LAST}"),
    directory("index/20991120045824166"),
    directory("consumequeue/GoldenBasic/²"),
    directory("consumequeue/GoldenBasic/٣"),
    directory("consumequeue/GoldenBasic/" + "9" * 29),
    directory("consumequeue/GoldenBasic/00"),
    file("commitlog/" + "9" * 20),
    file("commitlog/notes.txt"),
    file("commitlog/" + "512".zfill(20)),
    file("consumequeue/GoldenBasic/0/" + "40".zfill(20)),
    file("consumequeue/notes.txt"),
    file("consumequeue/GoldenBasic/notes.txt"),
    file(f"consumequeue/GoldenBasic/0/{'9' * 20}"),
    file("index/²²²²²²²²²²²²²²²²²"),
    circle(f"commitlog/{LAST}"),
    circle("consumequeue/circle"),
    circle("consumequeue/GoldenBasic/0/circle"),
    dangling,
    no_text,
]


@pytest.mark.parametrize("odd", ODD)
def test_an_entry_that_is_no_store_s_is_one_finding_and_costs_no_message(root: Path, odd: Odd) -> None:
    before = [row for batch in rows_of(root) for row in batch.to_pylist()]
    place = odd(root)
    assert places(root) == [("odd_entry", place, 0)]
    assert [row for batch in rows_of(root) for row in batch.to_pylist()] == before
    with StoreReader(root) as reader:
        read = [message for queue in reader.queues() for message in reader.read(*queue, 0, 1_000)]
        assert len(read) == len(before)
        assert reader.checkpoint() is not None


def test_what_may_not_be_read_is_a_finding_of_the_audit_and_a_sentence_of_readers(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a super-user one may read everything, so the system is asked in its name."""
    denied, may = str(root / QUEUE), os.access
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != denied and may(path, mode))
    assert ("odd_entry", QUEUE, 0) in places(root)
    with StoreReader(root) as reader, pytest.raises(StoreError, match=f"{denied} cannot be read: permission denied"):
        reader.queue("GoldenBasic", 0)


def long_log(root: Path) -> list[Place]:
    append(root / "commitlog" / FIRST, bytes(FILE_BYTES) + b"more")
    return [("file_sizes", f"commitlog/{FIRST}", FILE_BYTES)]


def log_that_goes_on_as_the_next_one(root: Path) -> list[Place]:
    append(root / "commitlog" / FIRST, (root / "commitlog" / SECOND).read_bytes())
    return [("file_sizes", f"commitlog/{FIRST}", FILE_BYTES)]


def long_last_log(root: Path) -> list[Place]:
    append(root / "commitlog" / SECOND, b"more")
    return [("file_sizes", f"commitlog/{SECOND}", FILE_BYTES)]


def long_queue(root: Path) -> list[Place]:
    append(root / QUEUE, bytes(20_000))
    return [("file_sizes", QUEUE, 20_000)]


def no_log(root: Path) -> list[Place]:
    shutil.rmtree(root / "commitlog")
    return [("gap", f"commitlog/{FIRST}", 0)]


def rubbish_in_a_file_behind_the_end(root: Path) -> list[Place]:
    name = "2097152".zfill(20)
    (root / "commitlog" / name).write_bytes(b"\x5a" * FILE_BYTES)
    return [("torn_tail", f"commitlog/{name}", 0)]


def garbled(name: str, data: bytes) -> Callable[[Path], list[Place]]:
    def made(root: Path) -> list[Place]:
        (root / name).write_bytes(data)
        return [("garbled", name, 0)]

    return made


def pipe_for_a_checkpoint(root: Path) -> list[Place]:
    (root / "checkpoint").unlink()
    os.mkfifo(root / "checkpoint")
    return [("garbled", "checkpoint", 0)]


def count(value: int) -> Callable[[Path], list[Place]]:
    def made(root: Path) -> list[Place]:
        overwrite(index_file(root), 36, struct.pack(">i", value))
        return [("wrong_header", f"index/{index_file(root).name}", 36)]

    return made


DAMAGES = [
    long_log,
    log_that_goes_on_as_the_next_one,
    long_last_log,
    long_queue,
    no_log,
    rubbish_in_a_file_behind_the_end,
    pipe_for_a_checkpoint,
    garbled("checkpoint", b"\x7f" * 4_096),
    garbled("checkpoint", b"\x01" * 100),
    garbled("config/topics.json", b"\xff\xfe\x00rubbish"),
    garbled("config/topics.json", b"[1, 2]"),
    count(-1),
    count(0),
    count(2**31 - 1),
    count(4_001),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_happened_is_one_finding_where_it_happened(root: Path, damage: Callable[[Path], list[Place]]) -> None:
    before = [row for batch in rows_of(root) for row in batch.to_pylist()]
    expected = damage(root)
    assert places(root) == expected
    if damage is not no_log:
        assert [row for batch in rows_of(root) for row in batch.to_pylist()] == before
        with StoreReader(root) as reader:
            assert len(list(reader.records())) == 153


def test_a_log_that_is_gone_says_how_much_leads_there(root: Path) -> None:
    no_log(root)
    [found] = agreed(root).findings
    assert found.says == "the log ends here; 153 queue units and 312 index entries lead there"


def many_files(root: Path) -> Path:
    """Small files: 10 units a queue file, 20 entries an index file, a message every 3 s."""
    stores = Stores()
    store = stores.opened()
    stores.put(store, *(message(number, UNIQ_KEY=f"{number:032X}") for number in range(60)), each_s=3)
    store.close()
    return written(stores.sim_disk.image(), root)


def found(root: Path) -> list[tuple[str, str]]:
    return [(one.kind, one.file) for one in agreed(root).findings]


def test_an_index_file_missing_between_two_is_a_finding(tmp_path: Path) -> None:
    root = many_files(tmp_path)
    names = sorted(path.name for path in (root / "index").iterdir())
    assert (len(names) > 4, found(root)) == (True, [])
    (root / "index" / names[2]).unlink()
    assert found(root) == [("missing_file", f"index/{names[3]}")]


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_queue_file_that_is_missing_is_a_finding_of_all_its_units(tmp_path: Path, number: int) -> None:
    root = many_files(tmp_path)
    missing = f"consumequeue/orders/0/{200 * number:020}"
    (root / missing).unlink()
    [one] = agreed(root).findings
    assert (one.kind, one.file, one.position, one.items) == ("missing_unit", missing, 0, 10)
    assert one.says.endswith(", and none for the next 9")
