"""The addresses at which the reader's browser begins what a request begins on the server."""

from django.http import HttpRequest
from django.urls import reverse

from queueviz.links import recipe_links
from sandbox.cluster.templates import TEMPLATES

OVERLOAD = (429, 503)
"""Statuses of a server that begins nothing more now: a browser does not depend on it."""


def of_recipe(text: str) -> str:
    return f"{reverse('lite-recipe')}#{text}"


def instead(request: HttpRequest, status: int) -> str | None:
    """Return the address at which the browser begins what this refused request would have begun.

    None if the server is not overloaded, or if a browser cannot begin the same.
    """
    match = request.resolver_match
    if status not in OVERLOAD or match is None or request.method != "POST":
        return None
    fields = request.POST
    if match.url_name == "new":
        template = fields.get("template") or "flights"
        is_plain = fields.get("preset", "") in ("", "sandbox")
        return reverse("lite", args=[template]) if template in TEMPLATES and is_plain else None
    if match.url_name == "lab-start":
        return reverse("lite-lab", kwargs=match.kwargs)
    if match.url_name == "incident-open":
        return reverse("lite-incident", kwargs=match.kwargs)
    if match.url_name == "recipe":
        return of_recipe(recipe_links.text_of(fields.get("text", "")))
    return None
