"""The store's interface to a disk, and its implementation with mapped files; a simulation has buffers instead.

Paths are relative to the disk's root, with `/` between names.
"""

import contextlib
import errno
import fcntl
import mmap
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from sandbox.kernel.errors import Locked, StoreFull
from sandbox.store import blocks

LOCK_TEXT = b"lock"
_LARGE_PAGES = getattr(mmap, "MADV_HUGEPAGE", None)  # Linux
_NO_READ_AHEAD = getattr(mmap, "MADV_RANDOM", None)


class Mapped(Protocol):
    """A file of fixed size in memory.  Writing to `view` writes to the file; `Disk.sync` makes it durable."""

    view: memoryview

    def use_large_pages(self) -> None:
        """Use huge pages for the memory, because it is written in sequence and flushed at intervals."""
        ...

    def close(self) -> None: ...


class Lock(Protocol):
    """The exclusive use of a directory, until released."""

    def release(self) -> None: ...


class Disk(Protocol):
    """The store's interface to a file system.

    `refused` is called with the reason and size of each refused write.
    """

    refused: Callable[[OSError, int], None]

    def names(self, path: str) -> list[str]:
        """Return the names in a directory, sorted; empty if it does not exist."""
        ...

    def is_file(self, path: str) -> bool: ...

    def size_of(self, path: str) -> int | None:
        """Return the size of a file in bytes, or None if it does not exist."""
        ...

    def modified_ms(self, path: str) -> int: ...
    def set_modified_ms(self, path: str, at_ms: int) -> None: ...

    def map(self, path: str, size: int) -> Mapped:
        """Map a whole file; create a missing one with zeros.  Raises StoreFull."""
        ...

    def reserve(self, path: str, start: int, end: int) -> None:
        """Allocate these bytes of a mapped file; writes outside are not allowed.  Raises StoreFull."""
        ...

    def used_end(self, path: str, start: int) -> int:
        """Return the end of the last non-zero byte of a file from `start` on, or `start` without one."""
        ...

    def sync(self, path: str) -> None:
        """Make the bytes written to a file durable.  May be called on another thread; uses no shared state."""
        ...

    def read(self, path: str) -> bytes | None:
        """Return the content of a small file, or None if it does not exist."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Write `data` as the content of a small file, over the old content.  Raises StoreFull."""
        ...

    def rename(self, old: str, new: str) -> None: ...

    def remove(self, path: str) -> None:
        """Delete a file; a missing one is no error."""
        ...

    def remove_tree(self, path: str) -> None: ...

    def lock(self, path: str) -> Lock:
        """Acquire the lock file.  Raises Locked if another process has it."""
        ...

    def used_ratio(self) -> float:
        """Return the used share of the disk, 0 to 1."""
        ...

    def space(self) -> tuple[int, int] | None:
        """Return total and free bytes; None: unlimited."""
        ...

    def where(self, path: str) -> str:
        """Return the path as an administrator of the machine names it."""
        ...


class Flusher(Protocol):
    """Executor of flushes: it runs `work` outside the engine's turn and calls `done` in a turn."""

    def submit(self, work: Callable[[], None], done: Callable[[BaseException | None], None]) -> None: ...


class InlineFlusher:
    """A flusher that flushes at once: for tests, simulation and small tools."""

    def submit(self, work: Callable[[], None], done: Callable[[BaseException | None], None]) -> None:
        try:
            work()
        except OSError as error:
            done(error)
        else:
            done(None)


class MappedBytes:
    """One `mmap`, with the only descriptor of its file.

    `new`: no read-ahead.  Without that advice the first written byte makes the kernel read the hole around it, up to
    the disk's read-ahead size.  With 8 MiB that is 2 to 16 ms of zeros.
    """

    __slots__ = ("_map", "view")

    def __init__(self, path: Path, size: int, *, new: bool) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), size)
        self.view = memoryview(self._map)
        if new:
            self._advise(_NO_READ_AHEAD)

    def use_large_pages(self) -> None:
        self._advise(_LARGE_PAGES)

    def _advise(self, what: int | None) -> None:
        if what is not None:
            with contextlib.suppress(OSError):  # not supported by every kernel or file system
                self._map.madvise(what)

    def close(self) -> None:
        """Unmap the file, or leave that to the last slice still in use (by the frames of an exception, for example)."""
        self.view.release()
        with contextlib.suppress(BufferError):
            self._map.close()


class FileLock:
    """A lock file like Java's `FileChannel.tryLock(0, 1, false)`; the two exclude each other."""

    _held: set[str] = set()  # POSIX locks do not exclude their own process

    def __init__(self, path: Path) -> None:
        self._name = str(path.resolve())
        if self._name in self._held:
            raise Locked(f"{path.parent} is already open in this process")
        self._file = path.open("a+b")
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        except OSError as error:
            self._file.close()
            raise Locked(f"another broker holds {path.parent}: lock failed") from error
        self._held.add(self._name)
        if os.fstat(self._file.fileno()).st_size == 0:
            self._file.write(LOCK_TEXT)
            self._file.flush()

    def release(self) -> None:
        self._held.discard(self._name)
        self._file.close()


class FileDisk:
    """A directory of a real file system.

    A file is created sparse, but only while the file system has space for all of it; `reserve` allocates its blocks.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.refused: Callable[[OSError, int], None] = lambda error, asked_bytes: None
        root.mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def _asking(self, what: str, size: int) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.refused(error, size)
            raise StoreFull(f"{what}: {error.strerror}") from error

    def names(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(self.root / path))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def is_file(self, path: str) -> bool:
        return (self.root / path).is_file()

    def size_of(self, path: str) -> int | None:
        try:
            return (self.root / path).stat().st_size
        except FileNotFoundError:
            return None

    def modified_ms(self, path: str) -> int:
        return (self.root / path).stat().st_mtime_ns // 1_000_000

    def set_modified_ms(self, path: str, at_ms: int) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.utime(self.root / path, ns=(at_ms * 1_000_000, at_ms * 1_000_000))

    def map(self, path: str, size: int) -> MappedBytes:
        full = self.root / path
        with self._asking(f"cannot map {path} of {size} bytes", size):
            if new := not full.exists():
                self._create(full, size)
            return MappedBytes(full, size, new=new)

    def reserve(self, path: str, start: int, end: int) -> None:
        with self._asking(f"cannot write {path}", end - start), (self.root / path).open("r+b", buffering=0) as file:
            blocks.reserve(file.fileno(), start, end)

    def used_end(self, path: str, start: int) -> int:
        with (self.root / path).open("rb", buffering=0) as file:
            return blocks.used_end(file.fileno(), start)

    def _create(self, full: Path, size: int) -> None:
        full.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(self.root).free < size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with full.open("xb") as file:
            file.truncate(size)

    def sync(self, path: str) -> None:
        try:
            descriptor = os.open(self.root / path, os.O_RDONLY)
        except FileNotFoundError:
            return  # deleted since it was written
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def read(self, path: str) -> bytes | None:
        try:
            return (self.root / path).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes) -> None:
        full = self.root / path
        with self._asking(f"cannot write {path}", len(data)):
            full.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(full, os.O_WRONLY | os.O_CREAT, 0o644)
            try:
                done = 0
                while done < len(data):  # a disk that fills up takes a part first, and refuses the rest
                    done += os.write(descriptor, data[done:])
                os.ftruncate(descriptor, len(data))
            finally:
                os.close(descriptor)

    def rename(self, old: str, new: str) -> None:
        os.replace(self.root / old, self.root / new)

    def remove(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)

    def remove_tree(self, path: str) -> None:
        shutil.rmtree(self.root / path, ignore_errors=True)

    def lock(self, path: str) -> FileLock:
        return FileLock(self.root / path)

    def used_ratio(self) -> float:
        usage = shutil.disk_usage(self.root)
        return usage.used / usage.total if usage.total else 0.0

    def space(self) -> tuple[int, int]:
        usage = shutil.disk_usage(self.root)
        return usage.total, usage.free

    def where(self, path: str) -> str:
        return str((self.root / path).absolute())
