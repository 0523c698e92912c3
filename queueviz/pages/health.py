"""The health of this server, for supervising programs."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.utils import translation
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from queueviz.live import hubs, process_notices
from queueviz.operations import server_load
from sandbox.kernel.errors import SandboxError

NOT_SAID = ("sandboxes", "full")  # addresses are not public; a sentence says the other


@never_cache
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """Return 200 if engine and database answer, with `busy` or `full` and the reason if slow or without disk space.

    Otherwise return 503 with the part that does not answer.
    """
    body: dict[str, object] = {"status": "ok", "database": "ok", "engine": "ok", "disk": "ok"}
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        body |= {"status": "failing", "database": type(error).__name__}
    try:
        now = server_load.load()
        body |= {name: value for name, value in now.status.items() if name not in NOT_SAID}
        with translation.override("en"):  # for programs
            if now.stopped:
                body |= {"status": "failing", "engine": now.stopped}
            if now.full:
                body |= {"disk": now.full} | ({"status": "full"} if body["status"] == "ok" else {})
            body |= {"status": "busy", "busy": now.busy} if now.busy and body["status"] == "ok" else {}
    except SandboxError as error:
        body |= {"status": "failing", "engine": str(error)}
    return JsonResponse(body, status=503 if body["status"] == "failing" else 200)


@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """Return the costs of the live sockets and the notices to and from other web processes.

    Costs: frames, bytes, snapshots sent again, age of the oldest unacknowledged frame.
    """
    return JsonResponse(hubs.figures() | {"notices": process_notices.figures()})
