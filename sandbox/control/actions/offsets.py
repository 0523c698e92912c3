"""Actions that reset a group's offsets."""

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from sandbox.control.actions.action import Action
from sandbox.control.fields import Name, Offset, TextUpTo


class ExpectedQueue(NamedTuple):
    """Queue as the preview showed it; None means no committed offset."""

    queue: str  # broker-a:3
    committed: Offset | None = None
    target: Offset | None = None


@dataclass(frozen=True, kw_only=True)
class ResetOffsets(Action):
    """Reset the offsets of a group on a topic.

    `value`: milliseconds for `time`, the offset for `offset`, the signed distance for `shift`.  `queues`: rows such as
    `broker-a:3`; none means all.  `expected` has the values of the preview: another state is refused (409).
    `fingerprint` is that of the preview: other options are refused (409).
    """

    verb = "reset"
    said = "offsets of {group} on {topic} reset"
    group: Name
    topic: Name
    target: Literal["time", "earliest", "latest", "offset", "shift", "copy_of"]
    value: Offset | None = None
    source_group: Name | None = None  # for copy_of
    queues: tuple[str, ...] = ()
    method: Literal["online", "offline"] = "online"
    expected: tuple[ExpectedQueue, ...] = ()
    fingerprint: Name | None = None
    confirm: Name | None = None  # the group's name, typed, when something is skipped
    reason: Annotated[str, TextUpTo(500)] = ""


@dataclass(frozen=True, kw_only=True)
class UndoReset(Action):
    """Restore the offsets before a reset.  `confirm`: the typed name of the group, on a real cluster."""

    verb = "reset"
    said = "offset reset undone"
    reset_id: Name
    confirm: Name | None = None
