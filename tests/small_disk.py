"""A file system with little room."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(directory: Path, size: int) -> Iterator[Path]:
    """`directory` as a file system of its own; skips the test where no one may mount one (a container, a user)."""
    directory.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", directory], check=False, capture_output=True
    )
    if done.returncode != 0:
        pytest.skip("only root may mount a file system here")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", directory], check=True)
