"""What is said where the Iceberg table of sealed files cannot be kept: one sentence, and the table is as it was."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sandbox.pipeline import iceberg
from sandbox.pipeline.iceberg import ICEBERG, NoIceberg
from sandbox.pipeline.sealed.entries import entries_in
from sandbox.pipeline.sentences import sentence_of
from tests.pipeline.sealed_reads import files_in, rows_alone, sealed
from tests.pipeline.sealed_tables import files_of, scanned, sealed_ahead, tabled
from tests.pipeline.test_seal_job import spoil
from tests.pipeline.without_spark.test_sealed import root
from tests.small_disk import mounted

__all__ = ["root"]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "sealed"


def said(root: Path, directory: Path) -> str:
    with pytest.raises((NoIceberg, OSError)) as raised:
        tabled(root, directory)
    return sentence_of(raised.value)


def test_another_store_s_table_is_not_changed(root: Path, directory: Path, tmp_path: Path) -> None:
    tabled(root, directory)
    before = files_of(directory)
    other = Path(shutil.copytree(root, tmp_path / "other" / root.name))
    assert said(other, directory) == (
        f"{directory}/iceberg has the Iceberg table of {root}, made at file://{directory}/iceberg/messages: for "
        f"{other} name another --sealed, or delete that directory.")
    assert files_of(directory) == before
    moved = Path(shutil.copytree(directory, tmp_path / "moved"))
    assert said(root, moved).startswith(f"{moved}/iceberg has the Iceberg table of {root}, made at file://{directory}/")


def test_without_the_package_it_is_said_what_to_install(root: Path, directory: Path,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    tabled(root, directory)
    before = files_in(directory)
    (root / "commitlog" / f"{0:020}").unlink()
    monkeypatch.setattr(iceberg, "find_spec", lambda _: None)
    assert said(root, directory) == (
        "Iceberg needs the package pyiceberg: install QueueViz with its extra, queueviz[iceberg].")
    sealed_ahead(root, directory)
    assert files_in(directory) == before, "what the table names is not removed"


def test_a_garbled_catalog_is_named(root: Path, directory: Path) -> None:
    tabled(root, directory)
    (directory / ICEBERG / "catalog.db").write_bytes(b"no database at all" * 99)
    assert said(root, directory) == (
        f"The Iceberg table in {directory}/iceberg cannot be used (file is not a database): if it is damaged, delete "
        "that directory, and seal with --format iceberg again.")
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
        f"The sealed log file {first} is damaged, and the Iceberg table is as it was: delete the file, "
        "and run this again.")
    assert scanned(directory) == []
    first.unlink()
    assert tabled(root, directory)[0] == "sealed"
    assert scanned(directory) == rows_alone(root)
