"""Template tags of Django's that load its request handling or its models, rewritten for Lite without them."""

import json

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from queueviz.lite.addresses import Addresses
from queueviz.slugs import BEHIND

register = template.Library()

HTML_ESCAPES = {ord(">"): "\\u003E", ord("<"): "\\u003C", ord("&"): "\\u0026"}


@register.simple_tag
def url(name: str, *values: object) -> str:
    """Return the address that the server's URL configuration has under `name`."""
    addresses = BEHIND.get()
    assert isinstance(addresses, Addresses), "`at` is around every answer"
    return addresses.named(name, *values)


@register.filter
def json_script(value: object, element_id: str) -> SafeString:
    """Return a script element with the value as JSON."""
    text = json.dumps(value, default=str).translate(HTML_ESCAPES)
    return format_html('<script id="{}" type="application/json">{}</script>', element_id, mark_safe(text))
