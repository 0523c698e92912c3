"""Events of offsets: commits and resets."""

from typing import NamedTuple

from sandbox.journal.events.shapes import Long


class OffsetCommitted(NamedTuple):
    """flow; only when the value changed"""

    group: str
    topic: str
    broker: str
    queue_id: int
    offset: Long
    previous: Long | None
    by: str  # timer, pull, release, shutdown, reset, admin
    client_id: str | None


class OffsetsPersisted(NamedTuple):
    owner: str  # broker or client_id
    file: str
    entries: int


class OffsetsReset(NamedTuple):
    """`rows`: queue key, offset before (−1: none), offset after."""

    reset_id: str
    group: str
    method: str  # online, offline, server, undo, local
    rows: tuple[tuple[str, Long, Long], ...]
    skipped: Long
    replayed: Long
    reason: str
    by: str


class ResetStepDone(NamedTuple):
    reset_id: str
    client_id: str
    step: str  # told, dropped, waiting, resumed, verified, overwritten


class OffsetMoved(NamedTuple):
    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    asked: Long
    given: Long
    status: str


class MinOffsetMoved(NamedTuple):
    topic: str
    broker: str
    queue_id: int
    previous: Long
    offset: Long
