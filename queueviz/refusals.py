"""A refusal in the reader's language: text and values travel apart until here."""

from typing import Any

from django.utils.translation import gettext

from queueviz.access import Forbidden, NotFound
from sandbox.kernel.errors import ActionRefused, EngineBusy, SandboxError


def describe(error: Exception) -> tuple[int, dict[str, Any]]:
    """Status and `{"error", "hint"}`, with `field` and `details` where there are any."""
    if isinstance(error, ActionRefused):
        said: dict[str, Any] = {name: _filled(text, error.values) for name, text in _texts_of(error)}
        if error.field is not None:
            said["field"] = error.field
        if error.details is not None:
            said["details"] = error.details
        return error.status, said
    if isinstance(error, NotFound):
        return 404, {"error": gettext(str(error)), "hint": gettext("Check the address, or start a new sandbox.")}
    if isinstance(error, Forbidden):
        return 403, {"error": gettext(str(error)), "hint": gettext("Ask the owner, or start a sandbox of your own.")}
    if isinstance(error, EngineBusy):
        return 503, {"error": gettext(str(error)), "hint": gettext("Try again in a moment.")}
    if isinstance(error, SandboxError):
        return 503, {"error": str(error), "hint": gettext("Try again in a moment.")}
    raise TypeError(f"no refusal: {error!r}")


def _texts_of(error: ActionRefused) -> tuple[tuple[str, str], ...]:
    return ("error", error.message), ("hint", error.hint)


def _filled(text: str, values: dict[str, object]) -> str:
    return gettext(text).format(**values) if text and values else (gettext(text) if text else "")
