"""Questions to a sandbox; they change nothing (verb `see`)."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from sandbox.control import fields
from sandbox.control.actions.actors import StrategyName
from sandbox.control.fields import INT64_MAX, Between, Name, Offset
from sandbox.kernel.errors import ActionRefused

FOREVER_MS = 2**62

Position = Annotated[int, Between(0, INT64_MAX)]  # in a commit log


@dataclass(frozen=True, kw_only=True)
class Question:
    """Base of all questions.  Its name on the wire is the class name in words: `PlanReset` is `plan-reset`."""


@dataclass(frozen=True, kw_only=True)
class PlanReset(Question):
    """The result of `ResetOffsets` with the same fields, computed by the same code."""

    group: Name
    topic: Name
    target: Literal["time", "earliest", "latest", "offset", "shift", "copy_of"] = "time"
    value: Offset | None = None
    source_group: Name | None = None
    queues: tuple[str, ...] = ()
    method: Literal["online", "offline"] = "online"


@dataclass(frozen=True, kw_only=True)
class PlanRebalance(Question):
    """The allocation of queues in the real group with members added or removed, or in a hypothetical group.

    `members` is the total.  Real members come first in sorted order, hypothetical ones follow.
    """

    group: Name
    topic: Name
    members: Annotated[int, Between(0, 64)] | None = None
    add: Annotated[int, Between(0, 64)] = 0
    remove: tuple[str, ...] = ()  # labels or client ids
    strategy: StrategyName | None = None
    queues: Annotated[int, Between(0, 256)] | None = None
    virtual_nodes: Annotated[int, Between(1, 1_000)] = 10
    rooms: tuple[str, ...] = ()
    queues_by_member: dict[str, object] | None = None


@dataclass(frozen=True, kw_only=True)
class PlanCrash(Question):
    """The redeliveries if the process of a consumer crashed now, with all clients of that process."""

    actor: Name


@dataclass(frozen=True, kw_only=True)
class RecentLag(Question):
    """The lag of a group on each queue of a topic in each of the last 300 seconds of the sandbox's clock."""

    group: Name
    topic: Name


@dataclass(frozen=True, kw_only=True)
class WalkIndex(Question):
    """Every lookup step from a key to its messages."""

    topic: Name
    key: Name
    from_ms: Offset = 0
    to_ms: Offset = FOREVER_MS
    broker: Name | None = None


@dataclass(frozen=True, kw_only=True)
class ReadRecord(Question):
    """One message: its bytes and fields, its position, and what happened to it."""

    broker: Name
    physical_offset: Position


@dataclass(frozen=True, kw_only=True)
class ReadEntry(Question):
    """The 20 bytes of a queue entry."""

    topic: Name
    broker: Name
    queue_id: Annotated[int, Between(0, 1_000_000)]
    offset: Offset


@dataclass(frozen=True, kw_only=True)
class Locate(Question):
    """The log file that contains a position, and the offset in it, for the broker's file size or another one."""

    broker: Name
    physical_offset: Position
    file_bytes: Annotated[int, Between(1, INT64_MAX)] | None = None  # None: the broker's own


@dataclass(frozen=True, kw_only=True)
class FindMessages(Question):
    """A search for messages by id (an offset id or a unique key), by key, by queue, or by time.

    The first of these fields with a value decides.  `queue` is a row such as broker-a:3: with `offset` one message of
    it, otherwise the only queue of the search.  `cursor` continues the last search.  By time, `field` is a JSON Pointer
    (RFC 6901) into JSON bodies, such as /customer/id, and `value` its value as text; without it, any value matches.
    """

    topic: Name | None = None
    id: Name | None = None
    key: Name | None = None
    queue: Name | None = None
    offset: Offset | None = None
    from_ms: Offset | None = None
    to_ms: Offset | None = None
    tag: Name | None = None
    field: Name | None = None
    value: Name | None = None
    cursor: Name | None = None


@dataclass(frozen=True, kw_only=True)
class Route(Question):
    """A name server's route of a topic; `everywhere`: the route of each name server, for comparison."""

    topic: Name
    name_server: Name = "ns-1"
    everywhere: bool = False


@dataclass(frozen=True, kw_only=True)
class OffsetFile(Question):
    """`consumerOffset.json` of a broker, or a broadcasting member's own file, as text."""

    owner: Name


@dataclass(frozen=True, kw_only=True)
class StartOffset(Question):
    """The start offset of a new member of the group on a queue, and the reason."""

    group: Name
    topic: Name
    broker: Name
    queue_id: Annotated[int, Between(0, 1_000_000)]
    from_where: Name = "CONSUME_FROM_LAST_OFFSET"
    timestamp: Offset | None = None


@dataclass(frozen=True, kw_only=True)
class Transactions(Question):
    """Open half messages, the oldest first."""


@dataclass(frozen=True, kw_only=True)
class Frames(Question):
    """The last frames of a link `a~b` with their bytes.  The question keeps frames recorded for ten seconds."""

    link: Name
    no: Annotated[int, Between(1, INT64_MAX)] | None = None


@dataclass(frozen=True, kw_only=True)
class LabState(Question):
    """The lab in progress: steps, the open phase and its question, verdict, hints taken, receipts."""


@dataclass(frozen=True, kw_only=True)
class WhatFollowed(Question):
    """Consequences of the action with this event number: new owners of queues, and messages delivered again."""

    seq: Annotated[int, Between(0, INT64_MAX)]


BY_NAME: dict[str, type[Question]] = {
    re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower(): kind for kind in Question.__subclasses__()
}


def asked(question: Question) -> dict[str, object]:
    """Return name and values of a question, from which `parse_question` makes it again."""
    name = next(name for name, kind in BY_NAME.items() if type(question) is kind)
    return {"name": name, "values": asdict(question)}


def parse_question(name: str, values: Mapping[str, object]) -> Question:
    """Return the question of this name.  Raises ActionRefused: 404 if the name is unknown, 422 for an invalid field."""
    kind = BY_NAME.get(name)
    if kind is None:
        raise ActionRefused(
            404,
            "Question {name} does not exist.",
            "Available questions: {known}.",
            name=repr(name)[:60],
            known=", ".join(BY_NAME),
        )
    return fields.build(kind, values)
