"""`manage.py pipeline` in a process of its own, and the processes that it starts."""

import subprocess
import sys
from pathlib import Path

from tests.server.server import ROOT, environment

WITHIN_S = 240.0  # a limit, not a measure: a machine with much else to do


def command(home: Path, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "pipeline", *map(str, arguments)],
        cwd=ROOT,
        env=environment(home) | more,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )


def refused(home: Path, *arguments: str | Path, **more: str) -> str:
    """The one sentence of a command that fails."""
    done = command(home, *arguments, **more)
    assert done.returncode == 1, done.stderr
    [line] = [line for line in done.stderr.splitlines() if not line.endswith("…")]
    return line.removeprefix("CommandError: ")


def children(process: int) -> dict[int, str]:
    """Ids and command lines of the processes that a process has started."""
    result = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == process:
                result[int(path.name)] = (path / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    return result
