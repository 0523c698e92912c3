"""Positions of a read of stores, queue by queue, and the slices to read next.

All are numbers, computed from the disk each time.  A position is the content of a stream's checkpoint: the next
offset of every queue, as JSON `{topic: {"0": offset}}`, under the store's name if several are read.  A new queue,
topic or store begins with its first message.  A queue whose files are deleted keeps its position: a broker that lost
its queues creates them again from its log.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from sandbox.message.queue import MessageQueue
from sandbox.pipeline.sources.conditions import DataLost
from sandbox.pipeline.sources.store_options import Root
from sandbox.store.reader import StoreReader
from sandbox.store.reader_queue import is_filler
from sandbox.store_columns.queue_positions import Wanted

EARLIEST, LATEST = -2, -1
"""Special offsets, as in the Kafka source."""


class Queue(NamedTuple):
    """A queue of a store; `store` is empty for the only store of a read."""

    store: str
    topic: str
    queue_id: int


Q = TypeVar("Q", Queue, MessageQueue)


class Position(NamedTuple):
    """The next offset of each queue, and the stores that were read."""

    stores: frozenset[str]
    offsets: dict[Queue, int]


class Extent(NamedTuple):
    """The content of a queue on disk: messages in `[first, end)`, and units not verified yet up to `written`.

    `first` is `end` without messages.  `began_there`: no message below `first` ever existed.  `log_end`: end of the
    last message's record in the log, 0 without one.
    """

    first: int
    end: int
    written: int
    began_there: bool
    log_end: int = 0


class Slice(NamedTuple):
    """The messages `[start, end)` of a queue."""

    queue: Queue
    start: int
    end: int


def extents(roots: Iterable[Root], selection: Wanted) -> dict[Queue, Extent]:
    """Return the content of every selected queue that has a directory.  Raises StoreError if a store is missing."""
    by_queue = {}
    for root in roots:
        with StoreReader(root.path) as reader:
            for topic, queue_id in reader.queues():
                if selection.has(topic, queue_id):
                    by_queue[Queue(root.name or "", topic, queue_id)] = _extent(reader, topic, queue_id)
    return by_queue


def _extent(reader: StoreReader, topic: str, queue_id: int) -> Extent:
    queue = reader.queue(topic, queue_id)
    end = queue.max_offset()
    first = queue.first_there(end)
    before = queue.unit(first - 1) if first else None
    last = queue.unit(end - 1) if first < end else None
    return Extent(
        first,
        end,
        queue.written_end(),
        first == 0 or (before is not None and is_filler(before)),
        0 if last is None else last.physical_offset + last.store_bytes,
    )


def begins(position: Position, by_queue: Mapping[Queue, Extent], *, fail_on_data_loss: bool) -> dict[Queue, int]:
    """Return the offsets where reading continues.  Raises StoreError if messages from there on were deleted.

    Without `fail_on_data_loss` the deleted ones are left out.
    """
    chosen = {}
    for queue, extent in by_queue.items():
        start = position.offsets.get(queue)
        if start is None:
            start = 0 if queue.store in position.stores else extent.first
        chosen[queue] = start
        if start > extent.written:
            if fail_on_data_loss:
                raise DataLost(
                    f"{name_of(queue)} ends at {extent.end} and has no offset {start} to continue from: it "
                    f"was created again.{WAY_ON}"
                )
            chosen[queue] = extent.first
        elif start < extent.first:
            if fail_on_data_loss and not extent.began_there:
                raise lost(queue, start, extent.first)
            chosen[queue] = extent.first
    return chosen


WAY_ON = " Set failOnDataLoss to false to continue with the existing messages."


def lost(queue: Queue, start: int, end: int) -> DataLost:
    return DataLost(
        f"{name_of(queue)} no longer has the messages {start} to {end - 1}: retention removed them before "
        f"they were read.{WAY_ON}"
    )


def name_of(queue: Queue) -> str:
    of = f" of store {queue.store}" if queue.store else ""
    return f"Queue {queue.queue_id} of topic {queue.topic}{of}"


def shares(waiting: Mapping[Q, int], most: int) -> dict[Q, int]:
    """Divide `most` in proportion to the waiting numbers, in integers; return everything if the total is less."""
    total = sum(waiting.values())
    if total <= most:
        return dict(waiting)
    share_of = {queue: count * most // total for queue, count in waiting.items()}
    left = most - sum(share_of.values())
    for queue in sorted(waiting):
        more = 1 if left and share_of[queue] < waiting[queue] else 0
        share_of[queue] += more
        left -= more
    return share_of


def slices(start: Mapping[Queue, int], end: Position) -> list[Slice]:
    """Return the slices between the two positions; none for queues whose files are deleted."""
    return [
        Slice(queue, begin, end.offsets[queue])
        for queue, begin in sorted(start.items())
        if begin < end.offsets.get(queue, begin)
    ]


def packed(slices: Iterable[Slice], most: int) -> list[list[Slice]]:
    """Split and combine slices into groups of `most` messages, because every task has a fixed cost."""
    groups: list[list[Slice]] = []
    room = 0
    for piece in slices:
        start = piece.start
        while start < piece.end:
            if not room:
                groups.append([])
                room = most
            taken = min(room, piece.end - start)
            groups[-1].append(piece._replace(start=start, end=start + taken))
            start, room = start + taken, room - taken
    return groups


def plain(position: Position, *, named: bool) -> dict[str, Any]:
    """Return the position as JSON values, in a fixed order."""
    stores: dict[str, dict[str, dict[str, int]]] = {name: {} for name in sorted(position.stores)}
    for queue, offset in sorted(position.offsets.items()):
        stores.setdefault(queue.store, {}).setdefault(queue.topic, {})[str(queue.queue_id)] = offset
    return stores if named else dict(stores.get("", {}))


def position_of(value: Any, *, named: bool) -> Position:
    """Return the position in JSON values, the inverse of `plain`.  Raises ValueError for another shape."""
    stores = value if named else {"": value}
    offsets: dict[Queue, int] = {}
    for store, topics in _table(stores):
        for topic, queues in _table(topics):
            for queue_id, offset in _table(queues):
                if not queue_id.isdecimal() or type(offset) is not int or offset < EARLIEST:
                    raise ValueError(f"queue {queue_id} of topic {topic} has the invalid offset {offset}")
                offsets[Queue(store, topic, int(queue_id))] = offset
    return Position(frozenset(stores), offsets)


def _table(value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise ValueError(f"{value} is not an object")
    return list(value.items())
