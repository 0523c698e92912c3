"""The Board: one group on one topic, all queues, all members, now (channel `board/…`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from queueviz.boards import rows
from queueviz.boards.js_texts import TEXTS, texts
from queueviz.boards.page import BoardPage, Part, Place, data_of
from queueviz.boards.side import retry_channel, side_queues
from queueviz.slugs import api_of, root_of


def board_channel(place: Place) -> str | None:
    group = place.group()
    topic = place.topic(group)
    if not topic or (place.attached and not group):
        return None
    name = str(group["group"]) if group else ""  # a topic has queues whether somebody reads them or not
    return f"board/{place.slug}/{quote(name, safe='')}/{quote(topic, safe='')}"


def store_channel(place: Place) -> str | None:
    """None for a real cluster: nobody tells what lies in its log."""
    return f"store/{place.slug}/{place.node}" if place.node and not place.attached else None


def live_config(
    place: Place, readings: Mapping[str, Any], channels: Mapping[str, str | None], **more: Any
) -> dict[str, Any]:
    """What the page's modules start from: channels by role and the newest reading of each."""
    snapshot = place.snapshot
    first = {}
    for name in channels.values():
        reading = readings.get(name) if name else None
        if name and getattr(reading, "data", None) is not None:
            first[name] = {
                "seq": str(reading.seq), "at_ms": reading.at_ms, "rate": reading.rate, "ep": reading.epoch,
                "data": reading.data,
            }  # fmt: skip
    return {
        "slug": place.slug,
        "root": root_of(place.slug),
        "api": api_of(place.slug),
        "attached": place.attached,
        "channels": {role: name for role, name in channels.items() if name},
        "facts": f"facts/{place.slug}",
        "first": first,
        "seq": str(snapshot.get("seq", "0")),
        "at_ms": snapshot.get("at_ms"),
        "wall_ms": snapshot.get("wall_ms"),
        "rate": snapshot.get("rate", 1),
        "rate_pinned": bool(snapshot.get("rate_pinned")),
        "epoch": snapshot.get("epoch"),
        "names": names_of(snapshot),
        **more,
    }


def names_of(snapshot: Mapping[str, Any]) -> dict[str, str]:
    """Client id to the label people know, for sentences of the journal."""
    members = [member for group in snapshot.get("groups", ()) for member in group["members"]]
    known = [*members, *snapshot.get("producers", ())]
    return {row["client_id"]: row["actor"] for row in known if row.get("client_id") and row.get("actor")}


def captions() -> dict[str, str]:
    return {key.removeprefix("strip."): str(text) for key, text in TEXTS.items() if key.startswith("strip.")}


def _channels(place: Place) -> list[str]:
    return [name for name in (board_channel(place), store_channel(place), retry_channel(place)) if name]


def now_of(place: Place, readings: Mapping[str, Any], name: str | None) -> int:
    at_ms = getattr(readings.get(name), "at_ms", None) if name else None
    return int(at_ms or place.snapshot.get("at_ms") or 0)


def _context(place: Place, readings: Mapping[str, Any]) -> dict[str, Any]:
    name = board_channel(place)
    data = data_of(readings, name)
    group = place.group()
    now_ms = now_of(place, readings, name)
    queues = rows.queue_views(data, now_ms=now_ms, captions=captions(), selected=_selected(place, data))
    many = len(queues) > STRIPS
    header = (data or {}).get("header") or {}
    members = rows.member_views(data)
    topics = [s["topic"] for s in (group or {}).get("subscription", ()) if not s["topic"].startswith("%")]
    return {
        "groups": place.groups,
        "group_row": group,
        "topics": topics,
        "header": header,
        "age_ms": now_ms - header["oldest_since_ms"] if header.get("oldest_since_ms") else None,
        "orderly": header.get("listener") == "orderly",
        "broadcasting": header.get("model") == "BROADCASTING",
        "queues": queues,
        "strips": rows.worst(queues, EXPANDED) if many else queues,
        "side": side_queues(place, readings),
        "members": members,
        "window": queues[0].strip.window if queues else 100,
        "now_ms": now_ms,
        "strategies": STRATEGIES,
        "live": live_config(
            place, readings, {"board": name, "store": store_channel(place)},
            tab="board", group=(group or {}).get("group"), topic=place.topic(group),
            subscription=list((group or {}).get("subscription", ())), sel=_selected(place, data),
        ),
        "texts": texts(),
    }  # fmt: skip


def _selected(place: Place, data: Mapping[str, Any] | None) -> str | None:
    asked = place.query.get("sel")
    return asked if asked and asked in (data or {}).get("queues", {}) else None


STRIPS = 64  # queues with a strip of their own; above that a heat map shows all
EXPANDED = 12  # and these many worst ones keep theirs
STRATEGIES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")

BOARD = BoardPage(
    name="board",
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
