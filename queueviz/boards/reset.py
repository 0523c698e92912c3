"""The offset reset page, for deep links to the Board's dialog (question `plan-reset`, action `ResetOffsets`)."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from queueviz.boards import rows
from queueviz.boards.board import board_channel, live_config, now_of
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Part, Place, Readings, data_of
from sandbox.queries.rows.board import Board

MODES = (
    ("time", _("Point in time")),
    ("earliest", _("Earliest")),
    ("latest", _("Latest")),
    ("offset", _("Exact offset")),
    ("shift", _("Shift by")),
    ("copy_of", _("Copy a group")),
)


def _channel(place: Place) -> str | None:
    return board_channel(place) if place.group() else None  # without a group there is nothing to reset


def _context(place: Place, readings: Readings) -> Context:
    name = _channel(place)
    data = data_of(readings, name, Board)
    group = place.group()
    now_ms = now_of(place, readings, name)
    header, members = (data.get("header"), data.get("members", {})) if data else (None, {})
    online = [member for member in members.values() if member.get("state") in ("running", "starting")]
    keys = sorted(data["queues"] if data else (), key=rows.order)
    shorts = rows.short_names(keys)
    mode = place.query.get("target", "time")
    return {
        "header": header or {},
        "modes": MODES,
        "mode": mode,
        "value": place.query.get("value", ""),
        "queues": [(key, shorts[key]) for key in keys],
        "online": len(online),
        "member_count": len(members),
        "names_online": ", ".join(sorted(member.get("letter") or member.get("actor") or "" for member in online)),
        "broadcasting": header is not None and header.get("model") == "BROADCASTING",
        "other_groups": [g["group"] for g in place.groups if group and g["group"] != group["group"]],
        "now_ms": now_ms,
        "live": live_config(
            place,
            readings,
            {"board": name},
            tab="reset",
            group=group["group"] if group else None,
            topic=place.topic(group),
        ),
        "texts": texts(),
    }


RESET = BoardPage(
    name="reset",
    path="reset/",
    template="queueviz/boards/reset.html",
    attached=True,
    channels=lambda place: [name] if (name := _channel(place)) else [],
    context=_context,
)

DIALOG = Part(
    name="reset-dialog",
    template="queueviz/partials/reset_form.html",
    attached=True,
    channels=RESET.channels,
    context=lambda place, readings: _context(place, readings) | {"dialog": True},
)
