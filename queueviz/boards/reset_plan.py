"""The answer of `plan-reset`, as the preview shows it: names, notes in words, what the apply must expect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from django.utils.translation import gettext

from queueviz.boards.rows import order, short_names
from queueviz.boards.strip_scale import window_for

QUIET_NOTES = frozenset({"silent", "owner_silent", "locked", "paused"})


def shown(answer: Mapping[str, Any]) -> dict[str, Any]:
    rows = sorted(answer["rows"], key=lambda row: order(row["queue"]))
    shorts = short_names(row["queue"] for row in rows)
    window = window_for(_reach(row) for row in rows)
    found = []
    for row in rows:
        change = int(row["change"]) if row.get("change") is not None else 0
        drawn = {name: row.get(name) for name in ("min", "max", "committed")}
        chosen = row.get("selected", True)
        options = {"window": window, "track": 9, "compact": True, "target": row.get("target") if chosen else None}
        found.append(
            {
                **row,
                "short": shorts[row["queue"]],
                "selected": chosen,
                "notes": [_note(note) for note in row.get("notes") or ()],
                "skips": change > 0,
                "drawn": json.dumps(drawn),
                "options": json.dumps(options),
            }
        )
    expected = [
        {"queue": row["queue"], "committed": row.get("committed"), "target": row.get("target")}
        for row in found
        if row["selected"]
    ]
    return {
        "rows": found,
        "window": window,
        "selected": len(expected),
        "again": int(answer.get("delivered_again") or 0) > 0,
        "skips": int(answer.get("skipped") or 0) > 0,
        "expected": json.dumps(expected),
        "data": _safe_json(
            {
                key: answer.get(key)
                for key in ("seq", "at_ms", "group", "topic", "target", "value", "histogram", "method")
            }
            | {"rows": [{k: row.get(k) for k in ("queue", "committed", "target", "change")} for row in found]}
        ),
    }


def _reach(row: Mapping[str, Any]) -> int:
    places = [int(row[name]) for name in ("committed", "target") if row.get(name) is not None]
    return max(0, int(row["max"]) - min(places, default=int(row["max"])))


def _note(note: Mapping[str, Any]) -> dict[str, str]:
    text = gettext(note["text"]) if note.get("text") else str(note["code"])
    values = note.get("values") or {}
    with suppress(KeyError, IndexError):  # a text that is already filled in
        text = text.format(**values)
    return {"text": text, "tone": "info" if note.get("code") in QUIET_NOTES else "warn"}


def _safe_json(value: object) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(value, default=str).replace("<", "\\u003c").replace("&", "\\u0026")
