"""Event types of the journal.

Names in past tense, facts only, no references to engine objects.  The list is closed: adding one changes its family,
the line that writes it and docs/events.md in one commit.  Offsets and sizes are 64-bit (`shapes.Long`); `_ms` is on
the sandbox clock.  The valve may skip `flow` events; then `FlowSkipped` has their offsets.  All other events are
facts.
"""

from typing import NamedTuple

from sandbox.journal.events import disk, findings, labs, life, members, messages, nodes, offsets, watched, wire
from sandbox.journal.events.disk import *  # noqa: F403
from sandbox.journal.events.event import FLOW as FLOW
from sandbox.journal.events.event import SAID as SAID
from sandbox.journal.events.event import Event as Event
from sandbox.journal.events.findings import *  # noqa: F403
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
    for family in (life, nodes, members, offsets, messages, disk, wire, watched, labs, findings)
    for kind in vars(family).values()
    if isinstance(kind, type) and kind.__module__ == family.__name__
)

BY_NAME: dict[str, type[Event]] = {event.__name__: event for event in ALL}


class Position(NamedTuple):
    """Position of an outside event in a virtual loop: after the loop's turn number `turn`, at time `ms`."""

    turn: int
    ms: int


class Entry(NamedTuple):
    """Line of the journal; `cause` is the seq of the `ActionTaken` in whose turn it was written.

    `came`: position of an outside event, in a sandbox whose run can be executed again; else None.
    """

    seq: int
    at_ms: int
    cause: int | None
    event: Event
    came: Position | None = None
