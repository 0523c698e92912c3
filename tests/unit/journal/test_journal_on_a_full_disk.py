"""A disk that refuses: what was to be written waits, whole and in its order."""

import errno
from pathlib import Path
from typing import Any

import pytest

from sandbox.journal import segments
from sandbox.journal.events import BrokerStopped, Entry
from sandbox.journal.segments import SegmentWriter


class Stingy:
    """A file that takes so many bytes and then no more, until it is given room."""

    def __init__(self, file: Any, room: int) -> None:
        self._file = file
        self.room = room

    def write(self, data: bytes) -> int:
        if self.room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = min(self.room, len(data), 50)
        self.room -= taken
        return int(self._file.write(data[:taken]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def entry(seq: int) -> Entry:
    return Entry(seq, 1_000 + seq, None, BrokerStopped("broker-a", 0, "clean"))


def seqs(directory: Path) -> list[int]:
    return [row["seq"] for row in segments.rows_since(directory, 0)]


def test_what_did_not_fit_is_written_later_and_no_line_is_torn(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path)
    writer.append(entry(0))
    writer.flush()
    whole = segments.segments(tmp_path)[0].stat().st_size
    stingy = Stingy(writer.file, 130)
    writer.file = stingy  # type: ignore[assignment]
    for seq in range(1, 6):
        writer.append(entry(seq))
    with pytest.raises(OSError, match="No space"):
        writer.flush()
    assert segments.segments(tmp_path)[0].stat().st_size == whole, "half a line is taken back"
    writer.append(entry(6))
    stingy.room = 10**6
    writer.flush()
    assert seqs(tmp_path) == list(range(7))
    assert writer.total_bytes == segments.segments(tmp_path)[0].stat().st_size
    writer.close()


def test_a_segment_that_cannot_be_begun_is_begun_later(tmp_path: Path) -> None:
    directory = tmp_path / "journal"
    writer = SegmentWriter(directory, segment_bytes=300)
    for seq in range(2):
        writer.append(entry(seq))
    writer.flush()
    directory.rename(tmp_path / "away")
    refused = 0
    for seq in range(2, 8):
        try:
            writer.append(entry(seq))
        except FileNotFoundError:
            refused += 1
    assert refused > 0
    (tmp_path / "away").rename(directory)
    writer.flush()
    writer.append(entry(8))
    writer.close()
    assert seqs(directory) == list(range(9)), "the entries that met the refusal are there too"
    assert len(segments.segments(directory)) > 1
