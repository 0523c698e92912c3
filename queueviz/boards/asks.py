"""Small dialogs: each form comes from the server when it is opened, so it shows brokers and topics as they are then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from queueviz.boards.board import board_channel
from queueviz.boards.faults import faults_of
from queueviz.boards.page import Part, Place, data_of

FORMS = frozenset({"burst", "producer", "consumer", "slow", "strategy", "fault", "topic", "crash", "share", "help",
                   "transactions"})


def _context(place: Place, readings: Mapping[str, Any]) -> dict[str, Any]:
    name = place.query.get("form", "")
    data = data_of(readings, board_channel(place)) or {}
    more = MORE[name](place) if name in MORE else {}
    return {"asked": f"queueviz/asks/{name}.html" if name in FORMS else None, "header": data.get("header") or {},
            **more}


def _strategy(place: Place) -> dict[str, Any]:
    """Who can be given a list, and brokers that can stand in rooms: each in one of its own at first."""
    group = place.group() or {}
    brokers = sorted({str(row["broker"]) for row in place.snapshot.get("brokers", ())})
    return {"labels": [member["actor"] for member in group.get("members", ()) if member["actor"]],
            "rooms": ", ".join(f"room-{number}@{broker}" for number, broker in enumerate(brokers, start=1)),
            "example": f"{brokers[0]}:0, {brokers[0]}:1" if brokers else ""}


MORE: Mapping[str, Callable[[Place], dict[str, Any]]] = {
    "fault": lambda place: {"faults": faults_of(place.snapshot)},
    "strategy": _strategy,
}


ASK = Part(
    name="ask",
    template="queueviz/partials/ask.html",
    channels=lambda place: [name] if (name := board_channel(place)) else [],
    context=_context,
)
