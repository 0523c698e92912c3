"""Disk of a repeatable sandbox in a browser: mapped files are bytes in memory, small files those of the worker.

A mapping of Emscripten is a copy of its file: what is written through one is not read through another, and each needs
the file's size twice.  Here all mappings of a file are one `bytearray`.  Versions and power cuts are those of
`PacedDisk`, so a run loses the same bytes in a browser and on a server.
"""

from collections.abc import Callable
from pathlib import Path

from sandbox.cluster.paced_disk import PacedDisk, Synced
from sandbox.kernel.clock import Clock

MAPPED: dict[str, bytearray] = {}  # by path; a process that starts again finds them, as it finds files
PIECE_BYTES = 64 * 1024


class MappedMemory:
    """One mapping of a file in memory."""

    __slots__ = ("view",)

    def __init__(self, data: bytearray) -> None:
        self.view = memoryview(data)

    def use_large_pages(self) -> None: ...

    def close(self) -> None:
        self.view.release()


class MemoryDisk(PacedDisk):
    """Disk whose mapped files are in `MAPPED`.  An empty file stands for each, so that names and times are found."""

    def __init__(self, root: Path, clock: Clock, collect: Callable[[Synced], bool]) -> None:
        super().__init__(root, clock, collect)

    def size_of(self, path: str) -> int | None:
        data = self._mapped(path)
        return super().size_of(path) if data is None else len(data)

    def map(self, path: str, size: int) -> MappedMemory:  # type: ignore[override]  # a Mapped, but no MappedBytes
        data = self._mapped(path)
        if data is None:
            full = self.root / path
            full.parent.mkdir(parents=True, exist_ok=True)
            data = bytearray(size)
            if full.exists():
                content = full.read_bytes()
                data[: len(content)] = content
            full.write_bytes(b"")
            MAPPED[str(full)] = data
        return MappedMemory(data)

    def reserve(self, path: str, start: int, end: int) -> None:
        """Do nothing: the memory of a mapped file is there."""

    def used_end(self, path: str, start: int) -> int:
        data = self._mapped(path)
        if data is None:
            return super().used_end(path, start)
        for end in range(len(data), start, -PIECE_BYTES):
            piece = data[max(start, end - PIECE_BYTES) : end].rstrip(b"\0")
            if piece:
                return max(start, end - PIECE_BYTES) + len(piece)
        return start

    def read(self, path: str) -> bytes | None:
        data = self._mapped(path)
        return super().read(path) if data is None else bytes(data)

    def rename(self, old: str, new: str) -> None:
        super().rename(old, new)
        if (data := MAPPED.pop(str(self.root / old), None)) is not None:
            MAPPED[str(self.root / new)] = data

    def remove(self, path: str) -> None:
        super().remove(path)
        MAPPED.pop(str(self.root / path), None)

    def remove_tree(self, path: str) -> None:
        super().remove_tree(path)
        below = f"{self.root / path}/"
        for name in [name for name in MAPPED if name.startswith(below)]:
            del MAPPED[name]

    def _mapped(self, path: str) -> bytearray | None:
        return MAPPED.get(str(self.root / path))
