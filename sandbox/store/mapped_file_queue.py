"""A continuous sequence of bytes in files of one size."""

import logging

from sandbox.kernel.errors import StoreError, StoreFull
from sandbox.store.disk import Disk
from sandbox.store.mapped_file import MappedFile, MapPool, wipe

log = logging.getLogger(__name__)


def must_be_directory(disk: Disk, path: str) -> None:
    """Raise StoreError if a file has the directory's name: it would look like a healthy empty directory."""
    if disk.is_file(path):
        raise StoreError(f"{path} is a file, and has to be a directory")


class MappedFileQueue:
    """The files of one directory in order.  RocketMQ: `MappedFileQueue`.

    A division finds the file of an offset, as names are multiples of the size.
    """

    def __init__(
        self, disk: Disk, pool: MapPool, directory: str, file_bytes: int, *, large_pages: bool = False
    ) -> None:
        self.disk = disk
        self.pool = pool
        self.directory = directory
        self.file_bytes = file_bytes
        self.large_pages = large_pages
        self.files: list[MappedFile] = []

    def load(self) -> None:
        """Open existing files as full.  Raises StoreError for a file of another size, or with the directory's name."""
        must_be_directory(self.disk, self.directory)
        names = [name for name in self.disk.names(self.directory) if len(name) == 20 and name.isdigit()]
        for name in names:
            path = f"{self.directory}/{name}"
            size = self.disk.size_of(path)
            if size == 0 and name == names[-1]:  # the process ended while it was created
                self.disk.remove(path)
                continue
            if size != self.file_bytes:
                raise StoreError(f"{path} has {size} bytes; this store is configured for files of {self.file_bytes}")
            file = MappedFile(
                self.directory,
                int(name),
                self.file_bytes,
                modified_ms=self.disk.modified_ms(path),
                large_pages=self.large_pages,
            )
            file.wrote = file.flushed = file.size
            self.files.append(file)

    @property
    def min_offset(self) -> int:
        return self.files[0].base if self.files else 0

    @property
    def max_offset(self) -> int:
        return self.files[-1].end if self.files else 0

    @property
    def flushed_offset(self) -> int:
        """The offset below which everything survives a power cut; files are flushed in order."""
        offset = self.max_offset
        for file in reversed(self.files):
            if file.flushed >= file.wrote:
                break
            offset = file.base + file.flushed
        return offset

    def create(self, at_offset: int, room: int) -> MappedFile:
        """Create and return the file that contains `at_offset`, after all others, with `room` bytes allocated there.

        Raises StoreFull, and then the file does not exist.
        """
        at = at_offset % self.file_bytes
        file = MappedFile(self.directory, at_offset - at, self.file_bytes, large_pages=self.large_pages)
        self.pool.view(file)
        try:
            self.pool.reserve(file, at, at + room)
        except StoreFull:
            self.pool.unmap(file)
            self.disk.remove(file.path)
            raise
        self.files.append(file)
        return file

    def seal(self, file: MappedFile, now_ms: int) -> None:
        """Set the file's time to now: it is complete, and retention counts from now."""
        file.modified_ms = now_ms
        self.disk.set_modified_ms(file.path, now_ms)

    def find(self, offset: int) -> MappedFile | None:
        """Return the file that contains `offset`, written or not; None without one."""
        if not self.files or offset < self.files[0].base:
            return None
        index = (offset - self.files[0].base) // self.file_bytes
        if index < len(self.files) and self.files[index].base <= offset < self.files[index].base + self.file_bytes:
            return self.files[index]
        for file in self.files:  # a gap between files: division gives the wrong one
            if file.base <= offset < file.base + file.size:
                return file
        return None

    def read(self, offset: int, size: int) -> bytes | None:
        """Return a copy of written bytes within one file; None if they are not all written."""
        file = self.find(offset)
        if file is None:
            return None
        at = offset - file.base
        if at + size > file.wrote:
            return None
        return bytes(self.pool.view(file)[at : at + size])

    def truncate(self, offset: int) -> int:
        """Remove everything from `offset` on; return the number of written bytes removed.

        Removed bytes inside a file become zeros, so that a later recovery cannot read them as new (RocketMQ leaves
        them).
        """
        before = self.max_offset
        while self.files and self.files[-1].base >= offset:
            self.delete(self.files[-1])
        if self.files and self.files[-1].end > offset:
            file = self.files[-1]
            keep = offset - file.base
            wipe(self.pool.view(file), keep, self.disk.used_end(file.path, keep))
            file.wrote = keep
            file.flushed = min(file.flushed, keep)
        return max(0, before - offset)

    def delete(self, file: MappedFile) -> None:
        self.pool.unmap(file)
        self.disk.remove(file.path)
        self.files.remove(file)

    def destroy(self) -> None:
        """Delete all files."""
        for file in list(self.files):
            self.delete(file)
        self.disk.remove_tree(self.directory)

    @property
    def wrote_bytes(self) -> int:
        return sum(file.wrote for file in self.files)
