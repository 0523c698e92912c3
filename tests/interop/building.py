"""Building other people's clients: in directories of their own, once in a session, gone at its end."""

import atexit
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

BUILD_S = 600.0


class Unavailable(Exception):
    """Why a client cannot be had here."""


@functools.cache
def scratch(name: str) -> Path:
    made = Path(tempfile.mkdtemp(prefix=f"interop-{name}-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def need(*tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            raise Unavailable(f"no {tool} here")


def run(command: Sequence[str], cwd: Path) -> None:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, timeout=BUILD_S, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]} took longer than {BUILD_S:.0f} s") from None
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines() or [""]
        raise Unavailable(f"{command[0]} failed: {said[0][:300]}")
