"""Entries in the journal's files from one keyframe to the next."""

import re
from collections.abc import Iterator
from pathlib import Path

from sandbox.journal.events import BY_NAME, Entry
from sandbox.journal.schema import from_row
from sandbox.journal.segments import segments
from sandbox.kernel import json_bytes

_HEAD = re.compile(rb'\{"seq":(\d+),"at_ms":-?\d+,"type":"(\w+)"')

Line = tuple[int, str, bytes]  # seq, type


def around(directory: Path, at: int) -> Iterator[Entry]:
    """Yield the entries from the newest keyframe at or before event `at` to before the next one.

    Yield none if no such keyframe exists.  Entries of types unknown to this version are omitted.
    """
    paths = segments(directory)
    for index in range(len(paths) - 1, -1, -1):
        if int(paths[index].stem) > at:
            continue
        lines = _lines(paths[index])
        begins = [number for number, (seq, kind, _) in enumerate(lines) if kind == "Keyframe" and seq <= at]
        if begins:
            yield from _to_the_next(lines[begins[-1] :], paths[index + 1 :])
            return


def _to_the_next(lines: list[Line], paths: list[Path]) -> Iterator[Entry]:
    first = lines[0][0]
    for batch in (lines, *map(_lines, paths)):
        for seq, kind, line in batch:
            if kind == "Keyframe" and seq > first:
                return
            if kind in BY_NAME:
                yield from_row(json_bytes.loads(line))


def _lines(path: Path) -> list[Line]:
    """Return the complete and readable lines; none of a segment deleted meanwhile."""
    try:
        whole = path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    heads = ((_HEAD.match(line), line) for line in whole)
    return [(int(head[1]), head[2].decode(), line) for head, line in heads if head is not None]
