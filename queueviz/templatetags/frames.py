"""`{% hex_lines frame as lines %}`: the bytes of a frame as lines of a hex dump."""

from __future__ import annotations

from django import template

from queueviz.boards.frames import HEX_BYTES, DumpLine, lines_of
from sandbox.queries.rows.records import Dump
from sandbox.queries.rows.wire_frames import FrameBytes

register = template.Library()


@register.simple_tag
def hex_lines(frame: Dump) -> list[DumpLine]:
    return lines_of(frame)


@register.simple_tag
def bytes_not_drawn(frame: FrameBytes) -> int:
    """Return how many bytes of the frame the hex dump leaves out."""
    return int(frame["bytes"]) - min(HEX_BYTES, int(frame["kept"]))
