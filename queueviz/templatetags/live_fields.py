"""`{% field row "cached" "number" %}`: a live value, which the page's module updates from the channel."""

from __future__ import annotations

from collections.abc import Mapping

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from queueviz.boards.live_fields import runs, shown, step_ms, word
from queueviz.templatetags.formats import UNKNOWN

register = template.Library()


@register.simple_tag(takes_context=True)
def field(context: template.Context, row: Mapping[str, object] | None, name: str, kind: str = "text") -> SafeString:
    """Return a value of a row as a span for live updates.  Without a row the value is unknown, an en dash."""
    row = row if isinstance(row, Mapping) else None
    names = (context.get("live") or {}).get("names") or {}
    began_ms = (context.get("client") or {}).get("began_ms") or 0
    text = shown(row, name, kind, now_ms=context.get("now_ms") or 0, began_ms=began_ms, names=names)
    return format_html('<span data-f="{}" data-as="{}">{}</span>', name, kind, text)


@register.simple_tag
def key_word(family: str, key: str) -> str:
    """Return the word for the key of a row."""
    return word(family + key) if key else UNKNOWN


@register.filter("step_ms")
def step_ms_filter(ms: int) -> str:
    return step_ms(ms)


@register.filter
def offset_runs(offsets: list[list[str]]) -> str:
    return runs(offsets, 0)
