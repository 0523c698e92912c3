"""Where the messages of a store lie: from its consume queues, by NumPy, without reading the log (spec store-format 4).

A queue is a run of 20-byte units in ascending physical order, so a slice of it is found by bisection, and a log file's
share of every queue is a slice.  What was written last may be half there: a unit without a length ends its queue.
"""

import mmap
import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

UNIT_BYTES = 20
FILLER_BYTES = 0x7FFF_FFFF  # as length: a place before the first message of a queue that began in the middle
NAME_DIGITS = 20
UNIT = np.dtype([("physical", ">i8"), ("size", ">i4"), ("tags", ">i8")])

Longs = NDArray[np.int64]


class Places(NamedTuple):
    """Messages by ascending physical offset; `queue` counts into `queues`."""

    queues: list[tuple[str, int]]
    physical: Longs
    size: Longs
    tags: Longs
    queue: Longs
    queue_offset: Longs

    def __len__(self) -> int:
        return len(self.physical)

    def part(self, chosen: Any) -> "Places":
        """A slice, or those a mask chooses."""
        return Places(self.queues, *(column[chosen] for column in self[1:]))


class Wanted(NamedTuple):
    """What a reader asks for; None is everything.  Times are checked where the records are."""

    topics: frozenset[str] | None = None
    queue_ids: frozenset[int] | None = None
    from_offset: int | None = None
    to_offset: int | None = None  # exclusive
    from_physical: int | None = None
    to_physical: int | None = None  # exclusive
    from_ms: int | None = None
    to_ms: int | None = None  # exclusive


class Log(NamedTuple):
    """A file of the commit log: `[start, end)` in physical offsets."""

    path: str
    start: int
    end: int


def log_files(root: Path) -> list[Log]:
    """Oldest first; none where there is no log."""
    return [Log(path, start, start + size) for path, start, size in _numbered(root / "commitlog")]


EVERYTHING = Wanted()
NO_END = 1 << 62
Bounds = Mapping[tuple[str, int], tuple[int, int]]


def queues_of(root: Path, wanted: Wanted = EVERYTHING) -> list[tuple[str, int]]:
    """Topic and id of every queue that has a directory, sorted."""
    found = []
    for topic in _directories(root / "consumequeue"):
        if wanted.topics is not None and topic not in wanted.topics:
            continue
        for queue in _directories(root / "consumequeue" / topic):
            if queue.isdigit() and (wanted.queue_ids is None or int(queue) in wanted.queue_ids):
                found.append((topic, int(queue)))
    return sorted(found)


class QueueFiles:
    """The units of one queue, as they are on disk now."""

    def __init__(self, root: Path, topic: str, queue_id: int) -> None:
        self._files = [(path, start // UNIT_BYTES, size // UNIT_BYTES)
                       for path, start, size in _numbered(root / "consumequeue" / topic / str(queue_id))]

    def within(self, from_physical: int, to_physical: int, from_offset: int, to_offset: int) -> Iterator[
            tuple[int, NDArray[Any]]]:
        """Runs of real units in both ranges, with the queue offset of each run's first."""
        for first, units in self._mapped(from_offset, to_offset):
            low, high = max(0, from_offset - first), min(len(units), to_offset - first)
            high = low + _written(units, low, high)
            begin, end = _at(units, low, high, from_physical), _at(units, low, high, to_physical)
            while begin < end and units["size"][begin] == FILLER_BYTES:
                begin += 1
            if begin < end:
                yield first + begin, units[begin:end]

    def slice(self, start: int, end: int) -> Iterator[tuple[int, NDArray[Any]]]:
        """Every unit of `[start, end)` that there is, whatever stands in it."""
        for first, units in self._mapped(start, end):
            low = max(start, first)
            yield low, units[low - first : end - first]

    def _mapped(self, start: int, end: int) -> Iterator[tuple[int, NDArray[Any]]]:
        """Only files that have a part of the range: a mapped file holds a descriptor."""
        for path, first, count in self._files:
            if first < end and first + count > start and len(units := _mapped(path)):
                yield first, units


Part = tuple[int, int, NDArray[Any]]
"""The number of a queue, the offset of its first unit, and the units."""


def places(root: Path, wanted: Wanted, start: int, end: int, bounds: Bounds | None = None) -> Places:
    """Every message whose record begins in `[start, end)` of the log and that a queue knows.

    `bounds`: the offsets `[from, to)` to stay within by queue; no other queue is read then.
    """
    queues = queues_of(root, wanted)
    low = max(start, wanted.from_physical or 0)
    high = end if wanted.to_physical is None else min(end, wanted.to_physical)
    parts: list[Part] = []
    for number, queue in enumerate(queues):
        least, beyond = (0, NO_END) if bounds is None else bounds.get(queue, (0, 0))
        to_offset = beyond if wanted.to_offset is None else min(beyond, wanted.to_offset)
        for first, units in QueueFiles(root, *queue).within(low, high, max(least, wanted.from_offset or 0), to_offset):
            parts.append((number, first, units))
    return _sorted(queues, parts)


def slice_places(root: Path, queues: list[tuple[str, int]], slices: list[tuple[int, int]]) -> tuple[Places, list[int]]:
    """Every unit in the slice `[start, end)` of each queue, and how many each had.

    A unit without a length stands for no message, but counts: it is there.
    """
    parts: list[Part] = []
    counts = [0] * len(queues)
    for number, (queue, (start, end)) in enumerate(zip(queues, slices, strict=True)):
        for first, units in QueueFiles(root, *queue).slice(start, end):
            parts.append((number, first, units))
            counts[number] += len(units)
    return _sorted(queues, parts), counts


def _sorted(queues: list[tuple[str, int]], parts: list[Part]) -> Places:
    if not parts:
        return Places(queues, *(np.empty(0, np.int64) for _ in range(5)))
    columns = [np.concatenate([units[name] for _, _, units in parts]).astype(np.int64)
               for name in ("physical", "size", "tags")]
    columns.append(np.repeat(np.array([number for number, _, _ in parts]), [len(units) for *_, units in parts]))
    columns.append(np.concatenate([np.arange(first, first + len(units)) for _, first, units in parts]))
    order = np.argsort(columns[0], kind="stable")
    return Places(queues, *(column[order] for column in columns))


def _written(units: NDArray[Any], low: int, high: int) -> int:
    """How many from `low` on have a length; the rest of a file was never written."""
    sizes = units["size"]
    count: int = bisect_left(range(low, high), 1, key=lambda n: int(sizes[n] <= 0))
    return count


def _at(units: NDArray[Any], low: int, high: int, physical: int) -> int:
    """The first of `[low, high)` whose record does not begin before `physical`."""
    column = units["physical"]
    return low + bisect_left(range(low, high), physical, key=lambda n: int(column[n]))


def _numbered(directory: Path) -> list[tuple[str, int, int]]:
    """Path, position that names it, and size of each file of a run; files may vanish while we look."""
    found = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if len(entry.name) == NAME_DIGITS and entry.name.isascii() and entry.name.isdigit():
                    found.append((entry.path, int(entry.name), entry.stat().st_size))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(found, key=lambda file: file[1])


def _directories(directory: Path) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries if entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _mapped(path: str) -> NDArray[Any]:
    """The units of a file; none when it is gone by now.  An unlinked file stays readable while it is mapped."""
    try:
        with open(path, "rb") as file:
            held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (FileNotFoundError, ValueError):
        return np.empty(0, UNIT)
    return np.frombuffer(held, UNIT, len(held) // UNIT_BYTES)
