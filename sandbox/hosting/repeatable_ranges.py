"""Stretches: the ranges of a journal that can be executed again, and those that cannot."""

from pathlib import Path
from typing import NamedTuple

from sandbox.cluster.journal_files import DIRECTORY
from sandbox.cluster.origin import ORIGIN_NAME
from sandbox.journal.schema import Row
from sandbox.journal.segments import lines
from sandbox.kernel import json_bytes

MADE_BEFORE = "made before"  # this sandbox was made by a release that recorded nothing
TRIMMED = "trimmed"  # the oldest segments of the journal were deleted
NOT_KEPT = "beginning not kept"  # a stretch that starts from files, which have changed since
NO_ORIGIN = "origin"  # one of STRETCH_ENDS: the origin is not readable, so no part can be repeated

_ENDING = (b'"StretchEnded"', b'"SandboxWoken"')


class Stretch(NamedTuple):
    """Range of journal rows.  `why`: the reason why it ended, or cannot be executed again."""

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
    """Stretches of a journal.  `keyframe`: the seq of the first keyframe; earlier states are unknown."""

    stretches: tuple[Stretch, ...]
    keyframe: int | None


def line_of(directory: Path) -> Line:
    """Return a sandbox's stretches.  Only rows that can end a stretch, and the rows before them, are parsed."""
    rows: list[Row] = []
    keyframe: int | None = None
    before = b""
    for line in lines(directory / DIRECTORY):
        if not rows or any(word in line for word in _ENDING):
            _add(rows, before, line)
        if keyframe is None and b'"Keyframe"' in line and (row := json_bytes.loads(line))["type"] == "Keyframe":
            keyframe = row["seq"]
        before = line
    _add(rows, before)
    return Line(stretches_of(directory, rows) if rows else (), keyframe)


def _add(rows: list[Row], *lines: bytes) -> None:
    for row in (json_bytes.loads(line) for line in lines if line):
        if not rows or row["seq"] > rows[-1]["seq"]:
            rows.append(row)


def recorded_until(directory: Path, last: int | None = None) -> tuple[list[bytes], list[Row]]:
    """Return the lines of a sandbox's journal up to event `last`, and their rows; empty without a journal."""
    kept: list[bytes] = []
    rows: list[Row] = []
    for line in lines(directory / DIRECTORY):
        row = json_bytes.loads(line)
        if last is not None and row["seq"] > last:
            break
        kept.append(line)
        rows.append(row)
    return kept, rows


def stretches_of(directory: Path, rows: list[Row]) -> tuple[Stretch, ...]:
    """Return the stretches of `rows`, which begin with the oldest row of the sandbox's journal."""
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
