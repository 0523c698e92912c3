"""The Iceberg table of sealed log files, without Spark: the same files, the rows of the store, a snapshot a change."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sandbox.pipeline.runs import iceberg
from sandbox.pipeline.runs.error_sentences import sentence_of
from sandbox.pipeline.runs.iceberg import ICEBERG, NoIceberg
from sandbox.pipeline.sealed import entries, plan, table, writing
from sandbox.pipeline.sealed.entries import entries_in, state_of
from tests.golden.golden_stores import NAMES, unpack
from tests.pipeline.damaged import LOG_BYTES, sound
from tests.pipeline.sealed_reads import files_in, rows_alone, sealed, spoil
from tests.pipeline.sealed_tables import counts, files_of, opened, scanned, sealed_ahead, sealed_files, tabled
from tests.pipeline.store_reads import Broker
from tests.pipeline.without_spark.test_sealed import LOGS, STEPS, broker, killed_before, root
from tests.small_disk import mounted
from tests.unit.store.damage import overwrite
from tests.wide import many

errors = pytest.importorskip("pyiceberg.exceptions")

__all__ = ["broker", "root"]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "sealed {1} 100%"


@pytest.mark.golden
@pytest.mark.parametrize("name", NAMES)
def test_a_real_broker_s_rows_are_those_of_its_store(name: str, tmp_path: Path, directory: Path) -> None:
    root = unpack(name, tmp_path / "golden")
    expected = rows_alone(root)
    tabled(root, directory)
    assert (root / "abort").exists() == (name == "basic-crash")
    assert plan.is_whole(root, plan.look(root, directory)) == (name != "basic-crash")
    sealed_to = max(entry.sealed_end for entry in entries_in(directory).values())
    assert scanned(directory) == [row for row in expected if row["physicalOffset"] < sealed_to]


def test_the_files_of_the_table_are_the_sealed_files_themselves(root: Path, directory: Path) -> None:
    sealed(root, directory)
    before = {file: state_of(file) for file in sealed_files(directory)}
    tabled(root, directory)
    assert files_of(directory) == sealed_files(directory)
    assert len(before) == LOGS
    assert {file: state_of(file) for file in files_of(directory)} == before, "not a byte was written to them"
    assert set(directory.rglob("*.parquet")) == set(before), "and none was copied"
    assert scanned(directory) == rows_alone(root)
    assert table.kept(directory, root)[1:3] == (sum(entry.rows for entry in entries_in(directory).values()), LOGS)


def test_columns_and_filters_are_applied(root: Path, directory: Path) -> None:
    tabled(root, directory)
    rows = rows_alone(root)
    for expression, chosen in (
        ("queueId = 1", lambda row: row["queueId"] == 1),
        ("topic = 'orders' and queueOffset >= 30", lambda row: row["topic"] == "orders" and row["queueOffset"] >= 30),
        ("keys = 'k7'", lambda row: row["keys"] == "k7"),
        ("topic = 'nothing'", lambda row: False),
    ):
        assert scanned(directory, row_filter=expression) == list(filter(chosen, rows)), expression
    some = ("physicalOffset", "properties")
    assert scanned(directory, selected_fields=some) == [{name: row[name] for name in some} for row in rows]


def test_only_what_is_new_is_registered_and_by_every_run_that_seals_there(broker: Broker, directory: Path) -> None:
    broker.put(50)
    tabled(broker.root, directory)
    before = files_of(directory)
    assert tabled(broker.root, directory)
    assert len(opened(directory).snapshots()) == 1, "nothing new is no snapshot"
    broker.put(40)
    tabled(broker.root, directory, is_asked=False)
    more = files_of(directory) - before
    assert more
    assert files_of(directory) == sealed_files(directory)
    assert counts(directory) == {"added": len(more), "deleted": 0, "total": len(more | before)}
    end = max(entry.sealed_end for entry in entries_in(directory).values())
    assert scanned(directory) == [row for row in rows_alone(broker.root) if row["physicalOffset"] < end]


def test_without_being_asked_for_there_is_no_table(root: Path, directory: Path) -> None:
    tabled(root, directory, is_asked=False)
    assert not (directory / ICEBERG).exists()


def test_what_retention_took_and_what_was_sealed_anew_leaves_in_the_snapshot_in_which_others_come(
    broker: Broker, directory: Path
) -> None:
    broker.put(50)
    tabled(broker.root, directory)
    [old] = opened(directory).snapshots()
    before = files_of(directory)
    broker.remove_old()
    broker.put(40)
    assert "dropped" in tabled(broker.root, directory).values()
    after = len(files_of(directory))
    assert after
    assert counts(directory) == {"added": after, "deleted": len(before), "total": after}
    assert not any(file.exists() for file in before)
    assert files_of(directory) == sealed_files(directory)
    assert {row["physicalOffset"] for row in scanned(directory)} <= {
        row["physicalOffset"] for row in rows_alone(broker.root)
    }
    with pytest.raises(FileNotFoundError, match=min(before).name):
        scanned(directory, snapshot_id=old.snapshot_id)


def test_a_lost_file_that_is_sealed_again_with_another_length_takes_its_place_under_its_name(
    root: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tabled(root, directory)
    before = files_of(directory)
    (directory / entries_in(directory)[0].file).unlink()
    monkeypatch.setattr(writing, "DICTIONARIES", [])
    assert tabled(root, directory)[0] == "sealed"
    assert counts(directory) == {"added": 1, "deleted": 1, "total": LOGS}
    assert files_of(directory) == before
    sizes = opened(directory).inspect.files().column("file_size_in_bytes").to_pylist()
    assert sorted(sizes) == sorted(file.stat().st_size for file in before)
    assert scanned(directory) == rows_alone(root)


def test_a_log_file_that_is_damaged_leaves_the_table(root: Path, directory: Path) -> None:
    tabled(root, directory)
    record, _ = sound().messages["orders", 0, 0]
    overwrite(root / record.file, record.at + 90, b"\x5a")
    assert tabled(root, directory)[0] == "refused"
    assert len(files_of(directory)) == LOGS - 1
    assert scanned(directory) == [row for row in rows_alone(root) if row["physicalOffset"] >= LOG_BYTES]


def test_a_sealed_file_of_another_size_is_never_registered(
    root: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed(root, directory)
    first = directory / entries_in(directory)[0].file
    os.truncate(first, 5_000)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        assert tabled(root, directory)[0] == "refused"
    assert files_of(directory) == sealed_files(directory)
    assert first not in files_of(directory)
    tabled(root, directory)
    assert (len(files_of(directory)), scanned(directory)) == (LOGS, rows_alone(root))


def test_an_audit_that_seals_ahead_keeps_the_table(root: Path, directory: Path) -> None:
    tabled(root, directory)
    (root / "commitlog" / f"{0:020}").unlink()
    sealed_ahead(root, directory)
    assert len(files_of(directory)) == LOGS - 1
    assert scanned(directory) == rows_alone(root)


def steps() -> tuple[tuple[Any, str], ...]:
    """Return all steps with those of the table: each metadata file and each change of the catalog."""
    from pyiceberg.io.pyarrow import PyArrowFile
    from sqlalchemy.orm import Session

    return (*STEPS, (PyArrowFile, "create"), (Session, "commit"))


@pytest.mark.parametrize("is_first", [False, *many([True])])
def test_killed_at_any_step_there_is_the_old_table_or_the_new_one(
    root: Path, directory: Path, tmp_path: Path, is_first: bool
) -> None:
    """One log file is gone, one has another hash, and one was not sealed; or there was no table before."""
    sealed(root, directory)
    third = entries_in(directory)[2 * LOG_BYTES]
    entries.entry_path(directory, third.log_start).unlink()
    (directory / third.file).unlink()
    if not is_first:
        table.keep(directory, root, list(entries_in(directory).values()))
    (root / "commitlog" / f"{0:020}").unlink()
    overwrite(root / "commitlog" / f"{LOG_BYTES:020}", LOG_BYTES - 1, b"\x01")
    from sqlalchemy.exc import OperationalError

    start = shutil.copytree(directory, tmp_path / "start")
    old = set() if is_first else files_of(directory)
    tabled(root, directory)
    new, expected = files_of(directory), rows_alone(root)
    assert (len(new), len(new & old)) == (LOGS - 1, 0 if is_first else LOGS - 3)
    number, found = 0, []
    while True:
        shutil.rmtree(directory)
        shutil.copytree(start, directory)
        is_killed = killed_before(number, lambda: tabled(root, directory), steps())
        try:
            found.append(files_of(directory))
        except (errors.NoSuchTableError, OperationalError):
            found.append(set())
        assert found[-1] in (old, new), number
        assert all(file.is_file() for file in found[-1]), number
        assert not found[-1] or len(scanned(directory)) == table.kept(directory, root).rows, number
        if not is_killed:
            break
        assert set(tabled(root, directory).values()) <= {"kept", "sealed", "dropped"}, number
        assert (files_of(directory), scanned(directory)) == (new, expected), number
        assert {directory / name for name in files_in(directory) - {ICEBERG} if not name.endswith(".json")} == new
        number += 1
    assert number > 15
    assert found == sorted(found, key=lambda files: files == new), "once new, it stays so"


# What is said where it cannot be kept; it is as it was then.


def said(root: Path, directory: Path) -> str:
    with pytest.raises((NoIceberg, OSError)) as raised:
        tabled(root, directory)
    return sentence_of(raised.value)


def test_another_store_s_table_is_not_changed(root: Path, directory: Path, tmp_path: Path) -> None:
    tabled(root, directory)
    before = files_of(directory)
    other = Path(shutil.copytree(root, tmp_path / "other" / root.name))
    assert said(other, directory) == (
        f"{directory}/iceberg has the Iceberg table of {root}, created at file://{directory}/iceberg/messages. "
        f"Choose another --sealed for {other}, or delete that directory."
    )
    assert files_of(directory) == before
    moved = Path(shutil.copytree(directory, tmp_path / "moved"))
    assert said(root, moved).startswith(
        f"{moved}/iceberg has the Iceberg table of {root}, created at file://{directory}/"
    )


def test_without_the_package_it_is_said_what_to_install(
    root: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tabled(root, directory)
    before = files_in(directory)
    (root / "commitlog" / f"{0:020}").unlink()
    monkeypatch.setattr(iceberg, "find_spec", lambda _: None)
    assert said(root, directory) == ("Iceberg needs the package pyiceberg. Install queueviz[iceberg].")
    sealed_ahead(root, directory)
    assert files_in(directory) == before, "what the table names is not removed"


def test_a_garbled_catalog_is_named(root: Path, directory: Path) -> None:
    tabled(root, directory)
    (directory / ICEBERG / "catalog.db").write_bytes(b"no database at all" * 99)
    assert said(root, directory) == (
        f"The Iceberg table in {directory}/iceberg cannot be used (file is not a database). If it is damaged, delete "
        "the directory and seal again with --format iceberg."
    )
    shutil.rmtree(directory / ICEBERG)
    tabled(root, directory)
    assert scanned(directory) == rows_alone(root)


def test_metadata_that_is_gone_is_named(root: Path, directory: Path) -> None:
    tabled(root, directory)
    shutil.rmtree(directory / ICEBERG / "messages")
    assert said(root, directory).startswith(f"The Iceberg table in {directory}/iceberg cannot be used (")


def test_a_directory_that_may_only_be_read_is_named_and_can_be_read(root: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "home", 8 << 20) as home:
        directory = home / "sealed"
        tabled(root, directory)
        subprocess.run(["mount", "-o", "remount,ro", home], check=True)
        assert scanned(directory) == rows_alone(root)
        assert said(root, directory) == f"{directory}/lock cannot be used: read-only file system."
        assert said(root, home / "new") == f"{home}/new cannot be used: read-only file system."


def test_a_sealed_file_with_a_damaged_page_is_named_and_the_table_as_it_was(root: Path, directory: Path) -> None:
    sealed(root, directory)
    first = directory / entries_in(directory)[0].file
    spoil(first)
    assert said(root, directory) == (
        f"The sealed log file {first} is damaged; the Iceberg table is unchanged. Delete the file "
        "and run the job again."
    )
    assert scanned(directory) == []
    first.unlink()
    assert tabled(root, directory)[0] == "sealed"
    assert scanned(directory) == rows_alone(root)
