"""A file of fixed size, mapped into memory while it is in use."""

from sandbox.store.disk import Disk, Mapped

FILES_PER_QUEUE = 2  # mapped at once: the one written to, and one that is read
PAGE_BYTES = 4096
LEAST_STEP_BYTES = 64 * 1024  # blocks are reserved in steps: a sixteenth of the file, between these
MOST_STEP_BYTES = 1024 * 1024
_ZEROS = bytes(64 * 1024)


def file_name(offset: int) -> str:
    """Return the name of a file: the offset of its first byte in 20 digits (spec store-format 1)."""
    return f"{offset:020d}"


class MappedFile:
    """A file that starts at `base` of a continuous sequence.  RocketMQ: `MappedFile`.

    `view` is None while the file is not mapped: then use `pool.view(file)`.  Bytes below `wrote` have content, bytes
    below `flushed` survive a power cut.  Beyond `reserved` nothing may be written to `view` before `pool.reserve`.
    """

    __slots__ = (
        "base",
        "directory",
        "flushed",
        "large_pages",
        "mapped",
        "modified_ms",
        "path",
        "reserved",
        "size",
        "store_ms",
        "used",
        "view",
        "wrote",
    )

    def __init__(
        self, directory: str, base: int, size: int, *, modified_ms: int = 0, large_pages: bool = False
    ) -> None:
        self.directory = directory
        self.path = f"{directory}/{file_name(base)}"
        self.base = base
        self.size = size
        self.wrote = 0
        self.flushed = 0
        self.reserved = 0  # not known from an earlier process; reserving again is cheap
        self.modified_ms = modified_ms
        self.store_ms = 0  # store time of the newest message in it, as far as this process knows
        self.used = False
        self.large_pages = large_pages  # requested; not every system has them
        self.mapped: Mapped | None = None
        self.view: memoryview | None = None

    @property
    def end(self) -> int:
        return self.base + self.wrote

    @property
    def name(self) -> str:
        return file_name(self.base)


class MapPool:
    """The mapped files: at most `limit`, at most two of one directory.

    A file used since the last check gets a second chance before it is unmapped, so that files in constant use stay
    without an ordered list per message.
    """

    def __init__(self, disk: Disk, limit: int) -> None:
        self._disk = disk
        self._limit = max(limit, FILES_PER_QUEUE + 1)
        self._files: dict[MappedFile, None] = {}  # in mapping order

    def __len__(self) -> int:
        return len(self._files)

    def view(self, file: MappedFile) -> memoryview:
        """Return the bytes of a file, mapped if necessary.  Raises StoreFull.

        Do not keep them beyond the next call of the pool.
        """
        file.used = True
        if file.view is not None:
            return file.view
        mine = [other for other in self._files if other.directory == file.directory]
        if len(mine) >= FILES_PER_QUEUE:
            self.unmap(next((other for other in mine if not other.used), mine[0]))
        while len(self._files) >= self._limit:
            self._unmap_one()
        file.mapped = self._disk.map(file.path, file.size)
        if file.large_pages:
            file.mapped.use_large_pages()
        file.view = file.mapped.view
        self._files[file] = None
        return file.view

    def reserve(self, file: MappedFile, start: int, end: int) -> None:
        """Allocate `start` to `end` and some more.  Raises StoreFull.

        It allocates in steps, as a call costs 10 µs, and not the whole file, as most sandboxes never fill it.
        """
        if end <= file.reserved:
            return
        step = max(LEAST_STEP_BYTES, min(MOST_STEP_BYTES, file.size // 16) // LEAST_STEP_BYTES * LEAST_STEP_BYTES)
        until = min(file.size, -(-end // step) * step)
        self._disk.reserve(file.path, max(file.reserved, start - start % PAGE_BYTES), until)
        file.reserved = until

    def unmap(self, file: MappedFile) -> None:
        if file.mapped is not None:
            file.view = None
            file.mapped.close()
            file.mapped = None
            del self._files[file]

    def rest(self) -> None:
        """Unmap files not used since the last call, so that an idle store has no open descriptor."""
        for file in list(self._files):
            if not file.used:
                self.unmap(file)
            file.used = False

    def close(self) -> None:
        for file in list(self._files):
            self.unmap(file)

    def _unmap_one(self) -> None:
        while True:
            file = next(iter(self._files))
            if not file.used:
                self.unmap(file)
                return
            file.used = False
            del self._files[file]
            self._files[file] = None


def wipe(view: memoryview, start: int, end: int) -> None:
    """Zero a range, writing only where it is not zero, so that a sparse file stays sparse."""
    for at in range(start, end, len(_ZEROS)):
        stop = min(at + len(_ZEROS), end)
        if view[at:stop] != _ZEROS[: stop - at]:
            view[at:stop] = _ZEROS[: stop - at]
