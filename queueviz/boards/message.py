"""The page of one message: its fields and bytes, its position, and its life (channel `messages/<slug>?id=…`)."""

from __future__ import annotations

from typing import TypedDict
from urllib.parse import quote

from queueviz.boards.board import live_config, names_of, now_of
from queueviz.boards.frames import lines_of
from queueviz.boards.js_texts import texts
from queueviz.boards.message_body import DEEPEST, MOST_NODES, body_of
from queueviz.boards.message_life import groups_of, line_of
from queueviz.boards.message_texts import COPYING, FLAGS, WHY
from queueviz.boards.page import BoardPage, Context, Part, Place, Readings, data_of
from queueviz.templatetags.formats import number
from sandbox.control.channel_names import FILTER_CHARS
from sandbox.queries.rows.messages import BODY_BYTES
from sandbox.queries.rows.records import MissingReason, OneMessage, QueueEntry, Record


def channel(place: Place) -> str:
    return f"messages/{place.slug}?id={quote(place.query.get('id', '').strip()[:FILTER_CHARS], safe='')}"


def _context(place: Place, readings: Readings) -> Context:
    name = channel(place)
    data = data_of(readings, name, OneMessage)
    record = data["record"] if data else None
    now_ms = now_of(place, readings, name)
    context: Context = {
        "asked": place.query.get("id", ""),
        "tab": "messages",
        "gone": data is None,
        "record": record,
        "why": why_of(data["why"] if data else None),
        "now_ms": now_ms,
        "others": data["others"] if data else (),
        "live": live_config(place, {}, {}, tab="message"),
        "texts": texts(COPYING),
    }
    if record is None:
        return context
    return context | shown_record(record) | _life(place, record, now_ms) | {"members": _members(place)}


def _life_context(place: Place, readings: Readings) -> Context:
    """Return the template values of the panel of the message's life, which the page polls."""
    data, now_ms = data_of(readings, channel(place), OneMessage), now_of(place, readings, channel(place))
    record = data["record"] if data else None
    context: Context = {"gone": data is None, "record": record, "why": why_of(data["why"] if data else None)}
    return context if record is None else context | {"message": record["message"]} | _life(place, record, now_ms)


def shown_record(record: Record) -> Context:
    """Return bytes, body and positions of a stored message for templates.

    A value that an attached cluster does not report is None.
    """
    message, entry = record["message"], record.get("entry")
    body = bytes.fromhex(message["body_hex"])
    return {
        "message": message,
        "fields": record["parts"],
        "lines": lines_of({"hex": record["hex"], "fields": record["parts"]}),
        "body": body_of(body, whole=len(body) == message["body_bytes"]),
        "tree": {"bytes": BODY_BYTES, "nodes": MOST_NODES, "depth": DEEPEST},
        "body_cut": (message["body_bytes"] or len(body)) - len(body),
        "body_lines": lines_of({"hex": message["body_hex"], "fields": []}),
        "flags": [FLAGS.get(flag, flag) for flag in message["flags"]],
        "entry_bytes": _entry_bytes(entry) if entry else None,
        "index": record.get("index"),
        "place": record.get("position"),
        "entry": entry,
    }


class EntryField(TypedDict):
    """One field of a consume queue entry."""

    name: str
    bytes: str  # hexadecimal
    value: str | int


def _entry_bytes(entry: QueueEntry) -> list[EntryField]:
    """Return the three fields of a consume queue entry with their bytes (spec store-format 4)."""
    raw = bytes.fromhex(entry["hex"])
    return [
        {"name": "offset", "bytes": raw[:8].hex(" "), "value": entry["physical_offset"]},
        {"name": "size", "bytes": raw[8:12].hex(" "), "value": entry["bytes"]},
        {"name": "hash", "bytes": raw[12:20].hex(" "), "value": entry["tags_code"]},
    ]


def _life(place: Place, record: Record, now_ms: int) -> Context:
    life = record["life"]
    return {
        "life": life,
        "line": line_of(record["message"], life, now_ms),
        "groups": groups_of(life, names_of(place.snapshot)),
    }


def why_of(reason: MissingReason | None) -> str:
    """Return the reason for a missing message as a sentence, with formatted offsets."""
    if not reason:
        return ""
    values = {
        key: number(value) if key in ("physical_offset", "low", "high") else value for key, value in reason.items()
    }
    return str(WHY.get(reason["code"], reason["code"])).format_map(values)


class Recipient(TypedDict):
    """A client that a message can be sent to again."""

    group: str
    client_id: str
    name: str


def _members(place: Place) -> list[Recipient]:
    """Return the clients to which a message can be sent again, by group: running members and real clients."""
    rows: list[Recipient] = [
        {"group": group["group"], "client_id": client_id, "name": member.get("actor") or client_id}
        for group in place.groups
        for member in group.get("members", ())
        if (client_id := member.get("client_id")) and member.get("state") in ("running", None)
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
