"""The Wire page: the frames on one link, decoded and byte by byte (channel `wire/…`, question `frames`)."""

from __future__ import annotations

from typing import NamedTuple, TypedDict
from urllib.parse import quote

from queueviz.boards.board import live_config, now_of
from queueviz.boards.client_texts import frame_words
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Place, Readings, data_of
from sandbox.queries.rows.records import Dump
from sandbox.queries.rows.wire_frames import Wire

LINE_BYTES = 16
HEX_BYTES = 4_096  # drawn; what is kept beyond is counted


class Run(NamedTuple):
    """Neighbouring bytes of one line that belong to the same fields.

    `fields`: numbers of these fields, the innermost last.
    """

    fields: str
    hex: str
    text: str


def channel(place: Place) -> str:
    link = place.query.get("link")
    return f"wire/{place.slug}/{quote(link, safe='')}" if link else f"wire/{place.slug}"


def _context(place: Place, readings: Readings) -> Context:
    name = channel(place)
    data = data_of(readings, name, Wire)
    asked = place.query.get("link", "")
    wording = texts(frame_words())
    frames = data["frames"] if data else {}
    return {
        "asked": asked,
        "gone": data is None,
        "links": data["links"] if data else {},
        "link": data["link"] if data else None,
        "frames": [(no, frames[no]) for no in sorted(frames, key=int, reverse=True)],
        "now_ms": now_of(place, readings, name),
        "live": live_config(place, readings, {"wire": name} if data is not None else {}, tab="wire", link=asked),
        "texts": wording,
    }


class DumpLine(TypedDict):
    """One line of a hex dump."""

    at: str  # of its first byte, hexadecimal
    runs: list[Run]


def lines_of(frame: Dump) -> list[DumpLine]:
    """Return the hex dump, 16 bytes a line; each run of bytes names the fields it belongs to."""
    data = bytes.fromhex(frame["hex"])[:HEX_BYTES]
    inside = [""] * len(data)
    for number, part in enumerate(frame["fields"]):
        for at in range(part["start"], min(part["end"], len(data))):
            inside[at] += f" {number}" if inside[at] else str(number)
    return [
        {"at": f"{at:06x}", "runs": _runs(data[at : at + LINE_BYTES], inside[at : at + LINE_BYTES])}
        for at in range(0, len(data), LINE_BYTES)
    ]


def _runs(data: bytes, inside: list[str]) -> list[Run]:
    runs: list[Run] = []
    begin = 0
    for at in range(1, len(data) + 1):
        if at == len(data) or inside[at] != inside[begin]:
            part = data[begin:at]
            runs.append(Run(inside[begin], part.hex(" "), "".join(_sign(byte) for byte in part)))
            begin = at
    return runs


def _sign(byte: int) -> str:
    return chr(byte) if 0x20 <= byte < 0x7F else "·"


FRAMES = BoardPage(
    name="wire",
    path="wire/",
    template="queueviz/boards/frames.html",
    channels=lambda place: [channel(place)],
    context=_context,
)
