"""Directory that can lose data that was not flushed, like the disk of a machine whose power is cut (decision 0009)."""

from collections import deque
from collections.abc import Mapping
from pathlib import Path

from sandbox.kernel.clock import Clock
from sandbox.store.disk import FileDisk
from sandbox.store.mapped_file import wipe

WRITE_BACK_S = 30.0  # Linux: vm.dirty_expire_centisecs; older dirty pages are written by the kernel itself
VERSIONS = 256  # of one small file that may be unsynced; older ones count as written back

Version = tuple[float, bytes | None]  # since when, in seconds of the clock; None: the file does not exist


class MachineDisk(FileDisk):
    """Disk whose small files keep earlier versions until they are synced or 30 s old.

    Small files are tables, checkpoint and the abort file.  Mapped files keep no versions: the store knows how far
    each is flushed, and `power_cut` removes the rest.
    """

    def __init__(self, root: Path, clock: Clock) -> None:
        super().__init__(root)
        self._clock = clock
        self._versions: dict[str, deque[Version]] = {}  # oldest first; the first is certainly on disk

    def write(self, path: str, data: bytes) -> None:
        self._remember(path)
        super().write(path, data)
        self._note(path, data)

    def rename(self, old: str, new: str) -> None:
        self._remember(old)
        self._remember(new)
        super().rename(old, new)
        self._note(new, self.read(new))
        self._note(old, None)

    def remove(self, path: str) -> None:
        known = path in self._versions
        super().remove(path)
        if known:
            self._note(path, None)

    def sync(self, path: str) -> None:
        super().sync(path)
        if path in self._versions:  # called by a thread beside a turn's write: the newest version at least is synced
            self._versions[path] = deque(list(self._versions[path])[-1:], maxlen=VERSIONS)

    def power_cut(self, flushed: Mapping[str, int]) -> None:
        """Remove the data that a machine without power loses.

        `flushed`: path of a mapped file → bytes that survive.
        """
        for path, position in flushed.items():
            self._cut(path, position)
        expired_s = self._clock.monotonic() - WRITE_BACK_S
        for path, versions in self._versions.items():
            survivor = versions[0][1]
            for since_s, data in versions:
                if since_s <= expired_s:
                    survivor = data
            if survivor is None:
                super().remove(path)
            else:
                super().write(path, survivor)
        self._versions.clear()

    def _cut(self, path: str, position: int) -> None:
        size = self.size_of(path)
        if size is None:
            return
        if position == 0:  # created and never flushed: the file does not exist either
            super().remove(path)
            return
        mapped = self.map(path, size)
        try:
            wipe(mapped.view, position, size)
        finally:
            mapped.close()

    def _remember(self, path: str) -> None:
        """Record the present content as the version on disk, if no version is recorded yet."""
        if path not in self._versions:
            self._versions[path] = deque([(0.0, self.read(path))], maxlen=VERSIONS)

    def _note(self, path: str, data: bytes | None) -> None:
        now_s = self._clock.monotonic()
        versions = self._versions[path]
        versions.append((now_s, data))
        while len(versions) > 1 and versions[1][0] <= now_s - WRITE_BACK_S:
            versions.popleft()
