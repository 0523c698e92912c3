"""The disk of a machine in a repeatable run: what a power cut takes does not depend on when a thread ran."""

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sandbox.cluster.power import VERSIONS, MachineDisk, Version
from sandbox.kernel.clock import Clock
from sandbox.store.disk import FileDisk


class Synced(NamedTuple):
    """A file that is to be written through; `version`: what that makes durable, of a small file."""

    disk: "PacedDisk"
    path: str
    version: Version | None


class PacedDisk(MachineDisk):
    """`collect` says whether a `sync` belongs to a flush, whose system call is made later."""

    def __init__(self, root: Path, clock: Clock, collect: Callable[[Synced], bool]) -> None:
        super().__init__(root, clock)
        self._collect = collect

    def sync(self, path: str) -> None:
        versions = self._versions.get(path)
        if not self._collect(Synced(self, path, versions[-1] if versions else None)):
            super().sync(path)

    def write_through(self, path: str) -> None:
        """The system call; on any thread."""
        FileDisk.sync(self, path)

    def note_synced(self, synced: Synced) -> None:
        """Its system call is over: versions older than the one it began with cannot come back."""
        versions = list(self._versions.get(synced.path, ()))
        places = [index for index, version in enumerate(versions) if version is synced.version]
        if places:
            self._versions[synced.path] = deque(versions[places[0] :], maxlen=VERSIONS)

    def where(self, path: str) -> str:
        return f"store/{path}"
