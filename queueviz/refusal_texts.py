"""Refusals of the engine in the reader's language.  Text and values are separate until this module joins them.

This module needs neither the database nor a request: `refusals` adds what only the server knows.
"""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from django.utils.translation import gettext

from queueviz.access import hidden_names
from sandbox.kernel.errors import ActionRefused, EngineBusy, SandboxError

PARTIAL = "queueviz/partials/refusal.html"

SPOKEN = frozenset({"kind", "limit", "problem", "state", "what", "why"})
"""Values that are words of ours, or of the operating system, and no names people gave: translated where they can be."""


class Described(TypedDict):
    """A refusal in the reader's language."""

    error: str
    hint: str
    field: NotRequired[str]
    details: NotRequired[object]


def of_engine(error: SandboxError) -> tuple[int, Described]:
    """Return the HTTP status and `{"error", "hint"}` of an engine's error, with `field` and `details` if present."""
    if isinstance(error, ActionRefused):
        texts: Described = {
            "error": hidden_names.shown(filled(error.message, error.values)),
            "hint": hidden_names.shown(filled(error.hint, error.values)),
        }
        if error.field is not None:
            texts["field"] = error.field
        if error.details is not None:
            texts["details"] = error.details
        return error.status, texts
    if isinstance(error, EngineBusy):
        return 503, {"error": gettext(str(error)), "hint": gettext("Try again in a moment.")}
    text = filled("The engine could not execute this request: {why}.", {"why": str(error).removesuffix(".")})
    return 503, {"error": hidden_names.shown(text), "hint": gettext("Try again in a moment.")}


def beside(status: int, texts: Described) -> dict[str, object]:
    """Return the template values for the partial that shows a refusal."""
    more = {name: text for name, text in texts.items() if name != "error"}
    return {"status": status, "message": texts["error"], **more}


def status_beside_form(error: BaseException, status: int) -> int:
    """Return the status of a refusal that is shown beside its form.

    422 if the form names an unknown object: the address is valid.
    """
    return 422 if status == 404 and isinstance(error, ActionRefused) else status


def filled(text: str, values: Mapping[str, object]) -> str:
    """Return `text` in the reader's language with its values filled in.  An empty text stays empty."""
    if not text:
        return ""
    sentence = gettext(text)
    return sentence.format(**{name: spoken(name, value) for name, value in values.items()}) if values else sentence


def spoken(name: str, value: object) -> object:
    """Return a value for a sentence: a word of the product in the reader's language, any other value as it is."""
    return gettext(value) if name in SPOKEN and isinstance(value, str) and value else value
