"""Error responses in the design of the site: a status, a sentence, and the next step."""

import logging
import sys
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy

from queueviz import refusal_texts, refusals
from queueviz.access import hidden_names, policy
from queueviz.access.visitor import Visitor
from queueviz.pages import lite_offer
from queueviz.sandboxes import creation

log = logging.getLogger(__name__)

PAGE = "queueviz/pages/error.html"
INSTEAD = "instead"  # field of a request for a new sandbox: the one of the visitor's that is deleted for it

SENTENCES = {
    400: (gettext_lazy("This request is not valid."), gettext_lazy("Go back and try again.")),
    403: (
        gettext_lazy("You do not have permission for this request."),
        gettext_lazy("Ask the owner, or start your own sandbox."),
    ),
    404: (gettext_lazy("No page has this address."), gettext_lazy("Check the address, or start from the first page.")),
    500: (gettext_lazy("A server error occurred."), gettext_lazy("The error is logged. Try again.")),
    503: (gettext_lazy("The database is busy."), gettext_lazy("Try again in a moment.")),
}


def sentence(
    request: HttpRequest, status: int, *, error: str, hint: str = "", field: str | None = None, details: Any = None
) -> HttpResponse:
    """Return a refusal as JSON, partial or page, depending on the request."""
    if (mask := hidden_names.of_request(request)) is not None:
        error, hint = mask.text(error), mask.text(hint)
    if request.path.startswith("/api/"):
        return JsonResponse(_shape(error, hint, field, details), status=status)
    context = {"status": status, "message": error, "hint": hint, "field": field, "details": details}
    context["in_browser"] = lite_offer.instead(request, status)
    return render(request, refusal_texts.PARTIAL if _wants_partial(request) else PAGE, context, status=status)


def too_many_owned(request: HttpRequest, visitor: Visitor, refused: creation.TooManyOwned) -> HttpResponse:
    """Show the refusal with the visitor's own sandboxes.

    A button of each repeats the request with `INSTEAD`: the sandbox is deleted, and the new one begins.
    """
    status, texts = refusals.describe(refused)
    asked = [(name, value) for name, value in request.POST.items() if name not in (INSTEAD, "csrfmiddlewaretoken")]
    context = {
        "status": status,
        "message": texts["error"],
        "hint": texts["hint"],
        "mine": policy.sandboxes_of(visitor),
        "asked": asked,
        "instead": INSTEAD,
        "in_browser": lite_offer.instead(request, status),
    }
    return render(request, PAGE, context, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, RequestDataTooBig):
        return sentence(request, 413, **too_big())
    if isinstance(exception, TooManyFieldsSent):
        return sentence(request, 400, **too_many())
    return _standing(request, 400)


def too_big() -> dict[str, str]:
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return {
        "error": gettext("A request can have at most {most} bytes.").format(most=most),
        "hint": gettext("Send smaller portions."),
    }


def too_many() -> dict[str, str]:
    most = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
    return {
        "error": gettext("A request can have at most {most} fields.").format(most=most),
        "hint": gettext("Send fewer fields."),
    }


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _standing(request, 403, str(exception))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    from queueviz.access.policy import NotFound  # access needs the app registry, this module does not

    return _standing(request, 404, str(exception) if isinstance(exception, NotFound) else "")


def broken(request: HttpRequest) -> HttpResponse:
    error = sys.exception()
    status = 503 if isinstance(error, OperationalError) else 500  # a session could not be kept
    try:
        if error is not None and refusals.is_disk_full(error):
            status, texts = refusals.describe(error)
            return sentence(request, status, **texts)
        return _standing(request, status)
    except Exception:  # the page of errors is itself broken: words alone still work
        log.exception("the error page failed")
        message, hint = SENTENCES[status]
        return HttpResponse(f"{message} {hint}", status=status, content_type="text/plain; charset=utf-8")


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    return sentence(
        request,
        403,
        error=gettext("This form is too old, or it is from another site."),
        hint=gettext("Reload the page and try again."),
    )


def _standing(request: HttpRequest, status: int, text: str = "") -> HttpResponse:
    message, hint = SENTENCES[status]
    return sentence(request, status, error=gettext(text) if text else str(message), hint=str(hint))


def _wants_partial(request: HttpRequest) -> bool:
    htmx = getattr(request, "htmx", None)  # missing where an earlier middleware failed
    return htmx is not None and bool(htmx) and not htmx.boosted


def _shape(error: str, hint: str, field: str | None, details: Any) -> dict[str, object]:
    body: dict[str, object] = {"error": error, "hint": hint}
    if field is not None:
        body["field"] = field
    if details is not None:
        body["details"] = details
    return body
