"""Small dialogs: each form comes from the server when it is opened, so it shows brokers and topics as they are then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queueviz.boards.board import board_channel
from queueviz.boards.page import Part, Place, data_of

FORMS = frozenset({"burst", "producer", "consumer", "slow", "strategy", "fault", "topic", "crash", "share", "help"})


def _context(place: Place, readings: Mapping[str, Any]) -> dict[str, Any]:
    name = place.query.get("form", "")
    data = data_of(readings, board_channel(place)) or {}
    return {"asked": f"queueviz/asks/{name}.html" if name in FORMS else None, "header": data.get("header") or {}}


ASK = Part(
    name="ask",
    template="queueviz/partials/ask.html",
    channels=lambda place: [name] if (name := board_channel(place)) else [],
    context=_context,
)
