"""Journal on disk: NDJSON, one entry per line, in segments named by their first seq (20 digits).

A reader uses complete lines only, so it may follow the open segment by (segment, byte).  No segment is sealed or
renamed.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from sandbox.journal.events import Entry
from sandbox.journal.schema import Row, to_row
from sandbox.kernel import json_bytes

SEGMENT_BYTES = 8 * 1024 * 1024
WRITE_BYTES = 64 * 1024  # written at this size, and when the owner calls `flush` (every 200 ms)
SEQ_JUMP = 10_000  # after a crash numbering continues at the next multiple, so that no number is used twice


class SegmentWriter:
    """Writer of the journal's segments; above `limit_bytes` it deletes the oldest segment, but never the newest.

    After a deletion, `trimmed_to` is the first seq that is still stored.
    """

    def __init__(self, directory: Path, *, segment_bytes: int = SEGMENT_BYTES, limit_bytes: int | None = None) -> None:
        self._directory = directory
        self._segment_bytes = segment_bytes
        self._limit_bytes = limit_bytes
        self.file: BinaryIO | None = None  # the open segment
        self._file_bytes = 0
        self._total_bytes = sum(path.stat().st_size for path in segments(directory))
        self._waiting: deque[tuple[int, bytes]] = deque()  # seq and line
        self._waiting_bytes = 0
        self.trimmed_to: int | None = None  # a segment was deleted: the owner writes JournalTrimmed, clears it
        directory.mkdir(parents=True, exist_ok=True)

    def append(self, entry: Entry) -> None:
        """Queue an entry; write all queued ones when they are large enough.  Raises OSError as `flush` does."""
        line = line_of(entry)
        self._waiting.append((entry.seq, line))
        self._waiting_bytes += len(line)
        if self._waiting_bytes >= WRITE_BYTES or self._file_bytes + self._waiting_bytes > self._segment_bytes:
            self.flush()

    def flush(self) -> None:
        """Pass all queued entries to the operating system.  Raises OSError if the disk refuses; no entry is dropped."""
        while self._waiting:
            seq, first = self._waiting[0]
            if self.file is None or (self._file_bytes and self._file_bytes + len(first) > self._segment_bytes):
                self._roll(seq)
            lines, size = self._that_fit()
            self._write(b"".join(lines))
            for _ in lines:
                self._waiting.popleft()
            self._waiting_bytes -= size
            self._file_bytes += size
            self._total_bytes += size

    def _that_fit(self) -> tuple[list[bytes], int]:
        """Return the next lines that fit the open segment, at least one, and their bytes."""
        lines: list[bytes] = []
        size = 0
        for _, line in self._waiting:
            if lines and self._file_bytes + size + len(line) > self._segment_bytes:
                break
            lines.append(line)
            size += len(line)
        return lines, size

    def _write(self, data: bytes) -> None:
        """Write all data or none: a partial write on a full disk is truncated."""
        assert self.file is not None
        done = 0
        try:
            while done < len(data):
                done += self.file.write(data[done:])
        except OSError:
            self.file.truncate(self._file_bytes)
            raise

    def close(self) -> None:
        self.flush()
        self._close_file()

    def abandon(self) -> None:
        """Close as after a crash: entries that were not flushed are lost."""
        self._waiting.clear()
        self._waiting_bytes = 0
        self._close_file()

    def _close_file(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    @property
    def total_bytes(self) -> int:
        return self._total_bytes + self._waiting_bytes

    def _roll(self, first_seq: int) -> None:
        self._close_file()
        self.file = (self._directory / f"{first_seq:020}.ndjson").open("ab", buffering=0)
        self._file_bytes = self.file.tell()
        self._trim()

    def _trim(self) -> None:
        if self._limit_bytes is None:
            return
        paths = segments(self._directory)
        while self._total_bytes > self._limit_bytes and len(paths) > 1:
            oldest = paths.pop(0)
            self._total_bytes -= oldest.stat().st_size
            oldest.unlink()
            self.trimmed_to = int(paths[0].stem)


def line_of(entry: Entry) -> bytes:
    """Return the entry as a line of the files."""
    return json_bytes.dumps(to_row(entry, longs_as_text=False), option=json_bytes.OPT_APPEND_NEWLINE, default=_plain)


def segments(directory: Path) -> list[Path]:
    """Return the paths of all segments, oldest first."""
    return sorted(directory.glob("*.ndjson")) if directory.is_dir() else []


def rows_since(directory: Path, seq: int) -> Iterator[Row]:
    """Yield the rows from `seq` on, of complete lines only."""
    paths = segments(directory)
    for index, path in enumerate(paths):
        if index + 1 < len(paths) and int(paths[index + 1].stem) <= seq:
            continue
        with path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    row: Row = json_bytes.loads(line)
                    if row["seq"] >= seq:
                        yield row


def lines(directory: Path) -> Iterator[bytes]:
    """Yield all complete lines, oldest first; segments deleted meanwhile are skipped."""
    for path in segments(directory):
        with suppress(FileNotFoundError), path.open("rb") as file:
            yield from (line for line in file if line.endswith(b"\n"))


def lines_back(directory: Path, seq: int) -> Iterator[bytes]:
    """Yield complete lines, newest first, of all segments that begin below `seq`; deleted segments are skipped."""
    for path in reversed(segments(directory)):
        if int(path.stem) < seq:
            try:
                lines = path.read_bytes().split(b"\n")[:-1]
            except FileNotFoundError:
                return
            yield from reversed(lines)


def first_seq(directory: Path) -> int | None:
    """Return the oldest seq on disk; None if there is none."""
    paths = segments(directory)
    return int(paths[0].stem) if paths else None


def last_seq(directory: Path) -> int | None:
    """Return the newest seq of a complete line on disk, as a writer may be active; None if there is none."""
    for path in reversed(segments(directory)):
        try:
            _, seq = _last_whole(path.read_bytes())
        except FileNotFoundError:  # deleted meanwhile
            continue
        if seq is not None:
            return seq
    return None


def mend_tail(directory: Path) -> int | None:
    """Remove an incomplete last line; return the last seq on disk, None if there is none."""
    for path in reversed(segments(directory)):
        data = path.read_bytes()
        whole, seq = _last_whole(data)
        if whole < len(data):
            with path.open("r+b") as file:
                file.truncate(whole)
        if seq is not None:
            return seq
        path.unlink()
    return None


def _last_whole(data: bytes) -> tuple[int, int | None]:
    """Return the end of the last complete line and its seq; 0 and None without one."""
    whole = data.rfind(b"\n") + 1
    if not whole:
        return 0, None
    return whole, int(json_bytes.loads(data[data.rfind(b"\n", 0, whole - 1) + 1 : whole])["seq"])


def next_seq(directory: Path, *, crashed: bool) -> int:
    """Return the seq where numbering continues: after the last entry, or at the next 10 000 after a crash."""
    last = mend_tail(directory)
    if last is None:
        return 0
    return (last // SEQ_JUMP + 1) * SEQ_JUMP if crashed else last + 1


def _plain(value: object) -> object:
    if isinstance(value, tuple):  # a NamedTuple inside an event
        return list(value)
    raise TypeError(f"no JSON for {type(value).__name__}")
