"""The JSON API of attached clusters: look, ask, and reset for operators; the same views as of sandboxes."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Router
from ninja.params.functions import Query

from queueviz.api import sandboxes as sandboxes
from queueviz.api.sandboxes import REFUSALS, Acted, api
from queueviz.slugs import attached_slug
from sandbox.journal.event_filter import Show

router = Router(tags=["attached clusters"])

RESET_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            sandboxes.JSON: {
                "schema": {
                    "type": "object",
                    "required": ["action"],
                    "additionalProperties": True,
                    "properties": {"action": {"type": "string", "enum": ["ResetOffsets", "UndoReset"]}},
                },
                "example": {
                    "action": "ResetOffsets",
                    "group": "order-svc",
                    "topic": "orders",
                    "target": "time",
                    "value": "1795142537350",
                    "method": "online",
                    "confirm": "order-svc",
                },
            }
        },
    }
}


@router.get("/{slug:name}", response={200: dict[str, object]} | REFUSALS, summary="Current state of the cluster")
def snapshot(request: HttpRequest, name: str) -> HttpResponse:
    """Return the snapshot, as of a sandbox. A value that the cluster's admin codes do not report is null."""
    return sandboxes.snapshot(request, attached_slug(name))


@router.post(
    "/{slug:name}/actions",
    response={200: Acted} | REFUSALS,
    summary="Reset offsets (operators)",
    openapi_extra=RESET_BODY,
)
def act(request: HttpRequest, name: str) -> dict[str, str]:
    """`confirm` is the group's name, always, for `UndoReset` with its `reset_id`, too. Only the newest reset of a group
    on a topic is undone, once, within a day. Nothing else is ever done to a cluster that is not ours."""
    return sandboxes.act(request, attached_slug(name))


@router.get("/{slug:name}/events", summary="Log of actions, as NDJSON")
def events(request: HttpRequest, name: str, after: int | None = None) -> HttpResponseBase:
    """Stream events, as of a sandbox."""
    return sandboxes.events(request, attached_slug(name), after)


@router.get("/{slug:name}/journal", response={200: sandboxes.Looked} | REFUSALS, summary="Log of actions, newest first")
def journal(
    request: HttpRequest,
    name: str,
    show: Show = "told",
    search: str = Query("", max_length=200),
    before: int | None = None,
    after: int = -1,
    most: int = 100,
) -> HttpResponse:
    """Return lines of the journal, as of a sandbox."""
    return sandboxes.journal(request, attached_slug(name), show, search, before, after, most)


@router.get(
    "/{slug:name}/ask/{question}", response={200: dict[str, object]} | REFUSALS, summary="Run a read-only query"
)
def ask(request: HttpRequest, name: str, question: str) -> HttpResponse:
    """Answer a question as of a sandbox, as far as the cluster reports what it needs."""
    return sandboxes.ask(request, attached_slug(name), question)


api.add_router("/clusters", router)
