"""Markup that many pages repeat: style sheets, heads of tables, facts, fields and feet of forms."""

from dataclasses import dataclass

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@dataclass(frozen=True)
class Right:
    """A column head whose cells are aligned to the right."""

    label: str


@register.filter
def right(label: str) -> Right:
    return Right(label)


@register.simple_tag
def heads(*labels: str | Right) -> SafeString:
    """Return the head of a table, one cell for each label."""
    cells = (
        (mark_safe(' class="r"') if isinstance(label, Right) else "", label.label if isinstance(label, Right) else label)
        for label in labels
    )
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
