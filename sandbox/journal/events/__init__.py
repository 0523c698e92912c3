"""All event types.

Past tense, facts only, no references to engine objects.  The list is closed: adding one changes its family, the line
that writes it and docs/events.md in one commit.  Offsets and sizes are 64-bit (`shapes.Long`); `_ms` is on the sandbox
clock.  `flow` events may be skipped by the valve, and then `FlowSkipped` says which offsets; all others are facts.
"""

from typing import NamedTuple

from sandbox.journal.events import disk, labs, life, members, messages, nodes, offsets, watched, wire
from sandbox.journal.events.disk import *  # noqa: F403
from sandbox.journal.events.event import FLOW as FLOW
from sandbox.journal.events.event import SAID as SAID
from sandbox.journal.events.event import Event as Event
from sandbox.journal.events.labs import *  # noqa: F403
from sandbox.journal.events.life import *  # noqa: F403
from sandbox.journal.events.members import *  # noqa: F403
from sandbox.journal.events.messages import *  # noqa: F403
from sandbox.journal.events.nodes import *  # noqa: F403
from sandbox.journal.events.offsets import *  # noqa: F403
from sandbox.journal.events.watched import *  # noqa: F403
from sandbox.journal.events.wire import *  # noqa: F403

ALL: tuple[type[Event], ...] = tuple(
    kind
    for family in (life, nodes, members, offsets, messages, disk, wire, watched, labs)
    for kind in vars(family).values()
    if isinstance(kind, type) and kind.__module__ == family.__name__
)

BY_NAME: dict[str, type[Event]] = {event.__name__: event for event in ALL}


class Position(NamedTuple):
    """When something came to a virtual loop from outside: after its turn number `turn`, moved to `ms`."""

    turn: int
    ms: int


class Entry(NamedTuple):
    """One line of the journal; `cause` is the seq of the `ActionTaken` in whose turn it was written.

    `came`: of what came from outside, in a sandbox whose run can be executed again.
    """

    seq: int
    at_ms: int
    cause: int | None
    event: Event
    came: Position | None = None
