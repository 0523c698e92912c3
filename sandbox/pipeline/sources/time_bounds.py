"""Starts and ends of a read at store times instead of offsets, with the Kafka source's options."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sandbox.kernel import json_bytes
from sandbox.kernel.errors import StoreError
from sandbox.pipeline.sources.option_values import count_of

STRATEGY = "startingOffsetsByTimestampStrategy"
START = ("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets")
END = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
FROM_TIME = (*START[:2], STRATEGY)
TO_TIME = END[:2]
STRATEGIES = ("latest", "error")
BATCH_ONLY = END

TimesByQueue = Mapping[Any, int]


class Times(NamedTuple):
    """Store times in ms: `every_ms` for all queues, or those in `by_queue`.

    A queue is read from, or up to, its first message stored at its time or later.  `is_strict`: such a message must
    exist.
    """

    every_ms: int | None
    by_queue: TimesByQueue = {}
    is_strict: bool = False

    def of(self, queue: Any) -> int | None:
        """Return the time of the queue, or None if it has none."""
        return self.by_queue.get(queue) if self.every_ms is None else self.every_ms

    def or_end(self, first: int | None, end: int, at_ms: int, name: str) -> int:
        """Return `first`, or the queue's end if there is no first message.

        Raises StoreError if the message must exist; `name` begins the error's sentence.
        """
        if first is None and self.is_strict:
            raise StoreError(
                f"{name} has no message stored at {at_ms} or later. Set {STRATEGY} to latest to begin at its end."
            )
        return end if first is None else first


class Bounds(NamedTuple):
    """The times of a read; None where offsets define the start or the end."""

    start: Times | None
    end: Times | None


def bounds_of(options: Mapping[str, str], parsed: Callable[[Any], TimesByQueue], shape: str) -> Bounds:
    """Return the times in these options.  Raises ValueError.

    `parsed`: reads times by queue from JSON values of this `shape`; it raises ValueError with the reason.
    """
    strategy = options.get(STRATEGY, STRATEGIES[0]).strip()
    if strategy not in STRATEGIES:
        raise ValueError(f"Option {STRATEGY} must be {' or '.join(STRATEGIES)}, not {strategy}.")
    start, end = (_times_of(options, names, parsed, shape) for names in (START, END))
    if start is not None:
        start = start._replace(is_strict=strategy == "error")
    if start is not None and end is not None:
        _check_order(start, end)
    return Bounds(start, end)


def no_ends(options: Mapping[str, str]) -> None:
    """Raise ValueError if options of a stream contain an end."""
    if names := [name for name in END if name in options]:
        raise ValueError(f"Option {names[-1]} needs a batch read: a stream has no end.")


def _times_of(
    options: Mapping[str, str], names: tuple[str, str, str], parsed: Callable[[Any], TimesByQueue], shape: str
) -> Times | None:
    every, by_queue, _ = names
    present = [name for name in names if name in options]
    at_ms = count_of(options, every)
    if len(present) > 1:
        raise ValueError(f"Set {' or '.join(present)}, not {'both' if len(present) == 2 else 'all'}.")
    if by_queue not in options:
        return None if at_ms is None else Times(at_ms)
    try:
        times = parsed(json_bytes.loads(options[by_queue]))
        if negative := sorted(at_ms for at_ms in times.values() if at_ms < 0):
            raise ValueError(f"{negative[0]} is not a time in ms of 0 or more")
    except ValueError as error:
        raise ValueError(f"Option {by_queue} must be JSON {shape} with times in ms: {error}.") from None
    return Times(None, times)


def _check_order(start: Times, end: Times) -> None:
    """Raise ValueError if a start is after its end, because an empty result would not show the mistake."""
    pairs = [(start.of(queue), end.of(queue)) for queue in (*start.by_queue, *end.by_queue, None)]
    for begin_ms, end_ms in pairs:
        if begin_ms is not None and end_ms is not None and begin_ms > end_ms:
            raise ValueError(
                f"The read starts at time {begin_ms}, after its end at time {end_ms}. Choose a start before the end."
            )
