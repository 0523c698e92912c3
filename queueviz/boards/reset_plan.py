"""The answer of `plan-reset` in the form of the preview: names, notes in words, values the action must expect."""

from __future__ import annotations

import json
from typing import TypedDict

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from queueviz.boards.rows import order, short_names
from queueviz.refusal_texts import filled
from queueviz.templatetags.formats import number
from sandbox.queries.rows.plans import PlanNote, PlanRefusal, ResetPlanAnswer

QUIET_NOTES = frozenset({"owner_silent", "locked_by"})
NOTES = {
    "raised_to_min": _("raised from {wished} to min"),
    "lowered_to_max": _("lowered from {wished} to max"),
    "no_stored": _("no stored offset yet"),
    "after_last": _("no message at or after that time"),
    "cold": _("cold read from disk"),
    "locked_by": _("locked by {holder}"),
    "not_heard": _("a pull consumer ignores an online reset; no offset will change"),
    "not_heard_in_cpp": _("its owner is a C++ client, which cannot parse the reset request of this broker"),
    "owner_silent": _(
        "owner {owner} does not respond; the new offset takes effect when another member acquires the queue"
    ),
}


class NoteInWords(TypedDict):
    """A note of the plan in the reader's language."""

    text: str
    tone: str


class RefusalInWords(TypedDict):
    """A refusal in the reader's language."""

    message: str
    hint: str


class PreviewRow(TypedDict):
    """One queue of the preview."""

    queue: str
    broker: str
    queue_id: int
    min: str
    max: str
    committed: str | None
    in_memory: str | None
    target: str | None
    again: int
    skipped: int
    owner: str | None
    change: int | None
    short: str
    selected: bool
    notes: list[NoteInWords]
    skips: bool
    drawn: str  # JSON
    options: str  # JSON


class Preview(TypedDict):
    """The template values of a reset's preview."""

    rows: list[PreviewRow]
    selected: int
    again: bool
    skips: bool
    refused: RefusalInWords | None
    instead: RefusalInWords | None  # real cluster: the reason for another method
    expected: str  # JSON
    fingerprint: str
    data: str  # JSON


def shown(answer: ResetPlanAnswer) -> Preview:
    rows = sorted(answer["rows"], key=lambda row: order(row["queue"]))
    shorts = short_names(row["queue"] for row in rows)
    queue_rows: list[PreviewRow] = []
    for row in rows:
        reported = row.get("change")
        change = int(reported) if reported is not None else 0
        drawn = {name: row.get(name) for name in ("min", "max", "committed")}
        chosen = row.get("selected", True)
        options = {"track": 9, "compact": True, "target": row.get("target") if chosen else None}
        queue_rows.append(
            {
                **row,
                "change": None if reported is None else change,
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
        for row in queue_rows
        if row["selected"]
    ]
    return {
        "rows": queue_rows,
        "selected": len(expected),
        "again": int(answer.get("delivered_again") or 0) > 0,
        "skips": int(answer.get("skipped") or 0) > 0,
        "refused": _refusal(answer.get("refused")),
        "instead": _refusal(answer.get("instead")),  # of a real cluster: done in another way than was asked for
        "expected": json.dumps(expected),
        "fingerprint": answer["fingerprint"],
        "data": _safe_json(
            {
                key: answer.get(key)
                for key in ("seq", "at_ms", "group", "topic", "target", "value", "histogram", "method")
            }
            | {"rows": [{k: row.get(k) for k in ("queue", "committed", "target", "change")} for row in queue_rows]}
        ),
    }


def _note(note: PlanNote) -> NoteInWords:
    """Return a note of the plan in the reader's language.  A note without a translation keeps the engine's text."""
    code, values = str(note["code"]), note.get("values") or {}
    if code == "held":
        count = int(values.get("count", 1))
        text = ngettext(
            "{n} message is buffered in the member that owns the queue",
            "{n} messages are buffered in the member that owns the queue",
            count,
        )
        text = text.format(n=number(count))
    elif code in NOTES:
        text = str(NOTES[code]).format_map({name: number(value) for name, value in values.items()})
    else:
        text = str(note.get("text") or code)
    return {"text": text, "tone": "info" if code in QUIET_NOTES else "warn"}


def _refusal(refused: PlanRefusal | None) -> RefusalInWords | None:
    """Return the reason why the plan cannot be executed and the next step, in the reader's language."""
    if refused is None:
        return None
    message = filled(refused.get("pattern") or refused["message"], refused.get("values") or {})
    return {"message": message, "hint": filled(refused.get("hint") or "", {})}


def _safe_json(value: object) -> str:
    """Return JSON that is safe inside a script element."""
    return json.dumps(value, default=str).replace("<", "\\u003c").replace("&", "\\u0026")
