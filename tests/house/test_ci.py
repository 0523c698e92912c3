"""Exit codes of `.ci/run` for every outcome of its parts, which are simulated."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLAYED = """#!/bin/sh
echo "$(basename "$0") $*"
[ "$(basename "$0")" != test ] || cut -d' ' -f1 "$QUEUEVIZ_STEPS"
exit {code}
"""


def run(home: Path, *, setup: int = 0, lint: int = 0, test: int = 0) -> "subprocess.CompletedProcess[str]":
    (home / "script").mkdir()
    for name, code in (("setup", setup), ("lint", lint), ("test", test)):
        (home / "script" / name).write_text(PLAYED.format(code=code))
        (home / "script" / name).chmod(0o755)
    (home / ".ci").mkdir()
    for path in (".ci/run", "script/step"):
        shutil.copy(ROOT / path, home / path)
    return subprocess.run([home / ".ci" / "run"], capture_output=True, text=True, timeout=60, check=False)


def test_green_parts_are_green_and_their_seconds_reach_the_table(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "setup tests browser clients databases node",
        "lint ",
        "test ring",
        "set-up",
        "lint",
    ]


@pytest.mark.parametrize("red", ["lint", "test"])
def test_a_red_part_is_red_and_nothing_runs_twice(tmp_path: Path, red: str) -> None:
    done = run(tmp_path, **{red: 1})
    assert done.returncode == 1
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["setup", "lint", "test", "set-up", "lint"]


def test_nothing_runs_where_the_set_up_fails(tmp_path: Path) -> None:
    done = run(tmp_path, setup=1)
    assert (done.returncode, done.stdout) == (1, "setup tests browser clients databases node\n")
