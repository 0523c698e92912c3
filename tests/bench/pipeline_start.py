"""Start of a pipeline command: `manage.py pipeline sql` over a small store, with a cold and a warm Spark.

cold_s, warm_s           one command from its start to its end, Django included; medians
cold_cpu_s, warm_cpu_s   processor seconds of the command and of its Spark
cold_of_warm             cold_s / warm_s

A cold command has `--session own`: its Spark starts and ends with it.  A warm one has `--session keep` and is the
second or a later one: the first starts the Spark.  One cold command before them is not counted, because it may write
the archive of Java's classes.
"""

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from sandbox.pipeline.runs.kept_session import session_in
from tests.bench.calibration import calibrate
from tests.bench.pipeline_sealed import Took, cpu_s
from tests.bench.pipeline_store import MIB, fill
from tests.pipeline.command_line import command

LOG_BYTES = 1_200_000
QUERY = "select topic, count(*) n from messages group by topic order by topic"
KEEP, OWN = "keep", "own"  # values of --session
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)


class Scale(NamedTuple):
    """Numbers of counted commands."""

    cold: int
    warm: int


SCALES = {"full": Scale(5, 5), "quick": Scale(2, 3), "smallest": Scale(1, 1)}


def of_commands(scale: str, home: Path | None = None) -> dict[str, Any]:
    """Measure in a separate process, which inherits the processes that the commands leave.

    `home`: an empty directory, by default a temporary one.
    """
    with TemporaryDirectory(prefix="queueviz-bench-") as scratch:
        line = [sys.executable, "-m", "tests.bench.pipeline_start", str(home or scratch), scale]
        done = subprocess.run(line, stdout=subprocess.PIPE, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def measured(home: Path, scale: Scale) -> dict[str, Any]:
    """Run all commands and return the figures; `home` is empty.  The kept process ends before the return."""
    inherit_orphans()
    store = home / "broker-a"
    messages = fill(store, LOG_BYTES, 2 * MIB)
    result = {"messages": messages, "calibration_us": round(calibrate(), 3), "load": round(os.getloadavg()[0], 1)}
    _, expected = once(home, store, OWN)
    cold = [counted(home, store, OWN, expected) for _ in range(scale.cold)]
    try:
        once(home, store, KEEP)
        warm = [counted(home, store, KEEP, expected) for _ in range(scale.warm)]
    finally:
        end_kept(home / "pipeline" / ".spark")
    return result | figures_of(cold, warm)


def figures_of(cold: Sequence[Took], warm: Sequence[Took]) -> dict[str, float]:
    """Return the medians of both kinds of commands, and the ratio of their wall seconds."""
    cold_s, warm_s = (median(took.wall_s for took in commands) for commands in (cold, warm))
    return {
        "cold_s": round(cold_s, 2),
        "cold_cpu_s": round(median(took.cpu_s for took in cold), 2),
        "warm_s": round(warm_s, 2),
        "warm_cpu_s": round(median(took.cpu_s for took in warm), 2),
        "cold_of_warm": round(cold_s / warm_s, 2),
    }


def counted(home: Path, store: Path, session: str, expected: str) -> Took:
    """Run one command, whose output is the expected one, and return what it took."""
    took, output = once(home, store, session)
    assert output == expected, output
    print(f"{session} {took.wall_s:.2f} s, {took.cpu_s:.2f} s of processors", file=sys.stderr)
    return took


def once(home: Path, store: Path, session: str) -> tuple[Took, str]:
    """Run one command and return what it took, with the Java that it leaves, and its output."""
    began_s, began_cpu_s = time.perf_counter(), cpu_s()
    done = command(home, "sql", QUERY, "--store", store, "--session", session)
    wall_s = time.perf_counter() - began_s
    assert done.returncode == 0, done.stderr
    if session == OWN:
        wait_for_children()
    return Took(wall_s, cpu_s() - began_cpu_s), done.stdout


def end_kept(directory: Path) -> None:
    """Ask the kept process of a directory to end, and wait for its end."""
    if (session := session_in(directory)) is not None:
        with session:
            session.leave()
    wait_for_children()


def inherit_orphans() -> None:
    """Make this process the parent of all processes below it whose own parent ends, so that it counts their time."""
    if ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl PR_SET_CHILD_SUBREAPER")


def wait_for_children() -> None:
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


if __name__ == "__main__":
    print(json.dumps(measured(Path(sys.argv[1]), SCALES[sys.argv[2]])))
