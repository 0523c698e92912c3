"""Reset a group's offsets."""

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from sandbox.control.actions.action import Action
from sandbox.control.fields import Name, Offset, TextUpTo


class ExpectedQueue(NamedTuple):
    """A queue as the preview showed it; None: no stored offset."""

    queue: str  # broker-a:3
    committed: Offset | None = None
    target: Offset | None = None


@dataclass(frozen=True, kw_only=True)
class ResetOffsets(Action):
    """Move a group on a topic.

    `value`: milliseconds for `time`, the offset for `offset`, the signed distance for `shift`.  `queues`: rows such as
    `broker-a:3`; none means all.  `expected`: the preview's values, so that a changed state is detected (409).
    `fingerprint`: the preview's, so that other options than the preview's are refused (409).
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
    """Back to the offsets before a reset.  `confirm`: the group's name, typed, on a real cluster."""

    verb = "reset"
    said = "reset undone"
    reset_id: Name
    confirm: Name | None = None
