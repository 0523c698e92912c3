"""Copies of a sandbox's files that its last engine never gave back, under the number of the new claim.

The last engine may only be stopped, and write again when it continues: into its own files, which are no longer read.
A sandbox's files are in its directory, or in the copy there with the highest number (`hosting.lease`).
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from sandbox.hosting.sparse_files import copy_directory

COPY = "copy-"
MAKING = ".copy-"
TRIES = 5  # the source may change, by an engine that was stopped in the middle of this


def newest(directory: Path, below: int | None = None) -> Path:
    """Return the directory of the valid files: the newest copy.  With `below`, that of an earlier claim."""
    numbers = [number for number in _numbers(directory) if below is None or number < below]
    return directory / f"{COPY}{max(numbers)}" if numbers else directory


def take_over(directory: Path, fence: int, check: Callable[[], None]) -> Path:
    """Copy the valid files for a new claim and return the copy; the source is no longer read.

    Raises OSError; then nothing has changed.  The source is removed only after a `check` of the lease that follows
    the copy: by then it may be another engine's source.
    """
    copy, making = directory / f"{COPY}{fence}", directory / f"{MAKING}{fence}"
    if copy.is_dir():
        return copy
    for _ in range(TRIES):
        source = newest(directory, fence)
        shutil.rmtree(making, ignore_errors=True)
        try:
            copy_directory(source, making, without=(COPY, MAKING))
        except OSError:
            if newest(directory, fence) == source:
                shutil.rmtree(making, ignore_errors=True)
                raise
        if newest(directory, fence) == source:
            making.rename(copy)
            break
    else:
        raise OSError(f"{directory} changed {TRIES} times while it was copied")
    check()
    forget_older(directory, fence)
    return copy


def forget_older(directory: Path, fence: int) -> None:
    """Remove the files that a newer, complete copy replaces."""
    for number in _numbers(directory):
        if number < fence:
            shutil.rmtree(directory / f"{COPY}{number}", ignore_errors=True)
    for entry in _own(directory):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def _own(directory: Path) -> list[Path]:
    """Return the directory's entries without copies."""
    with os.scandir(directory) as entries:
        return [Path(entry.path) for entry in entries if not entry.name.startswith((COPY, MAKING))]


def _numbers(directory: Path) -> list[int]:
    try:
        with os.scandir(directory) as entries:
            names = [entry.name.removeprefix(COPY) for entry in entries if entry.name.startswith(COPY)]
    except OSError:
        return []
    return [int(name) for name in names if name.isdecimal()]
