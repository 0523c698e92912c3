"""Markup that many pages repeat: style sheets, heads of tables, facts of lists, fields of forms."""

from itertools import pairwise

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

RIGHT = ">"


@register.simple_tag
def heads(*labels: str) -> SafeString:
    """Return the head of a table, one cell for each label.  After ">" the next column is aligned to the right."""
    cells = [
        (mark_safe(' class="r"') if before == RIGHT else "", label)
        for before, label in pairwise(("", *labels))
        if label != RIGHT
    ]
    return format_html("<thead><tr>{}</tr></thead>", format_html_join("", '<th scope="col"{}>{}</th>', cells))


@register.simple_block_tag
def fact(content: SafeString, label: str, css: str = "") -> SafeString:
    """Return an entry of a list of facts (`dl`): the label, and the content as its value."""
    return format_html("<div><dt>{}</dt><dd{}>{}</dd></div>", label, _css(css), mark_safe(content.strip()))


@register.simple_block_tag
def labelled(content: SafeString, label: str, css: str = "field") -> SafeString:
    """Return a field of a form: the label around its input."""
    return format_html("<label{}>{} {}</label>", _css(css), label, mark_safe(content.strip()))


@register.simple_tag
def styles(*names: str) -> SafeString:
    """Return the links to style sheets of `static/queueviz/css`, in this order."""
    links = ((static(f"queueviz/css/{name}.css"),) for name in names)
    return format_html_join("\n", '<link rel="stylesheet" href="{}">', links)


def _css(names: str) -> SafeString:
    return format_html(' class="{}"', names) if names else mark_safe("")
