"""`{% why "committed" %}`: the attributes of a thing that explains itself; `{% explained as all %}`: the whole list."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from queueviz.boards.explanations import EXPLAINED, Explained

register = template.Library()


@register.simple_tag
def why(name: str) -> SafeString:
    """Raises KeyError for a name without an explanation."""
    if name not in EXPLAINED:
        raise KeyError(name)
    return format_html('data-why="{}" aria-describedby="why-{}"', name, name)


@register.simple_tag
def explained() -> list[tuple[str, Explained]]:
    return list(EXPLAINED.items())
