"""Building other people's clients: once for each state of their sources, whatever process asks."""

import fcntl
import functools
import hashlib
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "var" / "interop"
BUILD_S = 600.0
STAMP = "built"


class Unavailable(Exception):
    """Why a client cannot be had here."""


def once(make: Callable[P, T]) -> Callable[P, T]:
    """Build a client once per process; an unavailable one stays unavailable."""
    reported: dict[object, T | Unavailable] = {}

    @functools.wraps(make)
    def remembered(*args: P.args, **kwargs: P.kwargs) -> T:
        if args not in reported:
            try:
                reported[args] = make(*args, **kwargs)
            except Unavailable as why:
                reported[args] = why
        found = reported[args]
        if isinstance(found, Unavailable):
            raise found
        return found

    return remembered


def need(*tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            raise Unavailable(f"no {tool} here")


def built(name: str, sources: Iterable[Path], build: Callable[[Path], None]) -> Path:
    """The directory with what `build` makes of the sources; others of that name are gone."""
    with alone(name):
        directory = KEPT / f"{name}-{digest(sources)}"
        if not (directory / STAMP).exists():
            for old in KEPT.glob(f"{name}-{'[0-9a-f]' * 12}"):
                shutil.rmtree(old)
            directory.mkdir()
            build(directory)
            (directory / STAMP).touch()
        return directory


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Hold the lock of a build, so that no other thread or process builds the same."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def digest(sources: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in sorted(sources):
        found.update(f"{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
    return found.hexdigest()[:12]


def run(command: Sequence[str], cwd: Path) -> None:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, timeout=BUILD_S, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]} took longer than {BUILD_S:.0f} s") from None
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines() or [""]
        raise Unavailable(f"{command[0]} failed: {said[0][:300]}")
