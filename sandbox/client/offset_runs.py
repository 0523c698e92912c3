"""Set of queue offsets, stored as runs of consecutive offsets."""

from bisect import bisect_right
from collections.abc import Iterable

Run = tuple[int, int]

RUNS_KEPT = 4_096  # a filter may cause a run per message; then the lowest runs are removed


class OffsetRuns:
    """Set of mostly consecutive offsets, stored as runs, so its size does not grow with their number.

    >>> seen = OffsetRuns()
    >>> [seen.add(offset) for offset in (7, 8, 10, 8)]
    [True, True, True, False]
    >>> seen.runs(), seen.count_from(8)
    (((7, 8), (10, 10)), 2)
    """

    __slots__ = ("_ends", "_starts")

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        """Create the set from ascending runs, both bounds included."""
        pairs = list(runs)
        self._starts = [first for first, _ in pairs]
        self._ends = [last for _, last in pairs]

    def __contains__(self, offset: int) -> bool:
        at = bisect_right(self._starts, offset) - 1
        return at >= 0 and offset <= self._ends[at]

    def add(self, offset: int) -> bool:
        """Add an offset; return True if the set did not contain it."""
        starts, ends = self._starts, self._ends
        at = bisect_right(starts, offset) - 1
        if at >= 0 and offset <= ends[at]:
            return False
        joins_next = at + 1 < len(starts) and starts[at + 1] == offset + 1
        if at >= 0 and ends[at] == offset - 1:
            ends[at] = ends.pop(at + 1) if joins_next else offset
            if joins_next:
                del starts[at + 1]
        elif joins_next:
            starts[at + 1] = offset
        else:
            starts.insert(at + 1, offset)
            ends.insert(at + 1, offset)
            if len(starts) > RUNS_KEPT:
                del starts[0], ends[0]
        return True

    def count_from(self, offset: int) -> int:
        """Count the offsets at or above `offset`."""
        at = max(0, bisect_right(self._starts, offset) - 1)
        if at + 1 >= len(self._starts):  # the most frequent case: boards read each queue at each frame
            return max(0, self._ends[at] - max(self._starts[at], offset) + 1) if self._starts else 0
        return sum(
            max(0, last - max(first, offset) + 1)
            for first, last in zip(self._starts[at:], self._ends[at:], strict=True)
        )

    def runs(self) -> tuple[Run, ...]:
        return tuple(zip(self._starts, self._ends, strict=True))

    def clear(self) -> None:
        self._starts.clear()
        self._ends.clear()
