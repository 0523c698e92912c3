"""The Board page: the current state of one group on one topic, with all queues and members (channel `board/…`)."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from django.utils.translation import gettext_lazy as _

from queueviz.access.hidden_names import shown, shown_channel
from queueviz.boards import rows
from queueviz.boards.finding_views import channel as finding_channel
from queueviz.boards.finding_views import line_of
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Part, Place, Readings, data_of, topics_of
from queueviz.boards.retry_queues import retry_channel, side_queues
from queueviz.slugs import api_of, root_of
from sandbox.control.readings import Reading
from sandbox.queries.rows.board import Board
from sandbox.queries.rows.snapshot import Snapshot


def board_channel(place: Place) -> str | None:
    group = place.group()
    topic = place.topic(group)
    if not topic or (place.attached and not group):
        return None
    name = group["group"] if group else ""  # a topic has queues whether a group reads them or not
    return f"board/{place.slug}/{quote(name, safe='')}/{quote(topic, safe='')}"


def store_channel(place: Place) -> str | None:
    """Return the name of the store's channel, or None for a real cluster, which does not report its log content."""
    return f"store/{place.slug}/{place.node}" if place.node and not place.attached else None


def live_config(place: Place, readings: Readings, channels: Mapping[str, str | None], **more: object) -> Context:
    """Return the start values of the page's modules: channels by role and the newest reading of each."""
    snapshot = place.snapshot
    first = {}
    for name in channels.values():
        reading = readings.get(name) if name else None
        if name and isinstance(reading, Reading):
            first[shown_channel(name)] = {
                "seq": str(reading.seq),
                "at_ms": reading.at_ms,
                "rate": reading.rate,
                "ep": reading.epoch,
                "data": reading.data,
            }
    return {
        "slug": shown(place.slug),
        "root": root_of(place.slug),
        "api": api_of(place.slug),
        "attached": place.attached,
        "channels": {role: shown_channel(name) for role, name in channels.items() if name},
        "facts": shown_channel(f"facts/{place.slug}"),
        "first": first,
        "seq": str(snapshot.get("seq", "0")),
        "at_ms": snapshot.get("at_ms"),
        "machine_ms": snapshot.get("machine_ms"),
        "state": snapshot["sandbox"].get("state"),
        "rate": snapshot.get("rate", 1),
        "reached_rate": snapshot.get("reached_rate"),
        "rate_pinned": bool(snapshot.get("rate_pinned")),
        "epoch": snapshot.get("epoch"),
        "names": names_of(snapshot),
        **more,
    }


def names_of(snapshot: Snapshot) -> dict[str, str]:
    """Return labels by client id, for sentences of the journal.

    Two members with one client id get the label `A/B`: events name a client id, not a process.
    """
    members = [
        (row.get("client_id"), row.get("actor")) for group in snapshot.get("groups", ()) for row in group["members"]
    ]
    producers = [(row.get("client_id"), row.get("actor")) for row in snapshot.get("producers", ())]
    names = {client_id: label for client_id, label in [*members, *producers] if client_id and label}
    shared: dict[str, list[str]] = {}
    for key, label in names.items():
        shared.setdefault(key.partition(" ")[0], []).append(label)
    return names | {client_id: "/".join(labels) for client_id, labels in shared.items()}


def _channels(place: Place) -> list[str]:
    channels = (board_channel(place), store_channel(place), retry_channel(place), finding_channel(place))
    return [name for name in channels if name]


def now_of(place: Place, readings: Readings, name: str | None) -> int:
    reading = readings.get(name) if name else None
    return (reading.at_ms if isinstance(reading, Reading) else 0) or place.snapshot.get("at_ms") or 0


def _context(place: Place, readings: Readings) -> Context:
    name = board_channel(place)
    data = data_of(readings, name, Board)
    group = place.group()
    now_ms = now_of(place, readings, name)
    queues = rows.queue_views(data, now_ms=now_ms, selected=_selected(place, data))
    many = len(queues) > STRIPS
    header = data.get("header") if data else None
    oldest_ms = header.get("oldest_since_ms") if header else None
    return {
        "groups": place.groups,
        "group_row": group,
        "topics": topics_of(group),
        "expression": next(
            (
                subscription["expression"] or EVERYTHING
                for subscription in (group["subscription"] if group else ())
                if subscription["topic"] == place.topic(group)
            ),
            EVERYTHING,
        ),
        "header": header or {},
        "age_ms": now_ms - oldest_ms if oldest_ms else None,
        "orderly": header is not None and header.get("listener") == "orderly",
        "broadcasting": header is not None and header.get("model") == "BROADCASTING",
        "queues": queues,
        "strips": rows.worst(queues, EXPANDED) if many else queues,
        "side": side_queues(place, readings),
        "members": rows.member_views(data["members"] if data else {}),
        "now_ms": now_ms,
        **line_of(place, readings),
        "strategies": STRATEGIES,
        "live": live_config(
            place,
            readings,
            {"board": name, "store": store_channel(place)},
            tab="board",
            group=group["group"] if group else None,
            topic=place.topic(group),
            subscription=list(group.get("subscription", ())) if group else [],
            sel=_selected(place, data),
        ),
        "texts": texts(),
    }


def _selected(place: Place, data: Board | None) -> str | None:
    asked = place.query.get("sel")
    return asked if asked and data and asked in data["queues"] else None


EVERYTHING = "*"  # the subscription expression for every message
STRIPS = 64  # queues with a strip of their own; above that a heat map shows all
EXPANDED = 12  # and these many worst ones keep theirs
STRATEGIES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")

BOARD = BoardPage(
    name="board",
    title=_("Board"),
    path="",
    template="queueviz/boards/board.html",
    twin="queueviz/partials/twin_board.html",
    attached=True,
    channels=_channels,
    context=_context,
)

PEEK = Part(
    name="peek",  # the words of the message under the cursor
    template="queueviz/partials/peek.html",
    attached=True,
    channels=lambda place: [],
    context=lambda place, readings: {},
)

WHY = Part(
    name="why",  # what legend and header figures say of themselves
    template="queueviz/partials/why.html",
    attached=True,
    channels=lambda place: [],
    context=lambda place, readings: {},
)

RAIL = Part(
    name="rail",
    template="queueviz/partials/rail_cluster.html",
    attached=True,
    channels=lambda place: [],
    context=lambda place, readings: {},
)
