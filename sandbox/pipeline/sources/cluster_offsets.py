"""Begin and end offsets of a read of a running cluster, queue by queue: numbers only.

A position is the next offset of every queue, as in a stream's checkpoint (`cluster_options.plain`).
"""

from collections.abc import Iterable, Mapping
from heapq import heapify, heapreplace
from typing import NamedTuple

from sandbox.kernel.errors import ClientError
from sandbox.message.queue import MessageQueue
from sandbox.pipeline.sources.conditions import DataLost
from sandbox.pipeline.sources.store_offsets import EARLIEST, LATEST, WAY_ON

Offsets = Mapping[MessageQueue, int]


class Ends(NamedTuple):
    """The offsets `[low, high)` of a queue's messages.

    `by_master` is False for a slave's answer: a slave may be behind, so its end proves no loss.
    """

    low: int
    high: int
    by_master: bool = True


class Range(NamedTuple):
    """The messages `[begin, end)` of a queue, read by one task."""

    queue: MessageQueue
    begin: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.begin


def named(queue: MessageQueue) -> str:
    return f"queue {queue.row} of topic {queue.topic}"


def lost(queue: MessageQueue, begin: int, end: int) -> DataLost:
    return DataLost(
        f"Messages {begin} to {end - 1} of {named(queue)} no longer exist: retention removed "
        f"them before they were read.{WAY_ON}"
    )


def ended(queue: MessageQueue, begin: int, high: int) -> DataLost:
    return DataLost(
        f"The {named(queue)} ends at {high} and has no offset {begin} to continue from. It was deleted or "
        f"created again, or its broker lost messages.{WAY_ON}"
    )


def resolved(
    option: str, asked: str | Offsets, queue_ends: Mapping[MessageQueue, Ends], otherwise: str
) -> dict[MessageQueue, int]:
    """Return the requested offsets; queues without one get `otherwise`.

    Raises ClientError if the option names a queue that is not read.
    """
    explicit = asked if isinstance(asked, Mapping) else {}
    check_read(option, explicit, queue_ends)
    special = {"earliest": EARLIEST, "latest": LATEST}[otherwise if isinstance(asked, Mapping) else asked]
    places = {queue: explicit.get(queue, special) for queue in queue_ends}
    return {
        queue: {EARLIEST: queue_ends[queue].low, LATEST: queue_ends[queue].high}.get(offset, offset)
        for queue, offset in places.items()
    }


def check_read(option: str, queues: Iterable[MessageQueue], queue_ends: Mapping[MessageQueue, Ends]) -> None:
    """Raise ClientError if the option names a queue that is not read."""
    for queue in sorted(queues):
        if queue not in queue_ends:
            raise ClientError(
                f"Option {option} names {named(queue)}, which is not read. Remove it, or correct its name."
            )


def begins(
    position: Offsets, queue_ends: Mapping[MessageQueue, Ends], *, fail_on_data_loss: bool
) -> dict[MessageQueue, int]:
    """Return the offsets where reading continues; a queue without a position is new and begins with its first message.

    Raises StoreError if messages from there on were deleted; without `fail_on_data_loss` they are left out.
    """
    chosen = {}
    for queue, (low, high, by_master) in queue_ends.items():
        start = position.get(queue, 0)
        chosen[queue] = start
        if start > high and by_master:
            if fail_on_data_loss:
                raise ended(queue, start, high)
            chosen[queue] = low
        elif start < low:
            if fail_on_data_loss:
                raise lost(queue, start, low)
            chosen[queue] = low
    return chosen


def between(start: Offsets, end: Offsets, *, is_first: bool = False) -> list[Range]:
    """Return the ranges of one batch of a stream, from its checkpoint alone: the same after any restart.

    A new queue is read from 0.  A queue that ends before its position was created again, so it is read from 0 too.
    In the first batch such an end comes from an earlier start of the stream: this start begins later, so nothing is
    read.
    """
    ranges = []
    for queue, stop in sorted(end.items()):
        begin = start.get(queue, 0)
        ranges.append(Range(queue, begin if begin <= stop else stop if is_first else 0, stop))
    return [piece for piece in ranges if piece.size]


def split(ranges: Iterable[Range], least: int) -> list[Range]:
    """Split the ranges into at least `least` parts, if there are that many messages.

    The longest parts are split first.
    """
    whole = [piece for piece in ranges if piece.size > 0]
    parts = [1] * len(whole)
    longest = [(-float(piece.size), number) for number, piece in enumerate(whole)]
    heapify(longest)
    for _ in range(min(least, sum(piece.size for piece in whole)) - len(whole)):
        number = longest[0][1]
        parts[number] += 1
        heapreplace(longest, (-(whole[number].size / parts[number]), number))
    return [
        Range(piece.queue, piece.begin + piece.size * part // count, piece.begin + piece.size * (part + 1) // count)
        for piece, count in zip(whole, parts, strict=True)
        for part in range(count)
    ]
