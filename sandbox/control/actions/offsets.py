"""Where a group goes on: moved on purpose."""

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from sandbox.control.fields import Name, Offset, TextUpTo


class ExpectedQueue(NamedTuple):
    """What the person saw before pressing the button; None: no stored offset."""

    queue: str  # broker-a:3
    committed: Offset | None = None
    target: Offset | None = None


@dataclass(frozen=True, kw_only=True)
class ResetOffsets:
    """Move a group on a topic.

    `value`: milliseconds for `time`, the offset for `offset`, the signed distance for `shift`.  `queues`: rows such as
    `broker-a:3`; none means all.  `expected`: what the preview showed, so that a changed world is noticed (409).
    `fingerprint`: the preview's, so that a wish it was not made for is refused (409).
    """

    verb = "reset"
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
class UndoReset:
    """Back to where the queues stood before a reset.  `confirm`: the group's name, typed, on a real cluster."""

    verb = "reset"
    reset_id: Name
    confirm: Name | None = None
