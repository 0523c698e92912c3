"""`{% going_on asked cursor %}`: the query of the same search, continued from the end of its last answer."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from django import template

from queueviz.boards.frames import HEX_BYTES

register = template.Library()


@register.simple_tag
def going_on(asked: Mapping[str, object], cursor: str) -> str:
    return urlencode({**{name: str(value) for name, value in asked.items()}, "cursor": cursor})


@register.filter
def beyond_drawn(size: int) -> int:
    """Return how many bytes of a record the hex dump leaves out."""
    return max(0, size - HEX_BYTES)
