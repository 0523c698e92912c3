"""The mark beside a number for which an article gives another value: `{% load fidelity %}`, `{% differs "D2" %}`."""

from __future__ import annotations

from django import template
from django.template import Context
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from queueviz.fidelity.ledger import ledger
from queueviz.fidelity.view import seen_at, values_of

register = template.Library()


@register.inclusion_tag("queueviz/partials/differs.html", takes_context=True)
def differs(context: Context, *differences: str) -> dict[str, object]:
    """Show a small sign with one sentence and row for each difference.  An unknown difference is a template error.

    The pages of a real cluster show no sign: its operators do not come for the articles.
    """
    if not differences or not all(name.startswith("D") and name in ledger() for name in differences):
        raise template.TemplateSyntaxError(f"there is no difference {' '.join(differences) or 'without a name'}")
    return {"values": [] if context.get("attached") else values_of(ledger(), differences, get_language() or "en")}


@register.inclusion_tag("queueviz/partials/otherwise.html")
def otherwise(board: str) -> dict[str, object]:
    """Show a table of the differences visible on this page, with the values of article and code side by side."""
    return {"values": values_of(ledger(), seen_at(ledger(), board), get_language() or "en")}


@register.simple_tag
def differs_style() -> SafeString:
    """Return the link to the mark's styles, for a panel that is loaded later into a page that may lack them."""
    return format_html('<link rel="stylesheet" href="{}">', static("queueviz/css/differs.css"))
