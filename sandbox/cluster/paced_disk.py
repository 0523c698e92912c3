"""Disk of a machine in a repeatable run: the loss in a power cut does not depend on the timing of threads."""

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sandbox.cluster.power import VERSIONS, MachineDisk, Version
from sandbox.kernel.clock import Clock
from sandbox.store.disk import FileDisk


class Synced(NamedTuple):
    """File to be written through.  `version`: of a small file, the version that becomes durable."""

    disk: "PacedDisk"
    path: str
    version: Version | None


class PacedDisk(MachineDisk):
    """Disk whose flushes are made later.  `collect` returns True if a `sync` belongs to a flush."""

    def __init__(self, root: Path, clock: Clock, collect: Callable[[Synced], bool]) -> None:
        super().__init__(root, clock)
        self._collect = collect

    def sync(self, path: str) -> None:
        versions = self._versions.get(path)
        if not self._collect(Synced(self, path, versions[-1] if versions else None)):
            super().sync(path)

    def write_through(self, path: str) -> None:
        """Make the system call, on any thread."""
        FileDisk.sync(self, path)

    def note_synced(self, synced: Synced) -> None:
        """Record a finished system call: versions older than the one it began with can no longer return."""
        versions = list(self._versions.get(synced.path, ()))
        places = [index for index, version in enumerate(versions) if version is synced.version]
        if places:
            self._versions[synced.path] = deque(versions[places[0] :], maxlen=VERSIONS)

    def where(self, path: str) -> str:
        return f"store/{path}"
