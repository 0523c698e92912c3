"""A simulated disk in memory that loses unflushed data, as disks do (the store's `Disk` protocol).

Two things can end a process that uses it.  A *kill* ends the process and keeps the page cache: everything written is
still there.  A *power cut* removes the page cache too.  Of what was not flushed, any subset of 512-byte sectors has
reached the disk.  Of the latest changes of names, any number from the first on survives (as in a journaling file
system).
"""

import errno
import os
from collections import deque
from collections.abc import Callable

from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import Locked, StoreFull

SECTOR_BYTES = 512
NAME_STATES = 64  # pending changes of names; older ones have reached the disk


class Crashed(BaseException):
    """The exception that ends the process at a call of the disk.  `except Exception` does not catch it."""


class _File:
    """One file: its content as the process sees it, and the part that survives a power cut."""

    __slots__ = ("cache", "durable", "modified_ms", "small")

    def __init__(self, cache: bytearray, modified_ms: int) -> None:
        self.cache = cache
        self.durable = b""
        self.modified_ms = modified_ms
        self.small = False  # written at once, never mapped

    def copy(self) -> "_File":
        twin = _File(bytearray(self.cache), self.modified_ms)
        twin.durable, twin.small = self.durable, self.small
        return twin


class SimMapped:
    """A mapped file.  After a kill or power cut its view belongs to an ended process and changes nothing."""

    __slots__ = ("view",)

    def __init__(self, cache: bytearray, size: int) -> None:
        self.view = memoryview(cache)[:size]

    def use_large_pages(self) -> None:
        """Do nothing: memory needs no large pages here."""

    def close(self) -> None:
        self.view.release()


class SimLock:
    """The lock file, held until released or until the process ends."""

    def __init__(self, held: set[str], path: str) -> None:
        self._held = held
        self._path = path
        held.add(path)

    def release(self) -> None:
        self._held.discard(self._path)


class SimDisk:
    """Files in memory.

    `operations` counts calls that change the disk; at number `crash_at` the process ends.  Writes through a mapped
    view are no calls: to stop between two of them, compare `fingerprint`.
    """

    def __init__(self, chance: Chance, clock: Clock, *, capacity_bytes: int | None = None) -> None:
        self._chance = chance
        self._clock = clock
        self._files: dict[str, _File] = {}
        self._name_states: deque[dict[str, _File]] = deque([{}], maxlen=NAME_STATES)  # the oldest is certainly on disk
        self._held: set[str] = set()
        self.capacity_bytes = capacity_bytes
        self.refused: Callable[[OSError, int], None] = lambda error, asked_bytes: None
        self.broken_sync = False  # every flush fails with EIO
        self.operations = 0
        self.crash_at: int | None = None

    # Faults.

    def kill(self) -> None:
        """End the process: its views become invalid, its locks are released, the page cache stays."""
        for file in self._files.values():
            file.cache = bytearray(file.cache)
        self._held = set()
        self.crash_at = None

    def power_cut(self, *, small_files_whole: bool = False) -> None:
        """Stop the machine: the seed decides which unflushed sectors and names survive.

        `small_files_whole`: a file that was written at once is whole, as it was flushed last or as it is now.
        """
        self._files = dict(self._chance.choice(self._name_states))
        for file in self._files.values():
            survived = self._survived(file)
            if small_files_whole and file.small and survived != file.cache:
                survived = file.durable
            file.durable = survived
            file.cache = bytearray(file.durable)
        self._name_states.clear()
        self._name_states.append(dict(self._files))
        self._held = set()
        self.crash_at = None

    def write_back(self, share: float = 0.5) -> None:
        """Flush some unflushed sectors, as the kernel does: a random `share` of them."""
        for file in self._files.values():
            file.durable = self._survived(file, share)

    def write_back_files(self, *, older_than_ms: int) -> None:
        """Flush small files that are dirty for this long, as the kernel does.

        Small files are those written at once, not through a mapping.
        """
        before_ms = self._clock.now_ms() - older_than_ms
        for file in self._files.values():
            if file.small and file.modified_ms <= before_ms:
                file.durable = bytes(file.cache)

    def copy(self, chance: Chance) -> "SimDisk":
        """Return an independent copy of this disk, to try a crash now and then continue with the original."""
        other = SimDisk(chance, self._clock, capacity_bytes=self.capacity_bytes)
        twins = {id(file): file.copy() for names in (*self._name_states, self._files) for file in names.values()}
        other._files = {name: twins[id(file)] for name, file in self._files.items()}
        other._name_states.clear()
        for names in self._name_states:
            other._name_states.append({name: twins[id(file)] for name, file in names.items()})
        other._held = set(self._held)
        return other

    def fill(self) -> None:
        """Make the disk full: no more data fits."""
        self.capacity_bytes = self.used_bytes

    @property
    def used_bytes(self) -> int:
        return sum(len(file.cache) for file in self._files.values())

    def fingerprint(self) -> int:
        """Return a hash that changes whenever a byte or a name changes."""
        return hash(tuple((name, bytes(file.cache)) for name, file in self._files.items()))

    def image(self) -> dict[str, bytes]:
        """Return every file as a process sees it now, to copy or compare."""
        return {name: bytes(file.cache) for name, file in sorted(self._files.items())}

    # The interface of a store (`store.disk.Disk`).

    def names(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/" if path.strip("./") else ""
        return sorted({name[len(prefix) :].partition("/")[0] for name in self._files if name.startswith(prefix)})

    def is_file(self, path: str) -> bool:
        return path in self._files

    def size_of(self, path: str) -> int | None:
        file = self._files.get(path)
        return None if file is None else len(file.cache)

    def modified_ms(self, path: str) -> int:
        return self._file(path).modified_ms

    def set_modified_ms(self, path: str, at_ms: int) -> None:
        if path in self._files:
            self._files[path].modified_ms = at_ms

    def map(self, path: str, size: int) -> SimMapped:
        file = self._files.get(path)
        if file is None:
            self._operation()
            self._reserve(size, f"cannot map {path} of {size} bytes")
            file = self._files[path] = _File(bytearray(size), self._clock.now_ms())
            file.durable = bytes(size)
            self._renamed()
        if size > len(file.cache):
            raise ValueError(f"{path} has {len(file.cache)} bytes, {size} cannot be mapped")
        return SimMapped(file.cache, size)

    def reserve(self, path: str, start: int, end: int) -> None:
        """Do nothing: a file takes all its space when it is created."""

    def used_end(self, path: str, start: int) -> int:
        return max(start, len(self._file(path).cache.rstrip(b"\0")))

    def sync(self, path: str) -> None:
        self._operation()
        file = self._files.get(path)
        if file is None:
            return
        if self.broken_sync:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if file.durable != file.cache:
            file.modified_ms = self._clock.now_ms()
            file.durable = bytes(file.cache)
        self._name_states.clear()
        self._name_states.append(dict(self._files))

    def read(self, path: str) -> bytes | None:
        file = self._files.get(path)
        return None if file is None else bytes(file.cache)

    def write(self, path: str, data: bytes) -> None:
        self._operation()
        file = self._files.get(path)
        self._reserve(len(data) - (len(file.cache) if file else 0), f"cannot write {path}")
        if file is None:
            file = self._files[path] = _File(bytearray(), 0)
            self._renamed()
        file.cache, file.small = bytearray(data), True
        file.modified_ms = self._clock.now_ms()

    def rename(self, old: str, new: str) -> None:
        self._operation()
        self._files[new] = self._file(old)
        del self._files[old]
        self._renamed()

    def remove(self, path: str) -> None:
        self._operation()
        if self._files.pop(path, None) is not None:
            self._renamed()

    def remove_tree(self, path: str) -> None:
        self._operation()
        for name in [name for name in self._files if name.startswith(path.rstrip("/") + "/")]:
            del self._files[name]
        self._renamed()

    def lock(self, path: str) -> SimLock:
        if path in self._held:
            raise Locked(f"another broker holds {path}: lock failed")
        if path not in self._files:
            self.write(path, b"lock")
        return SimLock(self._held, path)

    def used_ratio(self) -> float:
        if self.capacity_bytes is None:
            return 0.0
        return self.used_bytes / self.capacity_bytes if self.capacity_bytes else 1.0

    def space(self) -> tuple[int, int] | None:
        if self.capacity_bytes is None:
            return None
        return self.capacity_bytes, max(0, self.capacity_bytes - self.used_bytes)

    def where(self, path: str) -> str:
        return f"store/{path}"

    def _operation(self) -> None:
        self.operations += 1
        if self.operations == self.crash_at:
            raise Crashed

    def _reserve(self, growth: int, what: str) -> None:
        if self.capacity_bytes is not None and growth > 0 and self.used_bytes + growth > self.capacity_bytes:
            error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.refused(error, growth)
            raise StoreFull(f"{what}: {error.strerror}") from error

    def _renamed(self) -> None:
        self._name_states.append(dict(self._files))

    def _file(self, path: str) -> _File:
        file = self._files.get(path)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return file

    def _survived(self, file: _File, share: float = 0.5) -> bytes:
        old, new = file.durable, bytes(file.cache)
        if old == new:
            return old
        size = len(new) if self._chance.random() < share else len(old)
        result = bytearray(max(len(old), len(new)))
        result[: len(old)] = old
        for at in range(0, len(new), SECTOR_BYTES):
            sector = new[at : at + SECTOR_BYTES]
            if old[at : at + SECTOR_BYTES] != sector and self._chance.random() < share:
                result[at : at + len(sector)] = sector
        return bytes(result[:size])
