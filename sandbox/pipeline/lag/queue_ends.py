"""The end of one queue according to the journal, and the store times of its messages."""

from bisect import bisect_right
from typing import Any

RUNS_KEPT = 4_096
"""Runs of one queue with a store time, from the oldest message a group has to consume.

Beyond this number neighbours are joined, so that a wait is overestimated by at most a thousandth of the longest.
"""


class QueueEnds:
    """The offsets of one queue: `min_offset`, `max_offset`, and `produced` messages in the open second.

    None is unknown.
    """

    __slots__ = ("_first", "_joined_ms", "_stored_ms", "max_offset", "min_offset", "produced")

    def __init__(self, min_offset: int | None = None, max_offset: int | None = None) -> None:
        self.min_offset = min_offset
        self.max_offset = max_offset
        self.produced: int | None = 0
        self._first: list[int] = []  # a run begins at this offset …
        self._stored_ms: list[int | None] = []  # … and was stored then; None: unknown
        self._joined_ms = 1

    def stored(self, first: int, count: int, at_ms: int) -> None:
        """Add messages that the broker stored in one turn.

        Messages reported twice (by a slave with the master's name) count once.
        """
        end = first + count
        known = self.max_offset
        if known is not None and end <= known:
            return
        if known is not None and first > known:  # some in between were not reported
            self.ends_at(first, counted=False)
        new = end - first if known is None else end - max(first, known)
        if self.produced is not None:
            self.produced += new
        self.max_offset = end
        self._remember(end - new, at_ms)

    def ends_at(self, end: int, *, counted: bool) -> None:
        """Set the end of the queue; the store times of the new messages are unknown.

        `counted`: `produced` stays known; otherwise it becomes unknown.
        """
        if end != self.max_offset:
            if self.max_offset is None or end < self.max_offset:
                self.forget_times()
            self._remember(self.max_offset or 0, None)
            self.max_offset = end
            if not counted:
                self.produced = None

    def lose(self) -> None:
        """Mark the end of the queue and all store times unknown."""
        self.max_offset = None
        self.forget_times()

    def forget_times(self) -> None:
        self._first.clear()
        self._stored_ms.clear()
        self._joined_ms = 1

    def stored_ms(self, offset: int) -> int | None:
        """Return the store time of the message at this offset, or None if unknown."""
        at = bisect_right(self._first, offset) - 1
        return self._stored_ms[at] if at >= 0 else None

    def forget_below(self, offset: int) -> None:
        """Drop the store times of messages before this offset."""
        at = bisect_right(self._first, offset) - 1
        if at > 0:
            del self._first[:at]
            del self._stored_ms[:at]
            if len(self._first) < RUNS_KEPT // 4:
                self._joined_ms = 1

    def to_json(self) -> list[Any]:
        return [self.min_offset, self.max_offset, self.produced, self._first, self._stored_ms, self._joined_ms]

    @classmethod
    def from_json(cls, value: list[Any]) -> "QueueEnds":
        queue = cls(value[0], value[1])
        queue.produced, queue._first, queue._stored_ms, queue._joined_ms = value[2:]
        return queue

    def _remember(self, first: int, at_ms: int | None) -> None:
        last = self._stored_ms[-1] if self._stored_ms else None
        if self._stored_ms and _same(last, at_ms, self._joined_ms):
            return
        self._first.append(first)
        self._stored_ms.append(at_ms)
        while len(self._first) > RUNS_KEPT:
            self._join()

    def _join(self) -> None:
        """Halve the time resolution: of runs within the same interval keep the first for all."""
        self._joined_ms *= 2
        kept = [
            at
            for at, stored_ms in enumerate(self._stored_ms)
            if at == 0 or not _same(self._stored_ms[at - 1], stored_ms, self._joined_ms)
        ]
        self._first = [self._first[at] for at in kept]
        self._stored_ms = [self._stored_ms[at] for at in kept]


def _same(first: int | None, other: int | None, stretch_ms: int) -> bool:
    if first is None or other is None:
        return first is other
    return first // stretch_ms == other // stretch_ms
