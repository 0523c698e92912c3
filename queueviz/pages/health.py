"""Whether this server is well: for a supervisor, not for people."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from queueviz import engine
from queueviz.live import hub
from sandbox.kernel.errors import SandboxError


@never_cache
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """200 when engine and database answer, else 503 and which of them does not."""
    said: dict[str, object] = {"status": "ok", "database": "ok", "engine": "ok"}
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        said |= {"status": "failing", "database": type(error).__name__}
    try:
        status = engine.answer(engine.port().status())
        said |= {name: value for name, value in status.items() if name != "sandboxes"}  # addresses are not public
    except SandboxError as error:
        said |= {"status": "failing", "engine": str(error)}
    return JsonResponse(said, status=200 if said["status"] == "ok" else 503)


@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """What the live sockets cost: frames, bytes, snapshots sent again, age of the oldest unacknowledged frame."""
    return JsonResponse(hub.figures())
