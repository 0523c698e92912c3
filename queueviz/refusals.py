"""Refusals in the reader's language.  Text and values are separate until this module joins them."""

import errno
import logging
from collections.abc import Mapping
from typing import NotRequired, TypedDict

from django.db import DataError, OperationalError
from django.utils.translation import gettext

from queueviz.access import hidden_names
from queueviz.access.policy import Forbidden, NotFound
from sandbox.kernel.errors import ActionRefused, EngineBusy, SandboxError

log = logging.getLogger(__name__)

OF_THE_DATABASE = (OperationalError, DataError)
"""It is busy, or was given what it cannot hold: neither is a mistake of ours."""

NO_ROOM = ("disk is full", "no space left", "disk quota exceeded")
"""What SQLite and PostgreSQL say where the disk takes nothing more."""

SPOKEN = frozenset({"kind", "limit", "problem", "state", "what", "why"})
"""Values that are words of ours, or of the operating system, and no names people gave: translated where they can be."""


def is_disk_full(error: BaseException | None) -> bool:
    """Return True if the error is a full disk, reported by a file or by the database."""
    if isinstance(error, OperationalError):
        return any(words in str(error).lower() for words in NO_ROOM)
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


class Described(TypedDict):
    """A refusal in the reader's language."""

    error: str
    hint: str
    field: NotRequired[str]
    details: NotRequired[object]


def describe(error: BaseException) -> tuple[int, Described]:
    """Return the HTTP status and `{"error", "hint"}` of an error, with `field` and `details` if present."""
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
    if isinstance(error, NotFound):
        return 404, {"error": gettext(str(error)), "hint": gettext("Check the address, or start a new sandbox.")}
    if isinstance(error, Forbidden):
        return 403, {"error": gettext(str(error)), "hint": gettext("Ask the owner, or start your own sandbox.")}
    if isinstance(error, EngineBusy):
        return 503, {"error": gettext(str(error)), "hint": gettext("Try again in a moment.")}
    if isinstance(error, SandboxError):
        text = filled("The engine could not execute this request: {why}.", {"why": str(error).removesuffix(".")})
        return 503, {"error": hidden_names.shown(text), "hint": gettext("Try again in a moment.")}
    if is_disk_full(error):
        log.error("the disk is full: %s", error)
        return 503, {
            "error": gettext("The disk of the server is full."),
            "hint": gettext("Free some space on the server, then try again."),
        }
    if isinstance(error, OperationalError):
        log.warning("the database: %s", error)
        return 503, {"error": gettext("The database is busy."), "hint": gettext("Try again in a moment.")}
    if isinstance(error, DataError):
        return 400, {
            "error": gettext("This request contains a character that cannot be stored."),
            "hint": gettext("Remove control characters."),
        }
    raise TypeError(f"no refusal: {error!r}")


def beside(status: int, texts: Described) -> dict[str, object]:
    """Return the template values for the partial that shows a refusal."""
    more = {name: text for name, text in texts.items() if name != "error"}
    return {"status": status, "message": texts["error"], **more}


def filled(text: str, values: Mapping[str, object]) -> str:
    """Return `text` in the reader's language with its values filled in.  An empty text stays empty."""
    if not text:
        return ""
    sentence = gettext(text)
    return sentence.format(**{name: spoken(name, value) for name, value in values.items()}) if values else sentence


def spoken(name: str, value: object) -> object:
    """Return a value for a sentence: a word of the product in the reader's language, any other value as it is."""
    return gettext(value) if name in SPOKEN and isinstance(value, str) and value else value
