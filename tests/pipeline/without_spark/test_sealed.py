"""Sealed log files, without Spark: whatever happens to a store or to its sealing, its rows are those of the store."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sandbox.kernel.errors import StoreError
from sandbox.pipeline.jobs.job import Given, Source
from sandbox.pipeline.runs.error_sentences import sentence_of
from sandbox.pipeline.sealed import entries, plan, sealing, writing
from sandbox.pipeline.sealed.entries import SealedElsewhere, entries_in, held
from sandbox.pipeline.sealed.plan import TRIMMED, look
from sandbox.pipeline.sealed.reading import parts_of
from sandbox.pipeline.sealed.sealing import unsealed_bytes
from sandbox.store_audit.one_process import audit
from tests.golden.golden_stores import NAMES, unpack
from tests.pipeline.damaged import LOG_BYTES, damaged, sound
from tests.pipeline.sealed_reads import NO_SESSION, files_in, rows_alone, rows_through, sealed, states
from tests.pipeline.store_reads import Broker, written
from tests.unit.store.damage import overwrite
from tests.unit.store.stores import message
from tests.wide import many, seeds

LOGS = 7
EVERYDAY, NIGHTLY = 12, 40


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return written(sound().files, tmp_path / "store")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "sealed"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path / "store")
    yield made
    made.store.crash()


def why(root: Path, directory: Path) -> list[str | None]:
    return [one.why for one in look(root, directory)]


def test_a_closed_store_is_sealed_to_its_end_and_read_without_its_log(root: Path, directory: Path) -> None:
    assert states(root, directory) == ["sealed"] * LOGS
    parts = parts_of(root, directory)
    assert (len(parts.files), parts.is_whole) == (LOGS, True)
    assert rows_through(root, directory) == rows_alone(root)
    assert files_in(directory) == {file.name for file in parts.files} | {
        f"{start * LOG_BYTES:020}.json" for start in range(LOGS)
    }
    assert states(root, directory) == ["kept"] * LOGS


def test_what_the_sealed_file_is_like(root: Path, directory: Path) -> None:
    sealed(root, directory)
    group = pq.ParquetFile(parts_of(root, directory).files[0]).metadata.row_group(0)
    columns = {column.path_in_schema: column for column in map(group.column, range(group.num_columns))}
    assert {column.compression for column in columns.values()} == {"UNCOMPRESSED"}
    dictionaries = {name for name, column in columns.items() if "RLE_DICTIONARY" in column.encodings}
    assert dictionaries == set(writing.DICTIONARIES)
    assert {column.has_offset_index for column in columns.values()} == {True}
    assert {name for name, column in columns.items() if column.has_column_index} == set(writing.STATISTICS)


@pytest.mark.golden
@pytest.mark.parametrize("name", NAMES)
def test_a_real_broker_s_store_is_read_the_same(name: str, tmp_path: Path, directory: Path) -> None:
    root = unpack(name, tmp_path / "golden")
    before = rows_alone(root)
    assert "sealed" in states(root, directory)
    assert rows_through(root, directory) == before


def test_a_broker_at_work_keeps_its_last_file_and_what_it_writes_is_read_from_the_log(
    broker: Broker, directory: Path
) -> None:
    broker.put(50)
    *rolled, last = sealed(broker.root, directory)
    assert ({one.state for one in rolled}, last.state, last.why) == ({"sealed"}, "left", plan.LIVE)
    parts = parts_of(broker.root, directory)
    assert (len(parts.files), parts.is_whole) == (len(rolled), False)
    for _ in range(3):
        broker.put(15)
        assert rows_through(broker.root, directory) == rows_alone(broker.root)
    assert states(broker.root, directory)[: len(rolled) + 1] == ["kept"] * len(rolled) + ["sealed"]


def test_what_is_written_between_planning_and_reading_leaves_no_gap(broker: Broker, directory: Path) -> None:
    """A store that was closed when it was sealed, and whose broker goes on in the same file."""
    broker.put(25)
    broker.store.close()
    sealed(broker.root, directory)
    parts = parts_of(broker.root, directory)
    broker.store = broker.stores.opened()
    broker.put(40)
    options = {"skippedLogs": str([list(one) for one in parts.skipped])}
    rows = [row for file in parts.files for row in pq.read_table(file).to_pylist()]
    rows += rows_alone(broker.root, options)
    assert [row["queueOffset"] for row in rows] == list(range(65))
    assert "other queue units point into the log file" in why(broker.root, directory)
    assert rows_through(broker.root, directory) == rows_alone(broker.root)


def test_records_that_are_not_in_their_queues_yet_are_waited_for(broker: Broker, directory: Path) -> None:
    broker.put(25)
    broker.put(1, topic="payments")
    for number in range(40):
        broker.store.put_message(message(number, topic="payments"))
    refused = [one.why for one in sealed(broker.root, directory) if one.state == "refused"]
    assert refused
    assert set(refused) == {"its records are not yet in their queues"}
    broker.store.dispatch()
    assert "refused" not in states(broker.root, directory)
    assert rows_through(broker.root, directory) == rows_alone(broker.root)


def test_what_retention_took_is_read_no_more_and_its_sealed_file_goes(broker: Broker, directory: Path) -> None:
    broker.put(50)
    before = sealed(broker.root, directory)
    broker.remove_old()
    broker.put(5)
    rows = rows_through(broker.root, directory)
    assert rows == rows_alone(broker.root)
    assert 0 < len(rows) < 55
    after = sealed(broker.root, directory)
    dropped = [one.log_start for one in after if one.state == "dropped"]
    assert dropped == [one.log_start for one in before if one.state == "sealed"]
    assert not set(entries_in(directory)) & set(dropped)
    assert len(files_in(directory)) == 2 * len(entries_in(directory))


def test_a_queue_that_begins_within_a_sealed_file_is_read_from_the_log(root: Path, directory: Path) -> None:
    sealed(root, directory)
    [first, *_] = sorted((root / "consumequeue" / "orders" / "0").iterdir())
    first.unlink()
    assert rows_through(root, directory) == rows_alone(root)
    assert "other queue units point into the log file" in why(root, directory)


def test_rows_that_a_reader_of_the_store_would_leave_out_are_not_read_from_a_sealed_file(
    root: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed(root, directory)
    bounds = plan._bounds(root)
    monkeypatch.setattr(plan, "_bounds", lambda _: {**bounds, ("orders", 0): (1, bounds["orders", 0][1])})
    assert why(root, directory) == [TRIMMED] + [None] * (LOGS - 1)
    assert [(one.state, one.why) for one in sealed(root, directory)][:2] == [("left", TRIMMED), ("kept", None)]


def overwritten_quietly(log: Path) -> None:
    before = log.stat()
    overwrite(log, 300, b"\x5a")
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "a byte of the log": (lambda log, _: overwrite(log, 300, b"\x5a"), "the log file has another hash"),
    "a byte of the log, not its time": (lambda log, _: overwritten_quietly(log), "the log file has another hash"),
    "the log shorter": (lambda log, _: os.truncate(log, LOG_BYTES - 1), "the log file has another end offset"),
    "the rows shorter": (lambda _, rows: os.truncate(rows, 5_000), "its Parquet file has another size"),
    "the rows' footer": (
        lambda _, rows: overwrite(rows, rows.stat().st_size - 40, b"\x5a"),
        "its Parquet file has another footer",
    ),
    "the rows' page index": (
        lambda _, rows: overwrite(rows, entries_in(rows.parent)[0].footer_at, b"\x5a"),
        "its Parquet file has another footer",
    ),
    "the rows gone": (lambda _, rows: rows.unlink(), "its Parquet file is missing"),
    "the rows a directory": (lambda _, rows: (rows.unlink(), rows.mkdir()), "its Parquet file has another size"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_sealed_file_is_not_trusted_when_anything_differs(root: Path, directory: Path, change: str) -> None:
    sealed(root, directory)
    entry = entries_in(directory)[0]
    work, reason = CHANGES[change]
    work(root / "commitlog" / f"{0:020}", directory / entry.file)
    assert why(root, directory) == [reason] + [None] * (LOGS - 1)
    assert rows_through(root, directory) == rows_alone(root)


def test_a_copy_of_a_store_is_known_by_its_hash_and_hashed_once(
    root: Path, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed(root, directory)
    copy = Path(shutil.copytree(root, tmp_path / "copy"))
    assert states(copy, directory) == ["kept"] * LOGS
    monkeypatch.setattr(entries, "sha256_of", lambda path: pytest.fail(f"{path} is hashed again"))
    assert why(copy, directory) == [None] * LOGS


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b'{"version": 1}', b"\xff" * 30, "version", "units_crc", "footer_crc", "file"]
)
def test_a_garbled_entry_is_none(root: Path, directory: Path, text: bytes | str) -> None:
    sealed(root, directory)
    path = entries.entry_path(directory, 0)
    if isinstance(text, bytes):
        path.write_bytes(text)
    else:
        path.write_bytes(path.read_bytes().replace(f'"{text}": '.encode(), f'"{text}": 9'.encode()))
    assert rows_through(root, directory) == rows_alone(root)
    assert states(root, directory) == ["sealed"] + ["kept"] * (LOGS - 1)
    assert len(files_in(directory)) == 2 * LOGS


@pytest.mark.parametrize(
    ("written", "path"),
    [("file:///srv/a%20store/files", "/srv/a store/files"), ("file:/srv/files", "/srv/files"), ("/srv/x", "/srv/x")],
)
def test_a_sealed_file_that_spark_cannot_read_is_named(written: str, path: str) -> None:
    name = "00000000000000016384-48e82cc817ae6c99-69253e48.parquet"
    said = sentence_of(
        Exception(
            "An error occurred while calling o9.parquet.\n: org.apache.spark.SparkException: "
            f"[FAILED_READ_FILE.NO_HINT] Encountered error while reading file {written}/{name}.  "
            "SQLSTATE: KD001"
        )
    )
    assert said.startswith(f"The sealed log file {path}/{name} is damaged or was deleted during the run. ")


@pytest.mark.parametrize("seed", seeds(EVERYDAY, NIGHTLY))
def test_a_damaged_store_has_the_same_rows_and_findings_sealed_or_not(seed: int, tmp_path: Path) -> None:
    damaged(seed, tmp_path / "before")
    expected, findings = rows_alone(tmp_path / "before"), audit({"s": tmp_path / "before"})
    sealed(tmp_path / "before", tmp_path / "late")
    assert rows_through(tmp_path / "before", tmp_path / "late") == expected, "damaged, then sealed"
    assert audit({"s": tmp_path / "before"}) == findings
    read = {Path(file).name[:20] for file in parts_of(tmp_path / "before", tmp_path / "late").files}
    assert not read & {Path(one.file).name for one in findings[0].findings if one.file.startswith("commitlog/")}

    written(sound().files, tmp_path / "after")
    sealed(tmp_path / "after", tmp_path / "early")
    damaged(seed, tmp_path / "after")
    assert rows_through(tmp_path / "after", tmp_path / "early") == expected, "sealed, then damaged"
    sealed(tmp_path / "after", tmp_path / "early")
    assert rows_through(tmp_path / "after", tmp_path / "early") == expected, "and sealed again"


class Killed(BaseException):
    """The process is gone."""


STEPS: tuple[tuple[Any, str], ...] = (
    (os, "fsync"),
    (os, "replace"),
    (Path, "unlink"),
    (Path, "write_bytes"),
    (pq.ParquetWriter, "write_table"),
)


def test_what_a_task_left_that_died_is_removed_with_the_end_of_the_others(
    root: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spread(_: Any, tasks: list[plan.Task], work: Callable[[plan.Task], writing.Outcome]) -> list[writing.Outcome]:
        writing._draft_of(directory / f"{0:020}.json", []).touch()
        return [work(task) for task in tasks]

    monkeypatch.setattr(sealing, "spread", spread)
    made = sealing.seal_stores(NO_SESSION, {"s": root}, {"s": directory})
    assert [one.state for one in made] == ["sealed"] * LOGS
    assert len(files_in(directory)) == 2 * LOGS


def test_tasks_of_two_machines_write_no_common_file(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drafts: list[Path] = []
    for node in ("one", "two"):
        monkeypatch.setattr("platform.node", lambda node=node: node)
        writing._draft_of(directory / "rows", drafts)
    assert len(set(drafts)) == 2


def killed_before(number: int, work: Callable[[], object], steps: tuple[tuple[Any, str], ...] = STEPS) -> bool:
    """Return whether the step existed; the write of that step is torn."""
    taken = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **more: Any) -> Any:
            nonlocal taken
            taken += 1
            if taken > number:  # once gone it does nothing any more
                if real.__name__ == "write_bytes" and taken == number + 1:
                    real(given[0], given[1][: len(given[1]) // 2])
                raise Killed
            return real(*given, **more)

        return step

    with pytest.MonkeyPatch.context() as patched:
        for owner, name in steps:
            patched.setattr(owner, name, counted(getattr(owner, name)))
        try:
            work()
        except Killed:
            return True
    return False


@pytest.mark.parametrize("part", [0, *many([3, LOGS - 1])])
def test_a_sealing_that_is_killed_at_any_step_leaves_the_rows_and_the_next_one_ends_it(
    part: int, root: Path, tmp_path: Path
) -> None:
    """One sealed file of all has another log file now, so that entries and files are removed and written."""
    sealed(root, tmp_path / "first")
    overwrite(root / "commitlog" / f"{part * LOG_BYTES:020}", LOG_BYTES - 1, b"\x01")
    expected, number = rows_alone(root), 0
    while True:
        directory = Path(shutil.copytree(tmp_path / "first", tmp_path / str(number)))
        is_killed = killed_before(number, lambda at=directory: sealed(root, at))
        assert rows_through(root, directory) == expected, number
        if not is_killed:
            break
        assert set(states(root, directory)) <= {"kept", "sealed"}, number
        assert (rows_through(root, directory), len(files_in(directory))) == (expected, 2 * LOGS), number
        number += 1
    assert number > 8


def test_two_sealings_of_one_store_do_not_meet(root: Path, directory: Path) -> None:
    with held(directory), pytest.raises(SealedElsewhere, match="Another run writes sealed files to"):
        sealed(root, directory)
    assert states(root, directory) == ["sealed"] * LOGS


def test_a_full_disk_is_a_reason_and_leaves_nothing(
    root: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    refused = sealed(root, directory)
    assert {(one.state, one.why) for one in refused} == {
        ("refused", "its Parquet file cannot be written: no space left on device")
    }
    assert files_in(directory) == set()


def test_what_is_sealed_is_not_due(root: Path, directory: Path) -> None:
    assert unsealed_bytes(root, directory) == (LOGS - 1) * LOG_BYTES
    sealed(root, directory)
    assert unsealed_bytes(root, directory) == 0


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch, root: Path, directory: Path) -> Callable[[int], None]:
    """Seals ahead of a job where so many bytes are due, without Spark."""
    monkeypatch.setattr(sealing, "spread", lambda _, tasks, work: [work(task) for task in tasks])
    given: Any = Given(None, Source({"s": root}, {}), {}, root, sealed={"s": directory})  # type: ignore[arg-type]

    def sealed_ahead(least_bytes: int) -> None:
        monkeypatch.setattr(sealing, "AHEAD_BYTES", least_bytes)
        sealing.seal_ahead(given)

    return sealed_ahead


def test_a_large_audit_seals_ahead_and_a_small_one_makes_nothing(
    ahead: Callable[[int], None], root: Path, directory: Path
) -> None:
    ahead((LOGS - 1) * LOG_BYTES + 1)
    assert not directory.exists()
    ahead((LOGS - 1) * LOG_BYTES)  # the last file of a closed store comes with the others
    assert len(parts_of(root, directory).files) == LOGS
    overwrite(root / "commitlog" / f"{0:020}", 300, b"\x5a")
    ahead(LOGS * LOG_BYTES)
    assert sorted(entries_in(directory)) == [n * LOG_BYTES for n in range(1, LOGS)], "what is not true is removed"


def test_an_audit_goes_on_while_another_run_seals(ahead: Callable[[int], None], root: Path, directory: Path) -> None:
    with held(directory):
        ahead(0)
    assert entries_in(directory) == {}


def test_a_directory_that_is_no_store_is_not_looked_at(tmp_path: Path, directory: Path) -> None:
    with pytest.raises(StoreError, match="is not a store"):
        sealed(tmp_path / "nowhere", directory)
