"""The consume queue units that point into a log file; its rows depend on them.  They are compared at each read."""

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sandbox.kernel import json_bytes
from sandbox.store_columns.queue_positions import NO_END, Bounds, Log, Part, queues_of, unit_parts

GROUP_BYTES = 1 << 30  # of the log, whose units are read together


class Units(NamedTuple):
    """The units that point into one log file.

    `crc`: CRC-32 of the units' bytes, their offsets and their queues.  `spans`: the smallest and the largest offset
    by queue.
    """

    messages: int
    crc: int
    spans: dict[tuple[str, int], tuple[int, int]]

    def within(self, bounds: Bounds) -> bool:
        """Return True if a reader within these bounds has a row for each unit."""
        ranges = ((span, bounds.get(queue, (0, 0))) for queue, span in self.spans.items())
        return all(begin <= least and most < end for (least, most), (begin, end) in ranges)


def units_by_log(root: Path, logs: Sequence[Log]) -> Iterator[tuple[Log, Units]]:
    """Yield each log file with its units.  Small log files are read together."""
    queues = queues_of(root)
    group: list[Log] = []
    for number, log in enumerate(logs):
        group.append(log)
        if number + 1 == len(logs) or logs[number + 1].end - group[0].start > GROUP_BYTES:
            parts = unit_parts(root, queues, group[0].start, log.end)
            yield from zip(group, units_of(queues, parts, group), strict=True)
            group = []


def units_of(queues: Sequence[tuple[str, int]], parts: Sequence[Part], logs: Sequence[Log]) -> list[Units]:
    """Return the units of each of these consecutive log files; `parts` are all units that point into them."""
    return [_units(queues, into) for into in _split(parts, logs)]


def _units(queues: Sequence[tuple[str, int]], parts: Sequence[Part]) -> Units:
    messages = crc = 0
    spans: dict[tuple[str, int], tuple[int, int]] = {}
    for number, at, units in parts:
        queue, first, last = queues[number], int(at.min()), int(at.max())
        least, most = spans.get(queue, (NO_END, 0))
        spans[queue] = min(least, first), max(most, last)
        messages += len(units)
        crc = zlib.crc32(json_bytes.dumps([*queue, len(units), first, last]), crc)
        if (np.diff(at) != 1).any():  # with gaps, or in another order
            crc = zlib.crc32(at.astype("<i8").data, crc)
        crc = zlib.crc32(units.data, crc)
    return Units(messages, crc, spans)


def _split(parts: Sequence[Part], logs: Sequence[Log]) -> list[list[Part]]:
    """Return the parts of each log file."""
    split: list[list[Part]] = [[] for _ in logs]
    edges = np.array([log.start for log in logs] + [logs[-1].end])
    for number, at, units in parts:
        physical = units["physical"].astype(np.int64)
        if not (physical[1:] >= physical[:-1]).all():  # a damaged one is among them
            order = np.argsort(physical, kind="stable")
            physical, at, units = physical[order], at[order], units[order]
        cuts = np.searchsorted(physical, edges)
        for into, low, high in zip(split, cuts, cuts[1:], strict=False):
            if low < high:
                into.append((number, at[low:high], units[low:high]))
    return split
