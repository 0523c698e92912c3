"""Reads of files of a store in use: sizes come from the files, and any file may be deleted in between.

Files are read with `pread` and not mapped: a file truncated by its owner then ends early instead of ending the process.
"""

import os
from bisect import bisect_right
from collections import OrderedDict
from pathlib import Path
from types import TracebackType

from sandbox.store.reader_listing import Odd, StoreFile, files_in

MAX_OPEN_FILES = 16  # per reader, least recently used first out


class OpenFiles:
    """A few open descriptors, shared by all readers of one store."""

    def __init__(self, limit: int = MAX_OPEN_FILES) -> None:
        self._limit = limit
        self._descriptors: OrderedDict[str, int] = OrderedDict()

    def read(self, path: str, count: int, at: int) -> bytes:
        """Return up to `count` bytes from `at` on; fewer at the file's end, none if the file is deleted."""
        descriptor = self._descriptors.get(path)
        if descriptor is None:
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return b""
            if len(self._descriptors) >= self._limit:
                os.close(self._descriptors.popitem(last=False)[1])
            self._descriptors[path] = descriptor
        else:
            self._descriptors.move_to_end(path)
        return os.pread(descriptor, count, at)

    def close(self) -> None:
        while self._descriptors:
            os.close(self._descriptors.popitem()[1])

    def __enter__(self) -> "OpenFiles":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class FileRun:
    """The files of one log or queue: a continuous sequence of bytes, split at the positions that name the files."""

    def __init__(self, directory: Path, opened: OpenFiles) -> None:
        self.directory = directory
        self._opened = opened
        self._starts: list[int] = []
        self.files: list[StoreFile] = []
        self.odd: list[Odd] = []
        self.refresh()

    def refresh(self) -> None:
        """List the files again.  Positions keep their meaning."""
        self.files, self.odd = files_in(self.directory)
        self._starts = [file.start for file in self.files]

    @property
    def start(self) -> int:
        return self.files[0].start if self.files else 0

    @property
    def end(self) -> int:
        """The end of the last file; most of that file may be unused."""
        return self.files[-1].end if self.files else 0

    def find(self, position: int) -> StoreFile | None:
        index = bisect_right(self._starts, position) - 1
        return self.files[index] if index >= 0 and position < self.files[index].end else None

    def after(self, file: StoreFile) -> StoreFile | None:
        index = bisect_right(self._starts, file.start)
        return self.files[index] if index < len(self.files) else None

    def read(self, position: int, count: int) -> bytes:
        """Return up to `count` bytes from one file; fewer where the file ends, none without a file."""
        file = self.find(position)
        if file is None:
            return b""
        return self._opened.read(file.path, min(count, file.end - position), position - file.start)
