"""Middleware of every request: refusal of unreadable requests, session extension, errors as sentences."""

import time
from collections.abc import Callable

from django.core.exceptions import TooManyFieldsSent
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.http.response import HttpResponseBase
from django.utils.translation import gettext

from queueviz import refusals
from queueviz.access import hidden_names
from queueviz.pages import errors
from sandbox.kernel.errors import SandboxError

TOUCHED = "touched"  # day of the last use, in the session
DAY_S = 86_400


class Readable:
    """Middleware that refuses a request with too many fields or a charset that is no text encoding.

    It does so before a page reads the request.  Django would raise the error only when the first field is read, and
    again while the error page is rendered.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if (request.encoding or "utf-8").lower() not in ("utf-8", "utf8"):
            request.encoding = "utf-8"
            return errors.sentence(
                request, 415, error=gettext("This charset is not supported."), hint=gettext("Send text as UTF-8.")
            )
        try:
            _ = request.GET
        except TooManyFieldsSent as error:
            request.GET = QueryDict()
            return errors.bad_request(request, error)
        return self._get_response(request)


class RollingSession:
    """Middleware that keeps a session for 30 days after its last use, not its first, with one write a day."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = self._get_response(request)
        session = request.session
        today = int(time.time() // DAY_S)
        if not session.is_empty() and session.get(TOUCHED) != today:
            session[TOUCHED] = today  # a changed session is saved, and its cookie sent again
        return answer


class EngineAnswers:
    """Middleware that turns errors of the engine or database into a page, a partial or JSON with its own status."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = self._get_response(request)
        if answer.status_code == 405 and request.path.startswith("/api/"):
            return _other_method(request, answer)
        return answer

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, (SandboxError, *refusals.OF_THE_DATABASE)) and not refusals.is_disk_full(error):
            return None
        status, texts = refusals.describe(error)
        return errors.sentence(request, status, **texts)


class Masked:
    """Middleware that hides the sandbox's address in response headers behind a live link.

    Such headers come from redirects and buttons of htmx.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        answer = self._get_response(request)
        if (mask := hidden_names.of_request(request)) is not None:
            for name, value in list(answer.headers.items()):
                answer.headers[name] = mask.address(value)
        return answer


def _other_method(request: HttpRequest, answer: HttpResponse) -> HttpResponse:
    """Return the refusal of a method as a sentence and a hint.  The API framework would answer in plain text."""
    body = {
        "error": gettext("{method} is not allowed here.").format(method=request.method),
        "hint": gettext("Allowed: {methods}.").format(methods=answer.headers.get("Allow", "")),
    }
    return JsonResponse(body, status=405, headers={"Allow": answer.headers.get("Allow", "")})
