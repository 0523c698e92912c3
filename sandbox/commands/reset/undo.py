"""Undo of a reset: restores each queue's offset before it, if its messages still exist."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

from sandbox.commands.reset.targets import NEVER, Targets
from sandbox.kernel.errors import ActionRefused
from sandbox.message.queue import MessageQueue

UNDO_MS = 24 * 3_600_000


class UndoPoint(NamedTuple):
    """Committed offsets before a reset, by broker and queue; None means that there was none."""

    reset_id: str
    group: str
    topic: str
    at_ms: int
    before: dict[tuple[str, int], int | None]

    @classmethod
    def of(cls, reported: Mapping[str, Any]) -> Self:
        """Create it from the journal's row of an `OffsetsReset`, whose queues are of one topic; numbers may be text."""
        before: dict[tuple[str, int], int | None] = {}
        topic = ""
        for key, old, _ in reported["rows"]:
            topic, broker, queue_id = key.rsplit("/", 2)
            before[broker, int(queue_id)] = None if int(old) == NEVER else int(old)
        return cls(reported["reset_id"], reported["group"], topic, int(reported["at_ms"]), before)


def checked_point(point: UndoPoint | None, reset_id: str, now_ms: int) -> UndoPoint:
    """Return the undo point.  Raises ActionRefused: 404 if it is not of this reset, 409 if it is too old."""
    if point is None or point.reset_id != reset_id:
        raise ActionRefused(
            404, "Offset reset {reset_id} cannot be undone: not found.", field="reset_id", reset_id=reset_id
        )
    if now_ms - point.at_ms > UNDO_MS:
        raise ActionRefused(409, "The offset reset is older than 24 hours.", "Start a new offset reset.")
    return point


def undo_targets(point: UndoPoint, min_offset: Callable[[MessageQueue], int | None]) -> Targets:
    """Return the offset to restore in each queue.  `min_offset` returns None for a queue that no longer exists.

    Raises ActionRefused (409) if messages were deleted, or no offset was stored before the reset.
    """
    targets: Targets = {}
    for (broker, queue_id), before in sorted(point.before.items()):
        mq = MessageQueue(point.topic, broker, queue_id)
        if before is None or (low := min_offset(mq)) is None:
            continue
        if before < low:
            raise ActionRefused(
                409,
                "Messages of {queue} before {low} were deleted after the offset reset.",
                "Make a new reset.",
                low=low,
                queue=mq.row,
            )
        targets[mq] = before
    if not targets:
        raise ActionRefused(409, "No offset was stored before that offset reset.", "Start a new offset reset.")
    return targets
