"""The interface of a board, for the views that serve it.

A view has a sandbox, a snapshot and the query string.  A board names the live channels of its page, its template and
the template's values.  The view reads the channels in one crossing and passes the readings to the board:

    place = Place(slug, snapshot, request.GET)
    page = BOARDS["board"]
    names = page.channels(place)
    readings = dict(zip(names, port.read(names).result(2), strict=True))
    return render(request, page.template, shell | page.context(place, readings))

Boards import no models and touch no engine: values in, values out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

from queueviz.boards.past_facts import PastFindings
from sandbox.attached.settings import is_attached
from sandbox.control.readings import Reading, Refusal
from sandbox.queries.rows.snapshot import BrokerRow, GroupRow, Snapshot, TopicRow

T = TypeVar("T")

Context = dict[str, object]
"""The values of a template."""

Readings = Mapping[str, Reading | Refusal | None]
"""By channel name."""


@dataclass(frozen=True)
class Place:
    """The subject of a page: one sandbox or cluster as it is now, and the query string."""

    slug: str
    snapshot: Snapshot
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def attached(self) -> bool:
        """True for a real cluster.  Its pages only show state, and the server's clock is its clock."""
        return is_attached(self.slug)

    @property
    def groups(self) -> list[GroupRow]:
        """The consumer groups of the sandbox, by name."""
        return sorted(self.snapshot.get("groups", ()), key=lambda group: group["group"])

    def group(self, *, orderly: bool = False) -> GroupRow | None:
        """Return the group in the query, else the first one (with `orderly`, the first orderly one).  None without
        groups.
        """
        groups = self.groups
        for group in groups:
            if group["group"] == self.query.get("group"):
                return group
        if orderly:
            groups = [group for group in groups if group.get("listener") == "orderly"] or groups
        return groups[0] if groups else None

    def topic(self, group: GroupRow | None) -> str | None:
        """Return the topic in the query, else the first one the group subscribes to, else the first ordinary one."""
        if asked := self.query.get("topic"):
            return asked
        if subscribed := topics_of(group):
            return subscribed[0]
        return next((topic["topic"] for topic in self.topics if topic.get("kind", "normal") == "normal"), None)

    @property
    def topics(self) -> list[TopicRow]:
        """The topics a reader may choose, without system topics."""
        return [t for t in self.snapshot.get("topics", ()) if t.get("kind", "normal") != "system"]

    @property
    def node(self) -> str | None:
        """The broker node whose store a page shows: the one in the query, else the first one.  None without brokers."""
        names = [node_name(b) for b in self.snapshot.get("brokers", ())]
        asked = self.query.get("node")
        return asked if asked in names else (names[0] if names else None)


def topics_of(group: GroupRow | None) -> list[str]:
    """Return the ordinary topics the group subscribes to."""
    subscriptions = group.get("subscription", ()) if group else ()
    return [sub["topic"] for sub in subscriptions if not sub["topic"].startswith("%")]


def node_name(broker: BrokerRow) -> str:
    """Return the node's name: `broker-a` for a master, `broker-a.1` for its first slave."""
    return broker["broker"] if not broker.get("broker_id") else f"{broker['broker']}.{broker['broker_id']}"


PastContext = Callable[[Place, PastFindings], Context]


def data_of(readings: Readings, name: str | None, shape: type[T]) -> T | None:
    """Return the data of one reading, or None if the engine refused it or did not read it.

    `shape`: the type of the channel's data (`sandbox.queries.rows`).
    """
    reading = readings.get(name) if name else None
    return cast(T, reading.data) if isinstance(reading, Reading) else None


@dataclass(frozen=True, kw_only=True)
class BoardPage:
    """The declaration of a page with live drawings."""

    name: str  # the tab, and the key of its table twin: GET /s/<slug>/part/<name>/
    path: str  # below /s/<slug>/, "" for the Board itself
    template: str
    title: object = None  # in the navigation; None: not in it
    twin: str | None = None  # template of the table twin, refreshed every 2 s while open
    attached: bool = False  # whether it can be drawn of a real cluster, too
    replayed: bool = False  # whether it can be drawn of a moment that is executed again
    past: PastContext | None = None  # its values at a past event, from the facts of findings
    channels: Callable[[Place], list[str]]
    context: Callable[[Place, Readings], Context]


@dataclass(frozen=True, kw_only=True)
class Part:
    """The declaration of a panel that htmx fetches by itself: GET /s/<slug>/part/<name>/."""

    name: str
    template: str
    attached: bool = False
    replayed: bool = False
    past: PastContext | None = None
    channels: Callable[[Place], list[str]]
    context: Callable[[Place, Readings], Context]
