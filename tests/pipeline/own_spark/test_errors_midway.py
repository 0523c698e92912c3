"""Failures during a job: one sentence, an exit code other than 0, and the last good result stays."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.pipeline.runs.error_sentences import NO_ROOM, SPARK_GONE
from sandbox.pipeline.runs.launch import ENDED, Child, Order, Where
from sandbox.pipeline.runs.results import manifest_of
from tests.pipeline.command_line import WITHIN_S, children
from tests.server.server import ROOT, environment, until
from tests.small_disk import mounted

pytestmark = pytest.mark.pipeline

SMALL_BYTES = 16 * 1024 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "small", SMALL_BYTES) as directory:
        yield directory


def test_a_full_disk_and_a_java_that_is_killed_leave_the_last_result(
    golden: Path, small_disk: Path, tmp_path: Path
) -> None:
    numbers = iter(range(9))
    out = small_disk / "out"
    with (
        (tmp_path / "words").open("wb") as words,
        Child(Where("local[2]"), tmp_path / "spark", os.environ, errors=words) as child,
    ):
        reported = child.reports()

        def run() -> dict[str, object]:
            child.order(Order(f"run{next(numbers)}", "export", {"store": str(golden)}, {}, str(out), {}))
            return next(line for line in reported if line["state"] in ENDED)

        assert run() == {"run": "run0", "state": "done", "tables": {"messages": 153}}
        before, files = manifest_of(out), sorted(out.rglob("*"))
        full = small_disk / "full"
        with full.open("wb") as file:
            file.write(bytes(os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize - 16_384))
        assert run()["why"] == NO_ROOM
        assert (manifest_of(out), sorted(out.rglob("*"))) == (before, files)
        full.unlink()
        [java] = [process for process, line in children(child.process_id).items() if "java" in line]
        os.kill(java, signal.SIGKILL)
        assert run()["why"] == SPARK_GONE
        assert (manifest_of(out), sorted(out.rglob("*"))) == (before, files)
        assert list(reported) == [], "the process without its Java ends, so that another is started"


def test_a_killed_process_is_reported_with_the_path_of_its_log(golden: Path, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "manage.py", "pipeline", "export", "--store", golden],
        cwd=ROOT,
        env=environment(tmp_path),
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        [child] = until(
            lambda: [process for process, line in children(command.pid).items() if "sandbox.pipeline" in line],
            within_s=WITHIN_S,
        )
        os.kill(child, signal.SIGKILL)
        _, said = command.communicate(timeout=WITHIN_S)
    assert command.returncode == 1
    [log] = (tmp_path / "pipeline" / ".spark").glob("*.log")
    assert said == (
        "Starting Spark …\n"
        f"CommandError: The Spark process was killed (SIGKILL) before the job was done. Its output is in {log}.\n"
    )
    assert manifest_of(tmp_path / "pipeline" / "export" / golden.name) is None


def test_an_interruption_says_that_nothing_has_changed(golden: Path, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "manage.py", "pipeline", "export", "--store", golden],
        cwd=ROOT,
        env=environment(tmp_path),
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        until(
            lambda: [line for line in children(command.pid).values() if "sandbox.pipeline" in line], within_s=WITHIN_S
        )
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=WITHIN_S)
    assert (command.returncode, said) == (
        130,
        "Starting Spark …\nCommandError: Interrupted. The last result is unchanged.\n",
    )
    assert manifest_of(tmp_path / "pipeline" / "export" / golden.name) is None
