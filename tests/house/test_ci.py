"""What `.ci/run` makes of tests that fail, with a pytest that is played."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLAYED = """#!/bin/sh
case "$*" in
  *--last-failed*) echo 'PASSED tests/x.py::test_late'; echo 'PASSED tests/x.py::test_a[x y]'; exit {again} ;;
  *) exit {first} ;;
esac
"""


def run(home: Path, *, first: int, again: int, lint: int = 0) -> "subprocess.CompletedProcess[str]":
    for path, text in ((".venv/bin/python", PLAYED.format(first=first, again=again)), ("script/setup", "#!/bin/sh\n"),
                       ("script/lint", f"#!/bin/sh\nexit {lint}\n")):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text)
        (home / path).chmod(0o755)
    (home / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", home / ".ci" / "run")
    return subprocess.run([home / ".ci" / "run"], capture_output=True, text=True, timeout=60, check=False)


def test_what_passes_at_once_is_green_and_runs_once(tmp_path: Path) -> None:
    done = run(tmp_path, first=0, again=0)
    assert (done.returncode, done.stderr) == (0, "")
    assert "again" not in done.stdout


@pytest.mark.parametrize("again", [0, 1])
def test_what_passes_only_when_run_again_is_named_and_what_fails_twice_is_red(tmp_path: Path, again: int) -> None:
    done = run(tmp_path, first=1, again=again)
    assert (done.returncode, done.stderr) == (again, "")
    named = "Passed only when run again:" + 5 * "\n  tests/x.py::test_late\n  tests/x.py::test_a[x y]"
    assert done.stdout.endswith(f"{named}\n"), "of all stages"


def test_a_stage_that_finds_no_test_is_red(tmp_path: Path) -> None:
    assert run(tmp_path, first=5, again=5).returncode == 1


def test_what_the_linters_find_is_red_and_the_tests_run_all_the_same(tmp_path: Path) -> None:
    done = run(tmp_path, first=1, again=0, lint=1)
    assert (done.returncode, done.stderr) == (1, "")
    assert "Passed only when run again" in done.stdout
