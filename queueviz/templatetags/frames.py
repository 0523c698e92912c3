"""`{% hex_lines frame as lines %}`: the bytes of a frame, ready to be written line by line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

from queueviz.boards.frames import HEX_BYTES, lines_of

register = template.Library()


@register.simple_tag
def hex_lines(frame: Mapping[str, Any]) -> list[dict[str, Any]]:
    return lines_of(frame)


@register.simple_tag
def bytes_not_drawn(frame: Mapping[str, Any]) -> int:
    """Return how many bytes of the frame the dump leaves out."""
    return int(frame["bytes"]) - min(HEX_BYTES, int(frame["kept"]))
