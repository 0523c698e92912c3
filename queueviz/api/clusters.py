"""The JSON API of attached clusters, with the views of sandboxes: state, questions, and resets for operators."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Router
from ninja.params.functions import Query

from queueviz.api import findings as finding_routes
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
    """Return the current state, in the form of a sandbox's.

    A value that the cluster's admin codes do not report is null.
    """
    return sandboxes.snapshot(request, attached_slug(name))


@router.get("/{slug:name}/findings", response={200: dict[str, object]} | REFUSALS, summary="What is wrong, and why")
def findings(request: HttpRequest, name: str) -> HttpResponse:
    """Return the open findings, in the form of a sandbox's.  A check that lacks a report has `known` below `all`."""
    return finding_routes.findings(request, attached_slug(name))


@router.post(
    "/{slug:name}/actions",
    response={200: Acted} | REFUSALS,
    summary="Reset offsets (operators)",
    openapi_extra=RESET_BODY,
)
def act(request: HttpRequest, name: str) -> dict[str, str]:
    """Reset offsets of a group, or undo a reset.

    `confirm` is always the group's name, also for `UndoReset` with its `reset_id`. Only the newest reset of a group
    on a topic can be undone, once, within a day. No other action is possible on an attached cluster.
    """
    return sandboxes.act(request, attached_slug(name))


@router.get("/{slug:name}/events", summary="Log of actions, as NDJSON")
def events(request: HttpRequest, name: str, after: int | None = None) -> HttpResponseBase:
    """Stream the log of actions, in the form of a sandbox's events."""
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
    """Return lines of the log of actions, newest first, in the form of a sandbox's journal."""
    return sandboxes.journal(request, attached_slug(name), show, search, before, after, most)


@router.get(
    "/{slug:name}/ask/{question}", response={200: dict[str, object]} | REFUSALS, summary="Run a read-only query"
)
def ask(request: HttpRequest, name: str, question: str) -> HttpResponse:
    """Answer a read-only question, as for a sandbox, if the cluster reports the values it needs."""
    return sandboxes.ask(request, attached_slug(name), question)


api.add_router("/clusters", router)
