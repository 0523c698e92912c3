"""Events of offsets: commits and resets."""

from typing import NamedTuple

from sandbox.journal.events.event import flow, said
from sandbox.journal.events.shapes import Long
from sandbox.kernel.sentences import Plural


@flow
@said("quiet", "commit", "{queue} committed {offset}")
class OffsetCommitted(NamedTuple):
    """A changed committed offset.  A commit of the same value writes no event."""

    group: str
    topic: str
    broker: str
    queue_id: int
    offset: Long
    previous: Long | None
    by: str  # timer, pull, release, shutdown, reset, admin
    client_id: str | None


@said("quiet", "persisted", Plural("entries", "{file}, {entries} entry", "{file}, {entries} entries"))
class OffsetsPersisted(NamedTuple):
    owner: str  # broker or client_id
    file: str
    entries: int


@said(
    "bad",
    "lost",
    Plural(
        "queues",
        "{broker} lost the offset of {group} for {queues} queue ({how})",
        "{broker} lost the offsets of {group} for {queues} queues ({how})",
    ),
    "bad",
)
class OffsetsReverted(NamedTuple):
    """A broker started with older offsets, because the newer ones had not been written to disk.

    `queues`: queue key, offset before, offset now; −1 means no offset.
    """

    group: str
    broker: str
    how: str  # killed, power_cut, damaged
    queues: tuple[tuple[str, Long, Long], ...]


@said(
    "bad",
    "lost",
    Plural(
        "levels",
        "{broker} lost the offset of {levels} delay level ({how})",
        "{broker} lost the offsets of {levels} delay levels ({how})",
    ),
    "bad",
)
class DelayOffsetsReverted(NamedTuple):
    """A broker started with older offsets of delay levels; it delivers the messages between again.

    `levels`: level, offset before, offset now.
    """

    broker: str
    how: str  # killed, power_cut, damaged
    levels: tuple[tuple[int, Long, Long], ...]


@said("warn", "reset", "offsets of {group} moved: {replayed} redelivered, {skipped} skipped", "act")
@said("warn", "reset", "offsets of {group} restored", "act", when="method=undo")
class OffsetsReset(NamedTuple):
    """A reset of a group.  `rows`: queue key, offset before (−1: none), offset after."""

    reset_id: str
    group: str
    method: str  # online, offline, server, undo, local
    rows: tuple[tuple[str, Long, Long], ...]
    skipped: Long
    replayed: Long
    reason: str
    by: str


@said("move", "reset", "{who} received the reset request", when="step=told")
@said("move", "reset", "{who} released its queues", when="step=dropped")
@said("quiet", "reset", "{who} waits 10 s for messages being processed", when="step=waiting")
@said("move", "reset", "{who} pulls from the new offsets", when="step=resumed")
@said("ok", "reset", "{who} kept the new offsets for 1 min", when="step=verified")
@said("warn", "reset", "a late commit of {who} overwrote a new offset", when="step=overwritten")
@said("move", "reset", "{who}: {step}")
class ResetStepDone(NamedTuple):
    reset_id: str
    client_id: str
    step: str  # told, dropped, waiting, resumed, verified, overwritten


@said("warn", "corrected", "{queue}: offset {asked} corrected to {given}", "warn")
class OffsetMoved(NamedTuple):
    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    asked: Long
    given: Long
    status: str


@said("warn", "min", "{queue} now begins at {offset}", "warn")
class MinOffsetMoved(NamedTuple):
    topic: str
    broker: str
    queue_id: int
    previous: Long
    offset: Long
