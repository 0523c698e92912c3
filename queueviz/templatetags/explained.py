"""`{% why "committed" %}`: attributes of an element with an explanation; `{% explained as all %}`: all explanations."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from queueviz.boards.explanations import EXPLAINED, Explained

register = template.Library()


@register.simple_tag
def why(name: str) -> SafeString:
    """Return the attributes that link an element to its explanation.  Raises KeyError for an unknown name."""
    if name not in EXPLAINED:
        raise KeyError(name)
    return format_html('data-why="{}" aria-describedby="why-{}"', name, name)


@register.simple_tag
def explained() -> list[tuple[str, Explained]]:
    return list(EXPLAINED.items())
