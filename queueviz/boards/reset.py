"""Offset reset: the page behind the Board's dialog, for deep links (question `plan-reset`, action `ResetOffsets`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from queueviz.boards import rows
from queueviz.boards.board import board_channel, live_config, now_of
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Part, Place, data_of

MODES = (
    ("time", _("Point in time")),
    ("earliest", _("Earliest")),
    ("latest", _("Latest")),
    ("offset", _("Exact offset")),
    ("shift", _("Shift by")),
    ("copy_of", _("Copy a group")),
)


def _channel(place: Place) -> str | None:
    return board_channel(place) if place.group() else None  # nobody reads it: there is nothing to reset


def _context(place: Place, readings: Mapping[str, Any]) -> dict[str, Any]:
    name = _channel(place)
    data = data_of(readings, name) or {}
    group = place.group()
    now_ms = now_of(place, readings, name)
    header, members = data.get("header") or {}, data.get("members") or {}
    online = sum(1 for member in members.values() if member.get("state") in ("running", "starting"))
    keys = sorted(data.get("queues") or {}, key=rows.order)
    shorts = rows.short_names(keys)
    mode = place.query.get("target", "time")
    return {
        "header": header,
        "modes": MODES,
        "mode": mode,
        "value": place.query.get("value", ""),
        "queues": [(key, shorts[key]) for key in keys],
        "online": online,
        "member_count": len(members),
        "names_online": ", ".join(sorted(str(m.get("letter") or m.get("actor") or "") for m in members.values()
                                         if m.get("state") in ("running", "starting"))),
        "broadcasting": header.get("model") == "BROADCASTING",
        "other_groups": [g["group"] for g in place.groups if group and g["group"] != group["group"]],
        "now_ms": now_ms,
        "live": live_config(place, readings, {"board": name}, tab="reset", group=(group or {}).get("group"),
                            topic=place.topic(group)),
        "texts": texts(),
    }  # fmt: skip


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
