"""Positions of a store's messages, from its consume queues by NumPy, without reading the log (spec store-format 4).

A queue is a sequence of 20-byte units in ascending physical order, so a log file's part of every queue is found by
bisection: over blocks, because a unit may be damaged, which must not affect those around it.
"""

import mmap
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.message.topic_names import matches
from sandbox.store.config import CONSUME_QUEUE_UNIT_BYTES as UNIT_BYTES
from sandbox.store.config import FILLER_BYTES
from sandbox.store.reader_listing import files_in, queues_in

UNIT = np.dtype([("physical", ">i8"), ("size", ">i4"), ("tags", ">i8")])
_AS_BYTES = np.dtype(f"V{UNIT_BYTES}")
BLOCK = 2_048  # units compared together: most of them are valid
HOLE_BLOCKS = 4  # this many blocks of zeros may precede more units

Longs = NDArray[np.int64]


class Places(NamedTuple):
    """Positions of messages by ascending physical offset; `queue` is an index of `queues`."""

    queues: list[tuple[str, int]]
    physical: Longs
    size: Longs
    tags: Longs
    queue: Longs
    queue_offset: Longs

    def __len__(self) -> int:
        return len(self.physical)

    def part(self, chosen: Any) -> "Places":
        """Return a part of this table: the rows of a slice, or those that a mask selects."""
        return Places(self.queues, *(column[chosen] for column in self[1:]))


class Wanted(NamedTuple):
    """The queues that a reader takes; None is no limit.

    `pattern`: of the whole names of topics.  `must_exist`: an unknown topic in `topics` is an error.
    """

    topics: frozenset[str] | None = None
    queue_ids: frozenset[int] | None = None
    pattern: "re.Pattern[str] | None" = None
    must_exist: bool = False

    def has(self, topic: str, queue_id: int) -> bool:
        """Return True if the reader takes the queue."""
        return (
            (self.topics is None or topic in self.topics)
            and (self.queue_ids is None or queue_id in self.queue_ids)
            and (self.pattern is None or matches(self.pattern, topic))
        )


class Log(NamedTuple):
    """A file of the commit log with the physical offsets `[start, end)`."""

    path: str
    start: int
    end: int


def log_files(root: Path) -> list[Log]:
    """Return the files of the commit log, oldest first; empty without a log."""
    return [Log(file.path, file.start, file.end) for file in files_in(root / "commitlog")[0]]


EVERYTHING = Wanted()
NO_END = 1 << 62
Bounds = Mapping[tuple[str, int], tuple[int, int]]


def queues_of(root: Path, selection: Wanted = EVERYTHING) -> list[tuple[str, int]]:
    """Return topic and id of every selected queue that has a directory, sorted."""
    return [queue for queue in queues_in(root)[0] if selection.has(*queue)]


class QueueFiles:
    """The files of one consume queue, as on disk now."""

    def __init__(self, root: Path, topic: str, queue_id: int) -> None:
        self._files = [
            (file.path, file.start // UNIT_BYTES, (file.end - file.start) // UNIT_BYTES)
            for file in files_in(root / "consumequeue" / topic / str(queue_id))[0]
        ]

    def within(
        self, from_physical: int, to_physical: int, from_offset: int, to_offset: int
    ) -> Iterator[tuple[Longs, NDArray[Any]]]:
        """Yield the queue offsets and units of messages that are in both ranges, log positions and queue offsets."""
        for first, units in self._mapped(from_offset, to_offset):
            low, high = max(0, from_offset - first), min(len(units), to_offset - first)
            begin = low + max(0, _block_at(units[low:high], from_physical) - 1) * BLOCK
            near = units[begin : min(high, low + (_block_at(units[low:high], to_physical) + 1) * BLOCK)]
            physical = near["physical"].astype(np.int64)
            chosen = np.flatnonzero(_is_message(near) & (physical >= from_physical) & (physical < to_physical))
            if len(chosen):
                yield first + begin + chosen, _copied(near, chosen)

    def slice(self, start: int, end: int) -> Iterator[tuple[Longs, NDArray[Any]]]:
        """Yield every existing unit of `[start, end)`, valid or not, with the queue offsets."""
        for first, units in self._mapped(start, end):
            low = max(start, first)
            part = units[low - first : end - first]
            yield np.arange(low, low + len(part)), part

    def _mapped(self, start: int, end: int) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield first offset and units of each file that overlaps the range.

        Other files are not mapped, because a mapped file needs a descriptor.
        """
        for path, first, count in self._files:
            if first < end and first + count > start and len(units := _mapped(path)):
                yield first, units


Part = tuple[int, Longs, NDArray[Any]]
"""The index of a queue, queue offsets, and their units (`UNIT`)."""


def places(root: Path, selection: Wanted, start: int, end: int, bounds: Bounds | None = None) -> Places:
    """Return every message that is in a queue and whose record begins in `[start, end)` of the log.

    `bounds`: offsets `[from, to)` by queue; other queues are then not read.
    """
    queues = queues_of(root, selection)
    return sorted_places(queues, unit_parts(root, queues, start, end, bounds))


def unit_parts(
    root: Path, queues: list[tuple[str, int]], start: int, end: int, bounds: Bounds | None = None
) -> list[Part]:
    """Return the units of the same messages as on disk, queue by queue, in each by offset."""
    parts: list[Part] = []
    for number, queue in enumerate(queues):
        least, beyond = (0, NO_END) if bounds is None else bounds.get(queue, (0, 0))
        for at, units in QueueFiles(root, *queue).within(start, end, least, beyond):
            parts.append((number, at, units))
    return parts


def slice_places(root: Path, queues: list[tuple[str, int]], slices: list[tuple[int, int]]) -> tuple[Places, list[int]]:
    """Return every unit in the slice `[start, end)` of each queue, and the number of units of each.

    A unit without a length has no message, but counts.
    """
    parts: list[Part] = []
    counts = [0] * len(queues)
    for number, (queue, (start, end)) in enumerate(zip(queues, slices, strict=True)):
        for at, units in QueueFiles(root, *queue).slice(start, end):
            parts.append((number, at, units))
            counts[number] += len(units)
    return sorted_places(queues, parts), counts


def sorted_places(queues: list[tuple[str, int]], parts: list[Part]) -> Places:
    """Return the positions in these units by ascending physical offset."""
    if not parts:
        return Places(queues, *(np.empty(0, np.int64) for _ in range(5)))
    columns = [
        np.concatenate([units[name] for _, _, units in parts]).astype(np.int64) for name in ("physical", "size", "tags")
    ]
    columns.append(np.repeat(np.array([number for number, _, _ in parts]), [len(units) for *_, units in parts]))
    columns.append(np.concatenate([at for _, at, _ in parts]))
    order = np.argsort(columns[0], kind="stable")
    return Places(queues, *(column[order] for column in columns))


def _is_message(units: NDArray[Any]) -> NDArray[np.bool_]:
    size = units["size"].astype(np.int32)
    is_message: NDArray[np.bool_] = (size > 0) & (size != FILLER_BYTES)
    return is_message


def _copied(units: NDArray[Any], chosen: Longs) -> NDArray[Any]:
    """Return a copy of the chosen units.

    They are copied as bytes, because NumPy copies a structure field by field.
    """
    low, high = int(chosen[0]), int(chosen[-1]) + 1
    if high - low == len(chosen):
        return np.frombuffer(units[low:high].tobytes(), UNIT)
    return units.view(_AS_BYTES)[chosen].view(UNIT)


def _block_at(units: NDArray[Any], physical: int) -> int:
    """Return the first block in which at least half of the records begin at `physical` or later."""
    count = -(-len(units) // BLOCK)

    def is_beyond(block: int) -> bool:
        for number in range(block, min(block + 1 + HOLE_BLOCKS, count)):
            part = units[number * BLOCK : (number + 1) * BLOCK]
            places = part["physical"][part["size"] > 0]
            if len(places):
                return bool(2 * int((places >= physical).sum()) > len(places))
        return True  # nothing was written there

    return bisect_left(range(count), True, key=is_beyond)


def _mapped(path: str) -> NDArray[Any]:
    """Return the units of a file; empty if it is deleted.  A deleted file stays readable while it is mapped."""
    try:
        with open(path, "rb") as file:
            held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (FileNotFoundError, ValueError):
        return np.empty(0, UNIT)
    return np.frombuffer(held, UNIT, len(held) // UNIT_BYTES)
