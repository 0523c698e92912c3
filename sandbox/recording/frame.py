"""Frames, the content of a recording, and the description of their origin.

A frame's state is a tree of JSON: `{"clock": {"rate", "epoch"}, "channels": {name: data}}`, with channels by their
names without a slug (`board/order-svc/orders`).  Rows of the journal have the form of the API, 64-bit integers as
texts.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sandbox.recording.tree import Tree

CHUNK_MS = 60_000
PACE_MS = 100  # between two reads of the boards


class Frame(NamedTuple):
    """The data that the live channels would have shown after event `seq`."""

    seq: int
    at_ms: int
    state: Tree


class About(NamedTuple):
    """The origin of the frames.  None: unknown, or not applicable."""

    engine: str  # version of QueueViz
    template: str | None
    preset: str | None
    seed: str | None
    pace_ms: int | None  # of the sandbox's clock, between two readings; None: at the journal's keyframes


def state_of(rate: float, epoch: str, channels: Tree) -> Tree:
    return {"clock": {"rate": rate, "epoch": epoch}, "channels": channels}


def in_range(frames: Iterable[Frame], first: int, last: int) -> Iterator[Frame]:
    """Yield the frames from the newest at or before event `first` to the newest at or before `last`."""
    before: Frame | None = None
    for frame in frames:
        if frame.seq > last:
            break
        if frame.seq > first:
            if before is not None:
                yield before
            before = None
            yield frame
        else:
            before = frame
    if before is not None:
        yield before
