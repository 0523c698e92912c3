"""Files of a sandbox in a browser as a log of changes, so that a page that is opened again finds the last save.

The log is a sequence of records.  A record has the changed parts of all files at one moment between two turns, so what
it restores is what a process leaves that is killed at that moment.  A record that was cut short is not applied.

Record: magic, length of the head and of the data (4 bytes each), head, data, CRC-32 of both.  The head is JSON:
`files`: [path, size, time of the last change in ns, whether it is mapped, [[offset, length], …]]; `gone`: paths.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from sandbox.kernel import json_bytes
from sandbox.lite.memory_disk import MAPPED

MAGIC = b"QVL1"
HEAD = struct.Struct(">4sII")
SUM = struct.Struct(">I")
APPENDED = ".ndjson"  # ends the names of files that only grow
BLOCK_BYTES = 64 * 1024  # of a mapped file, that is saved if one byte of it has changed

Part = tuple[int, bytes]  # offset, content


class Stored(NamedTuple):
    """A file as it was saved last: its size, its time of change, and of a mapped one the sum of each block."""

    size: int
    changed_ns: int
    sums: tuple[int, ...] = ()


class SavedFiles:
    """The files below `home`.  Each call of `changes` returns what is new since the one before, or since `restore`."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._stored: dict[str, Stored] = {}
        self.log_bytes = 0

    @property
    def file_bytes(self) -> int:
        """The size of all files in bytes, as saved last."""
        return sum(stored.size for stored in self._stored.values())

    def whole(self) -> bytes:
        """Return a record of all files: a log that begins anew."""
        self._stored.clear()
        self.log_bytes = 0
        return self.changes()

    def changes(self) -> bytes:
        """Return a record of the changes; empty without any."""
        now = dict(self._files())
        gone = [path for path in self._stored if path not in now]
        files: list[list[object]] = []
        data: list[bytes] = []
        for path, is_mapped in now.items():
            stored, parts = self._look(path, is_mapped)
            if parts or self._stored.get(path) != stored:
                places = [[offset, len(content)] for offset, content in parts]
                files.append([path, stored.size, stored.changed_ns, is_mapped, places])
                data += [content for _, content in parts]
            self._stored[path] = stored
        for path in gone:
            del self._stored[path]
        return self._record({"files": files, "gone": gone}, b"".join(data)) if files or gone else b""

    def restore(self, log: bytes) -> int:
        """Write the files as the log has them; return the length in bytes of its complete records."""
        at, view = 0, memoryview(log)
        while (record := _record_at(view, at)) is not None:
            head, data, at = record
            for path in head["gone"]:
                self._remove(path)
            for path, size, changed_ns, is_mapped, parts in head["files"]:
                data = self._write(path, size, is_mapped, parts, data)
                os.utime(self._home / path, ns=(changed_ns, changed_ns))
        self.log_bytes = at
        for path, is_mapped in self._files():
            self._stored[path], _ = self._look(path, is_mapped)
        return at

    def _files(self) -> Iterator[tuple[str, bool]]:
        """Yield the paths below `home`, and whether the file is mapped."""
        for path in sorted(self._home.rglob("*")):
            if path.is_file():
                yield path.relative_to(self._home).as_posix(), str(path) in MAPPED

    def _look(self, path: str, is_mapped: bool) -> tuple[Stored, list[Part]]:
        """Return a file as it is, and the parts that have changed."""
        status, before = (self._home / path).stat(), self._stored.get(path)
        if is_mapped:
            return self._look_at_mapped(path, status.st_mtime_ns, before)
        stored = Stored(status.st_size, status.st_mtime_ns)
        if stored == before:
            return stored, []
        begin = before.size if before is not None and path.endswith(APPENDED) and before.size <= stored.size else 0
        with (self._home / path).open("rb") as file:
            file.seek(begin)
            return stored, [(begin, file.read())]

    def _look_at_mapped(self, path: str, changed_ns: int, before: Stored | None) -> tuple[Stored, list[Part]]:
        content = memoryview(MAPPED[str(self._home / path)])
        blocks = [content[at : at + BLOCK_BYTES] for at in range(0, len(content), BLOCK_BYTES)]
        sums = tuple(map(crc32, blocks))
        is_known = before is not None and before.size == len(content)
        old = before.sums if before is not None and is_known else tuple(crc32(bytes(len(block))) for block in blocks)
        parts = [
            (index * BLOCK_BYTES, bytes(blocks[index]))
            for index, (was, now) in enumerate(zip(old, sums, strict=True))
            if was != now
        ]
        return Stored(len(content), changed_ns, sums), parts

    def _write(self, path: str, size: int, is_mapped: bool, parts: list[list[int]], data: memoryview) -> memoryview:
        """Write the parts of a file in their places; return the data that is left.

        A log has hundreds of records: neither data nor files are copied for each.
        """
        full = self._home / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.touch()
        if is_mapped and len(MAPPED.get(str(full), b"")) != size:
            MAPPED[str(full)] = bytearray(size)
        with full.open("r+b") as file:
            for offset, length in parts:
                if is_mapped:
                    MAPPED[str(full)][offset : offset + length] = data[:length]
                else:
                    file.seek(offset)
                    file.write(data[:length])
                data = data[length:]
            file.truncate(0 if is_mapped else size)
        return data

    def _remove(self, path: str) -> None:
        (self._home / path).unlink(missing_ok=True)
        MAPPED.pop(str(self._home / path), None)

    def _record(self, values: dict[str, object], data: bytes) -> bytes:
        head = json_bytes.dumps(values)
        body = head + data
        record = HEAD.pack(MAGIC, len(head), len(data)) + body + SUM.pack(crc32(body))
        self.log_bytes += len(record)
        return record


def _record_at(log: memoryview, at: int) -> tuple[dict[str, list[Any]], memoryview, int] | None:
    """Return head and data of the record at a position, and its end; None if it is not complete."""
    if len(log) < at + HEAD.size:
        return None
    magic, head_bytes, data_bytes = HEAD.unpack_from(log, at)
    begin = at + HEAD.size
    end = begin + head_bytes + data_bytes
    if magic != MAGIC or len(log) < end + SUM.size or SUM.unpack_from(log, end)[0] != crc32(log[begin:end]):
        return None
    return json_bytes.loads(log[begin : begin + head_bytes]), log[begin + head_bytes : end], end + SUM.size
