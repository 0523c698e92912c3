"""Texts of a lab in the reader's language, with their values as HTML."""

from collections.abc import Mapping

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from queueviz.refusal_texts import SPOKEN, spoken


def marked(text: str, values: Mapping[str, object]) -> SafeString:
    """Return `text` in the reader's language, with its values as HTML.

    Names are marked, since a member may be called "left".
    """
    sentence = escape(gettext(text)) if text else SafeString()
    return (
        format_html(sentence, **{name: _marked(name, value) for name, value in values.items()}) if values else sentence
    )


def _marked(name: str, value: object) -> object:
    is_name = isinstance(value, str) and name not in SPOKEN
    return format_html("<code>{}</code>", value) if is_name else spoken(name, value)
