"""One message: its fields and bytes, its position, and its life (channel `messages/<slug>?id=…`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from queueviz.boards.board import live_config, names_of, now_of
from queueviz.boards.frames import lines_of
from queueviz.boards.js_texts import texts
from queueviz.boards.message_body import body_of
from queueviz.boards.message_life import groups_of, line_of
from queueviz.boards.message_texts import FLAGS, WHY
from queueviz.boards.page import BoardPage, Part, Place, Readings, data_of
from queueviz.templatetags.formats import number
from sandbox.control.channel_names import FILTER_CHARS

Row = dict[str, Any]
ENTRY_FIELDS = (("offset", "physical_offset", 0, 8), ("size", "bytes", 8, 12), ("hash", "tags_code", 12, 20))


def channel(place: Place) -> str:
    return f"messages/{place.slug}?id={quote(place.query.get('id', '').strip()[:FILTER_CHARS], safe='')}"


def _context(place: Place, readings: Readings) -> Row:
    name = channel(place)
    data = data_of(readings, name, dict)
    record = (data or {}).get("record")
    now_ms = now_of(place, readings, name)
    context = {
        "asked": place.query.get("id", ""),
        "tab": "messages",
        "gone": data is None,
        "record": record,
        "why": why_of((data or {}).get("why")),
        "now_ms": now_ms,
        "others": (data or {}).get("others") or (),
        "live": live_config(place, {}, {}, tab="message"),
        "texts": texts(),
    }
    if record is None:
        return context
    return context | shown_record(record) | _life(place, record, now_ms) | {"members": _members(place)}


def _life_context(place: Place, readings: Readings) -> Row:
    """Return the context of the panel, which the page polls."""
    data, now_ms = data_of(readings, channel(place), dict), now_of(place, readings, channel(place))
    record = (data or {}).get("record")
    context = {"gone": data is None, "record": record, "why": why_of((data or {}).get("why"))}
    return context if record is None else context | {"message": record["message"]} | _life(place, record, now_ms)


def shown_record(record: Mapping[str, Any]) -> Row:
    """Return bytes, body and positions; a value not reported by an attached cluster is None."""
    message, entry = record["message"], record.get("entry")
    body = bytes.fromhex(message["body_hex"])
    return {
        "message": message,
        "fields": record["parts"],
        "lines": lines_of({"hex": record["hex"], "fields": record["parts"]}),
        "body": body_of(body, whole=len(body) == message["body_bytes"]),
        "body_cut": (message["body_bytes"] or len(body)) - len(body),
        "body_lines": lines_of({"hex": message["body_hex"], "fields": []}),
        "flags": [FLAGS.get(flag, flag) for flag in message["flags"]],
        "entry_bytes": _entry_bytes(entry) if entry else None,
        "index": record.get("index"),
        "place": record.get("position"),
        "entry": entry,
    }


def _entry_bytes(entry: Mapping[str, Any]) -> list[Row]:
    """The three fields of a queue's entry with their bytes (spec store-format 4)."""
    raw = bytes.fromhex(entry["hex"])
    return [
        {"name": name, "bytes": raw[start:end].hex(" "), "value": entry[field]}
        for name, field, start, end in ENTRY_FIELDS
    ]


def _life(place: Place, record: Mapping[str, Any], now_ms: int) -> Row:
    life = record.get("life") or {}
    return {
        "life": life,
        "line": line_of(record["message"], life, now_ms),
        "groups": groups_of(life, names_of(place.snapshot)),
    }


def why_of(reason: Mapping[str, Any] | None) -> str:
    """Return the reason for a missing message as a sentence, with formatted offsets."""
    if not reason:
        return ""
    values = {
        key: number(value) if key in ("physical_offset", "low", "high") else value for key, value in reason.items()
    }
    return str(WHY.get(reason["code"], reason["code"])).format_map(values)


def _members(place: Place) -> list[Row]:
    """Return the clients a message can be sent to again, by group: running members and real clients."""
    rows = [
        {"group": group["group"], "client_id": member["client_id"], "name": member.get("actor") or member["client_id"]}
        for group in place.groups
        for member in group.get("members", ())
        if member.get("client_id") and member.get("state") in ("running", None)
    ]
    return sorted(rows, key=lambda row: (row["group"], row["name"]))


MESSAGE = BoardPage(
    name="message",
    path="messages/",
    template="queueviz/boards/message.html",
    attached=True,
    channels=lambda place: [channel(place)] if place.query.get("id", "").strip() else [],
    context=_context,
)

LIFE = Part(
    name="life",
    template="queueviz/partials/message_life.html",
    attached=True,
    channels=MESSAGE.channels,
    context=_life_context,
)
