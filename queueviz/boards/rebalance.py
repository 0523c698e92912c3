"""The Rebalance page: each member's data, the assignment it computes, and the owner of each queue.

Its channel is `rebalance/…`.
"""

from __future__ import annotations

from typing import TypedDict
from urllib.parse import quote

from django.utils.translation import gettext_lazy as _

from queueviz.boards import rebalance_views as views
from queueviz.boards import rows
from queueviz.boards.board import live_config, now_of
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Place, Readings, data_of
from queueviz.boards.rebalance_texts import rebalance_words
from sandbox.queries.rows.rebalance import Rebalance

STRATEGIES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY")
MOST_MEMBERS, MOST_QUEUES = 64, 256  # of what may be asked


def channel(place: Place) -> str | None:
    group = place.group()
    return f"rebalance/{place.slug}/{quote(group['group'], safe='')}" if group else None


def _context(place: Place, readings: Readings) -> Context:
    name = channel(place)
    data = data_of(readings, name, Rebalance) or views.NOTHING
    group, now_ms = place.group(), now_of(place, readings, name)
    topics = views.topics_of(data)
    topic = place.query.get("topic") if place.query.get("topic") in topics else next(iter(topics), None)
    names = views.Names.of(data, topic)
    lines, row, online = views.lines(data, topic, names, now_ms), data["group"], _online(data)
    wording = texts(rebalance_words())
    return {
        "group": group["group"] if group else None,
        "groups": place.groups,
        "group_row": row,
        "topics": topics,
        "topic": topic,
        "broadcasting": row["model"] == "BROADCASTING",
        "orderly": bool(row["orderly"]),
        "minds": views.minds(data, topic, names, now_ms),
        "lines": lines,
        "troubled": None if online is None else sum(1 for line in lines.values() if line["trouble"]),
        "waves": views.waves(data, topic, names),
        "moves": views.moves(data, topic, names),
        "online": online,
        "plan_members": (len(data["members"]) if online is None else online) + 1,
        "apart": _apart(data, topic),
        "now_ms": now_ms,
        "names": names,
        "lives": data["lives"],
        "strategies": STRATEGIES,
        "most_members": MOST_MEMBERS,
        "most_queues": MOST_QUEUES,
        "rooms": _rooms(place),
        "live": live_config(
            place, readings, {"rebalance": name}, tab="rebalance", topic=topic, group=group["group"] if group else None
        ),
        "texts": wording,
    }


def _online(data: Rebalance) -> int | None:
    """Return the number of members that a master lists; None: no master runs, so it is unknown."""
    if all(broker["members"] is None for broker in data["brokers"].values()):
        return None
    return sum(1 for member in data["members"].values() if member["known_to"])


class MemberApart(TypedDict):
    """A member's strategy and subscription, to compare members that differ."""

    who: str
    me: str
    strategy: str | None
    wants: str | None


def _apart(data: Rebalance, topic: str | None) -> list[MemberApart]:
    """Return the strategy and subscription of each member if members differ in them, else an empty list."""
    if not data["group"]["apart"]:
        return []
    return [
        {
            "who": member["letter"] or client_id,
            "me": rows.colour(member),
            "strategy": member["strategy"],
            "wants": views.wanted(member, topic),
        }
        for client_id, member in data["members"].items()
    ]


def _rooms(place: Place) -> str:
    """Return one machine room per broker, as the initial value of the form."""
    brokers = sorted({row["broker"] for row in place.snapshot.get("brokers", ())})
    return ", ".join(f"room-{number}@{broker}" for number, broker in enumerate(brokers, start=1))


REBALANCE = BoardPage(
    name="rebalance",
    title=_("Rebalance"),
    path="rebalance/",
    template="queueviz/boards/rebalance.html",
    twin="queueviz/partials/twin_rebalance.html",
    attached=True,
    replayed=True,
    channels=lambda place: [name] if (name := channel(place)) else [],
    context=_context,
)
