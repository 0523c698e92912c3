"""Which parts of a journal can be executed again."""

from pathlib import Path
from typing import NamedTuple

import orjson

from sandbox.cluster.journal_files import DIRECTORY
from sandbox.cluster.origin import ORIGIN_NAME
from sandbox.journal.schema import Row
from sandbox.journal.segments import lines

MADE_BEFORE = "made before"  # this sandbox was made by a release that recorded nothing
TRIMMED = "trimmed"  # the oldest segments of the journal were deleted
NOT_KEPT = "beginning not kept"  # a stretch that begins from files, which went on since
NO_ORIGIN = "origin"  # one of STRETCH_ENDS: what it was made of cannot be read any more, so no part of it

_ENDING = (b'"StretchEnded"', b'"SandboxWoken"')


class Stretch(NamedTuple):
    """Rows of the journal from one seq to another; `why`: it ended, or it cannot be executed again."""

    from_seq: int
    to_seq: int
    reproducible: bool
    why: str | None

    def row(self) -> Row:
        return {"from": self.from_seq, "to": self.to_seq, "reproducible": self.reproducible, "why": self.why}

    def sentence(self) -> str:
        can = "can be executed again" if self.reproducible else "cannot be executed again"
        return f"events {self.from_seq} to {self.to_seq}: {can}" + (f" ({self.why})" if self.why else "")


class Line(NamedTuple):
    """The stretches of a journal.  `keyframe`: the seq of the first one; no earlier state is known."""

    stretches: tuple[Stretch, ...]
    keyframe: int | None


def line_of(directory: Path) -> Line:
    """Return a sandbox's stretches.  Only rows that can end a stretch are parsed, and the rows before them."""
    rows: list[Row] = []
    keyframe: int | None = None
    before = b""
    for line in lines(directory / DIRECTORY):
        if not rows or any(word in line for word in _ENDING):
            _add(rows, before, line)
        if keyframe is None and b'"Keyframe"' in line and (row := orjson.loads(line))["type"] == "Keyframe":
            keyframe = row["seq"]
        before = line
    _add(rows, before)
    return Line(stretches_of(directory, rows) if rows else (), keyframe)


def _add(rows: list[Row], *lines: bytes) -> None:
    for row in (orjson.loads(line) for line in lines if line):
        if not rows or row["seq"] > rows[-1]["seq"]:
            rows.append(row)


def recorded_until(directory: Path, last: int | None = None) -> tuple[list[bytes], list[Row]]:
    """The lines of a sandbox's journal up to event `last`, and what they hold; none where there is no journal."""
    kept: list[bytes] = []
    rows: list[Row] = []
    for line in lines(directory / DIRECTORY):
        row = orjson.loads(line)
        if last is not None and row["seq"] > last:
            break
        kept.append(line)
        rows.append(row)
    return kept, rows


def stretches_of(directory: Path, rows: list[Row]) -> tuple[Stretch, ...]:
    """`rows`: from the oldest on that the sandbox's journal has."""
    first, last = rows[0]["seq"], rows[-1]["seq"]
    index = next((index for index, row in enumerate(rows) if row["type"] == "StretchEnded"), None)
    if index is not None and rows[index]["why"] == NO_ORIGIN:
        return (Stretch(first, last, False, NO_ORIGIN),)
    if not (directory / ORIGIN_NAME).exists():
        return (Stretch(first, last, False, MADE_BEFORE),)
    if first > 0:
        return (Stretch(first, last, False, TRIMMED),)
    if index is None:
        return (Stretch(first, last, True, None),)
    reason = rows[index]["why"]
    if reason != "disk":  # said when it was woken after the end
        index = next(before for before in range(index, -1, -1) if rows[before]["type"] == "SandboxWoken")
    return (Stretch(first, rows[index - 1]["seq"], True, reason), Stretch(rows[index]["seq"], last, False, NOT_KEPT))
