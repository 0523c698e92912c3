"""Refusals of the server in the reader's language: of the engine (`refusal_texts`), of the policy, of the database."""

import errno
import logging

from django.db import DataError, OperationalError
from django.utils.translation import gettext

from queueviz import refusal_texts
from queueviz.access.policy import Forbidden, NotFound
from queueviz.refusal_texts import Described
from sandbox.kernel.errors import SandboxError

log = logging.getLogger(__name__)

OF_THE_DATABASE = (OperationalError, DataError)
"""It is busy, or was given what it cannot hold: neither is a mistake of ours."""

NO_ROOM = ("disk is full", "no space left", "disk quota exceeded")
"""What SQLite and PostgreSQL say where the disk takes nothing more."""


def is_disk_full(error: BaseException | None) -> bool:
    """Return True if the error is a full disk, reported by a file or by the database."""
    if isinstance(error, OperationalError):
        return any(words in str(error).lower() for words in NO_ROOM)
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def describe(error: BaseException) -> tuple[int, Described]:
    """Return the HTTP status and `{"error", "hint"}` of an error, with `field` and `details` if present."""
    if isinstance(error, NotFound):
        return 404, {"error": gettext(str(error)), "hint": gettext("Check the address, or start a new sandbox.")}
    if isinstance(error, Forbidden):
        return 403, {"error": gettext(str(error)), "hint": gettext("Ask the owner, or start your own sandbox.")}
    if isinstance(error, SandboxError):
        return refusal_texts.of_engine(error)
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
