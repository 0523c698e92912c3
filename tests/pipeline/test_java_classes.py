"""The archive of Java's classes: who writes it, who uses it, and that a broken attempt is no obstacle."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox.pipeline import java_classes
from sandbox.pipeline.java_classes import STALE_MS, archive_of, keep
from sandbox.pipeline.launch import ENDED, Child, Order, Where
from tests.server.processes import processes_below

AT_ITS_END = "import pathlib, sys; sys.stdin.read(); pathlib.Path(sys.argv[1]).write_bytes(b'classes')"


def home(root: Path, version: str, *, has_own: bool) -> Path:
    (root / "lib" / "server").mkdir(parents=True)
    (root / "release").write_text(f'IMPLEMENTOR="Debian"\nJAVA_VERSION="{version}"\n')
    if has_own:
        (root / "lib" / "server" / "classes.jsa").touch()
    return root


def java(draft: Path, program: str = AT_ITS_END) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", program, str(draft)], stdin=subprocess.PIPE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "var" / "queueviz"


def draft_of(root: Path, folder: Path) -> Path:
    found = archive_of(root, {}, folder)
    assert found is not None
    assert found.draft is not None
    return found.draft


def test_the_first_has_it_written_and_the_next_one_reads_it(tmp_path: Path, folder: Path) -> None:
    jdk = home(tmp_path / "jdk", "17.0.15", has_own=True)
    first = archive_of(jdk, {}, folder)
    assert first is not None
    assert first.draft is not None
    assert f"-XX:ArchiveClassesAtExit={first.draft} " in first.options
    assert archive_of(jdk, {}, folder) is None, "one is being written"
    with java(first.draft) as process:
        keep(first.draft, process, is_wanted=True)
    assert [file.name for file in folder.iterdir()] == [first.path.name]
    second = archive_of(jdk, {}, folder)
    assert second is not None
    assert second.draft is None
    assert f"-XX:SharedArchiveFile={first.path} " in second.options


def test_a_java_without_an_archive_of_its_own_writes_a_cache_if_it_can(tmp_path: Path, folder: Path) -> None:
    found = archive_of(home(tmp_path / "25", "25.0.2", has_own=False), {}, folder)
    assert found is not None
    assert found.options.startswith(f"-XX:AOTCacheOutput={found.draft} ")
    assert archive_of(home(tmp_path / "21", "21.0.7", has_own=False), {}, folder) is None


def test_another_build_of_java_has_another_archive(tmp_path: Path, folder: Path) -> None:
    one = draft_of(home(tmp_path / "one", "17.0.15", has_own=True), folder)
    other = draft_of(home(tmp_path / "other", "17.0.16", has_own=True), folder)
    assert one.stem != other.stem


@pytest.mark.parametrize("name", ["SPARK_HOME", "SPARK_CONF_DIR"])
def test_who_names_another_spark_has_none(tmp_path: Path, folder: Path, name: str) -> None:
    assert archive_of(home(tmp_path / "jdk", "17.0.15", has_own=True), {name: str(tmp_path)}, folder) is None
    assert not folder.exists()


def test_without_room_or_a_known_java_spark_starts_as_it_did(tmp_path: Path) -> None:
    jdk = home(tmp_path / "jdk", "17.0.15", has_own=True)
    (tmp_path / "file").touch()
    assert archive_of(jdk, {}, tmp_path / "file" / "below") is None
    (jdk / "release").unlink()
    assert archive_of(jdk, {}, tmp_path / "var") is None


def test_a_process_that_has_done_nothing_leaves_it_to_another(tmp_path: Path, folder: Path) -> None:
    jdk = home(tmp_path / "jdk", "17.0.15", has_own=True)
    draft = draft_of(jdk, folder)
    draft.touch()
    with java(draft) as process:
        keep(draft, process, is_wanted=False)
        assert process.poll() is not None
    assert list(folder.iterdir()) == []


def test_a_java_that_writes_none_is_asked_again_after_an_hour(tmp_path: Path, folder: Path) -> None:
    jdk = home(tmp_path / "jdk", "17.0.15", has_own=True)
    draft = draft_of(jdk, folder)
    with java(draft, "import sys; sys.stdin.read()") as process:
        keep(draft, process, is_wanted=True)
    assert archive_of(jdk, {}, folder) is None
    begun = draft.with_suffix(".begun")
    os.utime(begun, (0, begun.stat().st_mtime - STALE_MS // 1_000 - 1))
    (folder / f"{draft.stem}.1").touch()  # of the process that was killed
    (folder / "spark-3.5.0-ab.jsa").touch()  # of jars that are gone
    draft_of(jdk, folder)
    assert [file.name for file in folder.iterdir()] == [begun.name]


@pytest.mark.pipeline
def test_spark_maps_what_its_first_process_wrote(golden: Path, tmp_path: Path, folder: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_classes, "FOLDER", folder)
    maps = []
    for turn in range(2):
        with ((tmp_path / "words").open("wb") as words,
              Child(Where("local[2]"), tmp_path / "spark", os.environ, errors=words) as child):
            child.order(Order(f"{turn}", "export", {"a": str(golden)}, {}, str(tmp_path / "out"), {}))
            last = next(report for report in child.reports() if report["state"] in ENDED)
            maps.append(mapped_below(child.process_id))
        assert last["state"] == "done", last
        assert [file.suffix for file in folder.iterdir()] == [".jsa"]
        assert b"cds" not in (tmp_path / "words").read_bytes()
    archive = str(next(folder.iterdir()))
    assert (archive in maps[0], archive in maps[1]) == (False, True)


def mapped_below(process_id: int) -> str:
    """Files that the processes started by it have mapped."""
    found = ""
    for process in processes_below(process_id):
        with suppress(OSError):
            found += Path(f"/proc/{process}/maps").read_text()
    return found
