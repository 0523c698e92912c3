"""The delivery of messages in a run, computed from its journal: the oldest unconsumed one, and those delivered.

Only clustering groups count, and each message counts once for each group that subscribes to its topic.
"""

from collections.abc import Iterable
from typing import NamedTuple

from sandbox.journal.schema import Row
from sandbox.queries.rows.snapshot import GroupRow

SETTLES_MS = 10_000  # messages stored later than this before the end may still be on their way
ALL = "*"  # the subscription to all messages of a topic
Queue = tuple[str, str, str, int]  # group, topic, broker, queue


class OldestUnconsumed(NamedTuple):
    """The highest age that an unconsumed message reached, and its position."""

    ms: int
    queue: str
    offset: int
    group: str


class MessageFigures(NamedTuple):
    """The figures from an event on.

    `oldest`: None if no message was stored, or unknown.  `stored`: messages stored at least `SETTLES_MS` before the
    end.  `delivered`: those of them that a listener received.  `unknown`: why all of them are unknown, else None.
    """

    oldest: OldestUnconsumed | None = None
    delivered: int | None = None
    stored: int | None = None
    unknown: str | None = None  # skipped, lost, filtered, no_group


def message_figures(
    rows: list[Row], since: int, groups: Iterable[GroupRow], ends_ms: int, *, lost: int
) -> MessageFigures:
    """Return the figures of these groups from event `since` to `ends_ms`.

    `lost`: the number of messages whose offsets were assigned again.
    """
    subscriptions = [(group["group"], entry) for group in groups for entry in group["subscription"]]
    if unknown := _unknown(rows, [entry["expression"] for _, entry in subscriptions], lost):
        return MessageFigures(unknown=unknown)
    readers: dict[str, set[str]] = {}
    for group, entry in subscriptions:
        readers.setdefault(entry["topic"], set()).add(group)
    waiting, counts = _Waiting(readers, since), _Counts(readers, ends_ms - SETTLES_MS)
    for row in rows:
        waiting.apply(row)
        if row["seq"] >= since:
            counts.apply(row)
    return MessageFigures(waiting.oldest(ends_ms), len(counts.stored & counts.delivered), len(counts.stored))


def _unknown(rows: list[Row], expressions: list[str | None], lost: int) -> str | None:
    if any(row["type"] in ("FlowSkipped", "JournalTrimmed") for row in rows):
        return "skipped"
    if lost:
        return "lost"
    if not expressions:
        return "no_group"
    return "filtered" if any(expression != ALL for expression in expressions) else None


class _Counts:
    """The messages that were stored until a time, and that listeners received, by group, queue and offset."""

    def __init__(self, readers: dict[str, set[str]], until_ms: int) -> None:
        self._readers = readers
        self._until_ms = until_ms
        self.stored: set[tuple[Queue, int]] = set()
        self.delivered: set[tuple[Queue, int]] = set()

    def apply(self, row: Row) -> None:
        if row["type"] == "MessagesStored" and row["at_ms"] <= self._until_ms:
            for queue in _queues(row, self._readers):
                self.stored |= {(queue, row["first_offset"] + index) for index in range(row["count"])}
        elif row["type"] == "MessagesConsumed":
            self.delivered |= {(_queue(row), offset) for offset in row["offsets"]}


class _Waiting:
    """The unconsumed messages.

    A message is consumed at the success of a listener, when it is sent back to the broker, or at a commit after it.
    Messages before the start offset of a reader, and in queues without a first reader, do not count.
    """

    def __init__(self, readers: dict[str, set[str]], since: int) -> None:
        self._readers = readers
        self._since = since
        self._stored_ms: dict[Queue, dict[int, int]] = {}
        self._read: set[Queue] = set()
        self._oldest: OldestUnconsumed | None = None

    def apply(self, row: Row) -> None:
        kind = row["type"]
        if kind == "MessagesStored":
            for queue in _queues(row, self._readers):
                times = self._stored_ms.setdefault(queue, {})
                times |= {row["first_offset"] + index: row["at_ms"] for index in range(row["count"])}
        elif kind == "QueueTaken":
            self._read.add(_queue(row))
            for offset in self._before(row, row["start_offset"]):
                del self._stored_ms[_queue(row)][offset]
        elif kind == "OffsetCommitted":
            self._end(row, self._before(row, row["offset"]))
        elif kind == "MessagesConsumed" and row["outcome"] == "SUCCESS":
            self._end(row, row["offsets"])
        elif kind == "MessageRetried" and row["target"] == "broker":
            self._end(row, [row["offset"]])

    def oldest(self, ends_ms: int) -> OldestUnconsumed | None:
        """Return the message that reached the highest age, of those consumed and those left at `ends_ms`."""
        left = (
            _aged(queue, offset, ends_ms - at_ms)
            for queue in self._read & self._stored_ms.keys()
            for offset, at_ms in self._stored_ms[queue].items()
        )
        return max(filter(None, (self._oldest, *left)), default=None)

    def _before(self, row: Row, offset: int) -> list[int]:
        """Return the offsets of unconsumed messages before this one.  They are in their order."""
        before: list[int] = []
        for position in self._stored_ms.get(_queue(row), ()):
            if position >= offset:
                break
            before.append(position)
        return before

    def _end(self, row: Row, offsets: Iterable[int]) -> None:
        queue = _queue(row)
        times = self._stored_ms.get(queue, {})
        for offset in offsets:
            at_ms = times.pop(offset, None)
            if at_ms is not None and row["seq"] >= self._since:
                aged = _aged(queue, offset, row["at_ms"] - at_ms)
                self._oldest = max(aged, self._oldest or aged)


def _queue(row: Row) -> Queue:
    return row["group"], row["topic"], row["broker"], row["queue_id"]


def _queues(row: Row, readers: dict[str, set[str]]) -> list[Queue]:
    return [(group, row["topic"], row["broker"], row["queue_id"]) for group in readers.get(row["topic"], ())]


def _aged(queue: Queue, offset: int, ms: int) -> OldestUnconsumed:
    group, topic, broker, queue_id = queue
    return OldestUnconsumed(ms, f"{topic}/{broker}/{queue_id}", offset, group)
