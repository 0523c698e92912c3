"""Forms of small dialogs.

The server makes each form when it is opened, so the form shows the current brokers and topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from django.conf import settings

from queueviz.boards import locks
from queueviz.boards.board import board_channel
from queueviz.boards.faults import faults_of
from queueviz.boards.page import Context, Part, Place, Readings, data_of
from sandbox.queries.rows.board import Board
from sandbox.queries.rows.locks import Locks
from sandbox.queries.rows.snapshot import GroupRow
from sandbox.queries.rows.storage import Store

KEYS_OFFERED = 10  # of each broker
ATTACHED_FORMS = frozenset({"share", "help"})  # the others change what is only looked at


@cache
def _forms() -> frozenset[str]:
    return frozenset(path.stem for path in (settings.SITE / "templates" / "queueviz" / "asks").glob("*.html"))


def _context(place: Place, readings: Readings) -> Context:
    name = place.query.get("form", "")
    data = data_of(readings, board_channel(place), Board)
    known = ATTACHED_FORMS if place.attached else _forms()
    more = MORE[name](place, readings) if name in MORE and name in known else {}
    return {
        "asked": f"queueviz/asks/{name}.html" if name in known else None,
        "header": (data.get("header") if data else None) or {},
        **more,
    }


def _channels(place: Place) -> list[str]:
    """Return the board's channel, and the channels that the form needs."""
    form = place.query.get("form")
    more = [locks.channel(place)] if form == "locks" else _stores(place) if form == "slow" else []
    return [name for name in (board_channel(place), *more) if name]


def _masters(place: Place) -> list[str]:
    return [
        row["broker"]
        for row in place.snapshot.get("brokers", ())
        if row["broker_id"] == 0 and row["state"] == "running"
    ]


def _stores(place: Place) -> list[str]:
    return [f"store/{place.slug}/{broker}" for broker in _masters(place)]


def _slow(place: Place, readings: Readings) -> Context:
    """Return the topic's queues, and the newest message keys of the topic at each broker, as choices."""
    topic, message_keys = place.topic(place.group()), []
    for name in _stores(place):
        store = data_of(readings, name, Store)
        records = store["records"] if store else {}
        keys = [
            row["key"]
            for _, row in sorted(records.items(), key=lambda item: -int(item[0]))
            if row["topic"] == topic and row["key"]
        ]
        message_keys += list(dict.fromkeys(keys))[:KEYS_OFFERED]
    board = data_of(readings, board_channel(place), Board)
    return {"keys": message_keys, "queues": list(board["queues"]) if board else []}


def _strategy(place: Place, readings: Readings) -> Context:
    """Return the members that can get a fixed list of queues, and an initial machine room for each broker."""
    group = place.group()
    brokers = sorted({row["broker"] for row in place.snapshot.get("brokers", ())})
    return {
        "labels": [member["actor"] for member in (group["members"] if group else ()) if member["actor"]],
        "rooms": ", ".join(f"room-{number}@{broker}" for number, broker in enumerate(brokers, start=1)),
        "example": f"{brokers[0]}:0, {brokers[0]}:1" if brokers else "",
    }


def _locks(place: Place, readings: Readings) -> Context:
    """Return the current lock durations, and the brokers that run.

    A property of clients may be set through any of these brokers.
    """
    return {"lives": locks.lives_of(data_of(readings, locks.channel(place), Locks)), "masters": _masters(place)}


def _consumer(place: Place, readings: Readings) -> Context:
    """Return the client instances and client ids that a new member may share.

    `hosts`: members of other groups that run in this process.  `originals`: members of this group; empty in
    broadcasting, where each member reads all queues and an id changes nothing.
    """
    own = place.group()
    clustering = own is not None and own["model"] != "BROADCASTING"
    others = [group for group in place.groups if own is None or group["group"] != own["group"]]
    return {"hosts": sorted(_ours(others)), "originals": sorted(_ours([own] if own is not None and clustering else []))}


def _ours(groups: Iterable[GroupRow]) -> Iterator[str]:
    """Yield the labels of the running members that are actors of the sandbox."""
    return (
        member["actor"]
        for group in groups
        for member in group["members"]
        if member["actor"] and member["state"] == "running"
    )


def _change(place: Place, readings: Readings) -> Context:
    """Return the client to change: a producer with its rate, or a member with its group's subscriptions."""
    actor, group = place.query.get("actor", ""), place.group()
    return {
        "actor": actor,
        "producer": next((row for row in place.snapshot.get("producers", ()) if row["actor"] == actor), None),
        "expressions": [
            f"{subscription['topic']} {subscription['expression']}"
            for subscription in (group["subscription"] if group else ())
            if subscription["expression"] and not subscription["topic"].startswith("%")
        ],
    }


MORE: Mapping[str, Callable[[Place, Readings], Context]] = {
    "fault": lambda place, readings: {"faults": faults_of(place.snapshot)},
    "strategy": _strategy,
    "locks": _locks,
    "slow": _slow,
    "consumer": _consumer,
    "change": _change,
}


ASK = Part(
    name="ask",
    template="queueviz/partials/ask.html",
    attached=True,
    channels=_channels,
    context=_context,
)
