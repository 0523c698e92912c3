"""Positions of a stream in a journal: a segment and a byte of it, always after a complete line.

Segments are only appended to or deleted, oldest first, so a position is exact.  In Spark's checkpoint: {sandbox:
{"segment": first seq, "byte": n}}.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.journal.segments import segments
from sandbox.kernel.errors import StoreError
from sandbox.pipeline.sources.journal_files import Piece, size_of

LOOK_BYTES = 64 * 1024


class Position(NamedTuple):
    """The segment and the byte to read next.

    Byte 0: nothing of the segment, or of any before it, was read.
    """

    segment: int
    byte: int


Positions = dict[str, Position]

BEGINNING = Position(0, 0)


def end_of(directory: Path) -> Position:
    """Return the position after the last complete line of the journal."""
    return onward(directory, BEGINNING, None)


def onward(directory: Path, start: Position, most_bytes: int | None) -> Position:
    """Return the position after the last complete line, or after the line that reaches `most_bytes`.

    Return `start` if no complete line follows.
    """
    reached = start
    left = most_bytes
    for path in segments(directory):
        number = int(path.stem)
        if number < start.segment:
            continue
        begin = start.byte if number == start.segment else 0
        size = size_of(path)
        if left is not None and size - begin > left:
            end = _line_end_about(path, begin, begin + left)
            return Position(number, end) if end > begin else reached
        if (end := _last_line_end(path, begin, size)) > begin:
            reached = Position(number, end)
            left = None if left is None else left - (end - begin)
            if left == 0:
                break
    return reached


def between(sandbox: str, directory: Path, start: Position, end: Position, *, strict: bool) -> list[Piece]:
    """Return the pieces from `start` to `end`.  With `strict` raises StoreError if some of them were deleted unread."""
    pieces = []
    paths = {int(path.stem): path for path in segments(directory)}
    if strict:
        _check(sandbox, paths, start, end)
    for number, path in sorted(paths.items()):
        if start.segment <= number <= end.segment:
            begin = start.byte if number == start.segment else 0
            stop = end.byte if number == end.segment else size_of(path)
            if begin < stop:
                pieces.append(Piece(sandbox, str(path), begin, stop))
    return pieces


def _check(sandbox: str, paths: Mapping[int, Path], start: Position, end: Position) -> None:
    for position in (start, end):
        if start != end and position.byte and position.segment not in paths:
            raise dropped(sandbox)


def dropped(sandbox: str) -> StoreError:
    return StoreError(
        f"The journal of {sandbox} deleted segments before the stream read them. Set "
        "failOnDataLoss to false to continue with the remaining segments, or restart without the checkpoint."
    )


def position_of(value: Mapping[str, Any]) -> Positions:
    return {sandbox: Position(position["segment"], position["byte"]) for sandbox, position in value.items()}


def plain(positions: Mapping[str, Position]) -> dict[str, object]:
    return {sandbox: positions[sandbox]._asdict() for sandbox in sorted(positions)}


def _last_line_end(path: Path, begin: int, size: int) -> int:
    """Return the byte after the last line end in `[begin, size)`, or `begin` without one."""
    try:
        with path.open("rb") as file:
            high = size
            while high > begin:
                low = max(begin, high - LOOK_BYTES)
                file.seek(low)
                at = file.read(high - low).rfind(b"\n")
                if at >= 0:
                    return low + at + 1
                high = low
    except FileNotFoundError:
        pass
    return begin


def _line_end_about(path: Path, begin: int, wished: int) -> int:
    """Return the end of the last line that ends before `wished`, else of the first line after it.

    Return `begin` if no line is complete.
    """
    if (end := _last_line_end(path, begin, wished)) > begin:
        return end
    try:
        with path.open("rb") as file:
            file.seek(begin)
            line = file.readline()
    except FileNotFoundError:
        return begin
    return begin + len(line) if line.endswith(b"\n") else begin
