"""Two habits of every request: a session that lives on while it is used, and a sentence where the engine says no."""

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext

from queueviz import refusals
from queueviz.pages import errors
from sandbox.kernel.errors import SandboxError

TOUCHED = "touched"  # day of the last use, in the session
DAY_S = 86_400


class RollingSession:
    """Thirty days from the last use, not from the first; one write a day instead of one a request."""

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
    """What the engine refuses becomes a page, a partial or JSON with its own status: never a traceback."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = self._get_response(request)
        if answer.status_code == 405 and request.path.startswith("/api/"):
            return _other_method(request, answer)
        return answer

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, SandboxError):
            return None
        status, said = refusals.describe(error)
        return errors.sentence(request, status, **said)


def _other_method(request: HttpRequest, answer: HttpResponse) -> HttpResponse:
    """The API framework says this in plain text; here every refusal is a sentence and a hint."""
    said = {"error": gettext("{method} is not possible here.").format(method=request.method),
            "hint": gettext("Possible: {methods}.").format(methods=answer.headers.get("Allow", ""))}  # fmt: skip
    return JsonResponse(said, status=405, headers={"Allow": answer.headers.get("Allow", "")})
