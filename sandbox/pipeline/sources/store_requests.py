"""Requested starts, ends and topics of a read of stores: from the options, checked, and as offsets."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from sandbox.kernel import json_bytes
from sandbox.pipeline.sources.asked_range import check_range
from sandbox.pipeline.sources.conditions import NoTopic
from sandbox.pipeline.sources.option_values import meant
from sandbox.pipeline.sources.store_offsets import EARLIEST, LATEST, Extent, Position, Queue, name_of, position_of
from sandbox.pipeline.sources.store_options import Root, is_named
from sandbox.pipeline.sources.time_bounds import Bounds, Times, bounds_of
from sandbox.store.reader import StoreReader
from sandbox.store.reader_listing import queues_in
from sandbox.store_columns.queue_positions import Wanted


def asked_of(options: Mapping[str, str], option: str, default: str) -> str | Position:
    """Return the value of an option: `earliest`, `latest` or a position.  Raises ValueError."""
    text = options.get(option, default).strip()
    if text in ("earliest", "latest"):
        return text
    named = is_named(options)
    try:
        return position_of(json_bytes.loads(text), named=named)
    except ValueError as error:
        shape = '{store: {topic: {"0": offset}}}' if named else '{topic: {"0": offset}}'
        raise ValueError(f"Option {option} must be earliest, latest or JSON {shape}: {error}.") from None


def times_of(options: Mapping[str, str]) -> Bounds:
    """Return the times of a read of stores.  Raises ValueError."""
    named = is_named(options)
    shape = '{store: {topic: {"0": time}}}' if named else '{topic: {"0": time}}'
    return bounds_of(options, lambda value: position_of(value, named=named).offsets, shape)


def check_topics(selection: Wanted, roots: Iterable[Root]) -> None:
    """Raise NoTopic if a topic must exist and no store has it."""
    if not selection.must_exist:
        return
    existing = {topic for root in roots for topic, _ in queues_in(root.path)[0]}
    if unknown := sorted((selection.topics or frozenset()) - existing):
        raise NoTopic(f"No topic {unknown[0]} in the store.{meant(unknown[:1], existing)}")


def begins_at_end(asked: str | Position) -> bool:
    """Return True if a queue begins at its end, which only a stream may: the option is `latest`, or has a -1."""
    return asked == "latest" or (isinstance(asked, Position) and LATEST in asked.offsets.values())


def ends_at_begin(asked: str | Position) -> bool:
    """Return True if a queue ends at its first message: the option is `earliest`, or has a -2."""
    return asked == "earliest" or (isinstance(asked, Position) and EARLIEST in asked.offsets.values())


def check_queues(option: str, asked: str | Position | Times | None, roots: Iterable[Root]) -> None:
    """Raise ValueError if the option names an unknown queue or store."""
    if isinstance(asked, Position | Times):
        queues_of_store = {root.name or "": set(queues_in(root.path)[0]) for root in roots}
        for queue in sorted(asked.offsets if isinstance(asked, Position) else asked.by_queue):
            if (queue.topic, queue.queue_id) not in queues_of_store.get(queue.store, ()):
                name = name_of(queue)
                raise ValueError(f"Option {option} names {name[0].lower()}{name[1:]}, which does not exist.")


def check_asked(
    starting: str | Position, ending: str | Position, by_queue: Mapping[Queue, Extent], *, fail_on_data_loss: bool
) -> None:
    """Raise OffsetsOutOfRange if the options of a first read request offsets that are not a range of their queue."""
    starts, ends = ({} if isinstance(asked, str) else asked.offsets for asked in (starting, ending))
    check_range(
        starts,
        ends,
        {queue: extent.written for queue, extent in by_queue.items()},
        lambda queue: f"{name_of(queue)[0].lower()}{name_of(queue)[1:]}",
        fail_on_data_loss=fail_on_data_loss,
    )


def resolved(
    asked: str | Position, by_queue: Mapping[Queue, Extent], stores: frozenset[str], *, otherwise: str
) -> Position:
    """Return the requested position in numbers; queues without a requested offset get `otherwise`."""

    def at(queue: Queue, extent: Extent) -> int:
        offset = {"earliest": EARLIEST, "latest": LATEST}[otherwise if isinstance(asked, Position) else asked]
        if isinstance(asked, Position):
            offset = asked.offsets.get(queue, offset)
        return {EARLIEST: extent.first, LATEST: extent.end}.get(offset, offset)

    return Position(stores, {queue: at(queue, extent) for queue, extent in by_queue.items()})


def started(
    asked: str | Position, times: Times | None, by_queue: Mapping[Queue, Extent], roots: Sequence[Root]
) -> Position:
    """Return the position where a first read begins.  Raises StoreError if a later message is required and missing."""
    return _at_times(asked, times, by_queue, roots, otherwise="earliest")


def ended(
    asked: str | Position, times: Times | None, by_queue: Mapping[Queue, Extent], roots: Sequence[Root]
) -> Position:
    """Return the position where a batch read ends."""
    return _at_times(asked, times, by_queue, roots, otherwise="latest")


def _at_times(
    asked: str | Position, times: Times | None, by_queue: Mapping[Queue, Extent], roots: Sequence[Root], otherwise: str
) -> Position:
    """Return the requested position; queues without a time get `otherwise`."""
    paths = {root.name or "": root.path for root in roots}
    if times is None:
        return resolved(asked, by_queue, frozenset(paths), otherwise=otherwise)
    position = resolved(otherwise, by_queue, frozenset(paths), otherwise=otherwise)
    for store, queues in groupby(sorted(by_queue), lambda queue: queue.store):
        with StoreReader(paths[store]) as reader:
            for queue in queues:
                if (at_ms := times.of(queue)) is None:
                    continue
                low, high = by_queue[queue].first, by_queue[queue].end
                first = reader.queue(queue.topic, queue.queue_id).first_stored_from(at_ms, low, high)
                position.offsets[queue] = times.or_end(None if first == high else first, high, at_ms, name_of(queue))
    return position
