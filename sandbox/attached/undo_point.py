"""Target of an undo: kept by the caller, so that it outlives the engine."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from sandbox.commands.reset.apply import NEVER
from sandbox.kernel.errors import ActionRefused
from sandbox.message.queue import MessageQueue

Befores = dict[MessageQueue, int | None]


class UndoPoint(NamedTuple):
    """The stored offsets before a reset, by broker and queue; None: there was none."""

    reset_id: str
    group: str
    topic: str
    at_ms: int
    before: dict[tuple[str, int], int | None]

    @classmethod
    def of(cls, reported: Mapping[str, Any]) -> Self:
        """From the journal's row of an `OffsetsReset`, whose queues are of one topic; numbers may be text."""
        before: dict[tuple[str, int], int | None] = {}
        topic = ""
        for key, old, _ in reported["rows"]:
            topic, broker, queue_id = key.rsplit("/", 2)
            before[broker, int(queue_id)] = None if int(old) == NEVER else int(old)
        return cls(reported["reset_id"], reported["group"], topic, int(reported["at_ms"]), before)


def confirmed(typed: str | None, group: str) -> None:
    """Raises ActionRefused (422) where the group's name was not typed."""
    if typed != group:
        raise ActionRefused(422, "This is a real cluster.", "Type the name of the group to confirm.", field="confirm")
