"""Small dialogs: each form comes from the server when it is opened, so it shows brokers and topics as they are then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from queueviz.boards import locks
from queueviz.boards.board import board_channel
from queueviz.boards.faults import faults_of
from queueviz.boards.page import Part, Place, data_of

FORMS = frozenset({"burst", "producer", "consumer", "slow", "strategy", "fault", "topic", "crash", "share", "help",
                   "transactions", "locks"})
ATTACHED_FORMS = frozenset({"share", "help"})  # the others change what is only looked at


def _context(place: Place, readings: Mapping[str, Any]) -> dict[str, Any]:
    name = place.query.get("form", "")
    data = data_of(readings, board_channel(place)) or {}
    known = ATTACHED_FORMS if place.attached else FORMS
    more = MORE[name](place, readings) if name in MORE and name in known else {}
    return {"asked": f"queueviz/asks/{name}.html" if name in known else None, "header": data.get("header") or {},
            **more}


def _channels(place: Place) -> list[str]:
    """The board's, and what a form shows beside it."""
    more = locks.channel(place) if place.query.get("form") == "locks" else None
    return [name for name in (board_channel(place), more) if name]


def _strategy(place: Place, readings: Mapping[str, Any]) -> dict[str, Any]:
    """Who can be given a list, and brokers that can stand in rooms: each in one of its own at first."""
    group = place.group() or {}
    brokers = sorted({str(row["broker"]) for row in place.snapshot.get("brokers", ())})
    return {"labels": [member["actor"] for member in group.get("members", ()) if member["actor"]],
            "rooms": ", ".join(f"room-{number}@{broker}" for number, broker in enumerate(brokers, start=1)),
            "example": f"{brokers[0]}:0, {brokers[0]}:1" if brokers else ""}


def _locks(place: Place, readings: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers as they are; what is a property of clients may be told by way of any broker that runs."""
    running = [str(row["broker"]) for row in place.snapshot.get("brokers", ())
               if row["broker_id"] == 0 and row["state"] == "running"]
    return {"lives": locks.lives_of(data_of(readings, locks.channel(place))), "masters": running}


MORE: Mapping[str, Callable[[Place, Mapping[str, Any]], dict[str, Any]]] = {
    "fault": lambda place, readings: {"faults": faults_of(place.snapshot)},
    "strategy": _strategy,
    "locks": _locks,
}


ASK = Part(
    name="ask",
    template="queueviz/partials/ask.html",
    attached=True,
    channels=_channels,
    context=_context,
)
