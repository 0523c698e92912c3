"""The JSON API of sandboxes (docs/automation.md), with the rights, rate limits and refusals of the pages."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from asgiref.sync import sync_to_async
from django.core.exceptions import RequestDataTooBig
from django.db import DataError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from ninja import NinjaAPI, Schema, Status
from ninja.errors import HttpError, ValidationError
from ninja.params.functions import Query
from ninja.parser import Parser
from ninja.utils import check_csrf
from pydantic import ConfigDict, Field

from queueviz import engine, refusals
from queueviz.access import hidden_names, policy, visitor
from queueviz.access.visitor import Visitor
from queueviz.boards.api_bodies import MOST_LINES, MOST_SEARCH, journal_body, trimmed_body
from queueviz.boards.journal_search import terms_of
from queueviz.clusters import attached_clusters
from queueviz.links import branching
from queueviz.pages import errors
from queueviz.sandboxes import creation, ownership, visitor_actions
from sandbox.control.actions import BY_NAME as ACTIONS
from sandbox.control.limits import HostLimits
from sandbox.control.questions import BY_NAME as QUESTIONS
from sandbox.control.readings import Entries
from sandbox.journal.event_filter import EventFilter, Row, Show, without_score
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.queries.rows.host import ListeningRow

log = logging.getLogger(__name__)

LIMITS = HostLimits()
LINES_AT_ONCE = 1_000  # per crossing, so that the engine is never held long
JSON = "application/json"
NDJSON = "application/x-ndjson"


class Strict(Parser):
    """A parser that refuses unpaired surrogates, which are not text and which databases refuse."""

    def parse_body(self, request: HttpRequest) -> Any:
        return json_bytes.loads(request.body)


api = NinjaAPI(
    title="QueueViz",
    version="1",
    urls_namespace="api",
    parser=Strict(),
    description="Control a sandbox from a program. Send `Authorization: Bearer qv_…`.",
)


class NewSandbox(Schema):
    """The body of a request for a new sandbox.

    `template`: empty, flights, orders, payments, cluster, shrink, index or retries.  `history`: the sandbox starts
    with some recorded minutes of its template, as on the pages, if the server has made them.
    """

    model_config = ConfigDict(extra="forbid")

    template: str = Field("flights", max_length=ownership.WORD_LENGTH)
    preset: str = Field("sandbox", max_length=ownership.WORD_LENGTH)
    name: str = Field("", max_length=80)
    history: bool = True


class Made(Schema):
    slug: str
    url: str
    token: str


class Instead(Schema):
    """A replacement of one action in a branch: `action` replaces the one with the number `seq`."""

    model_config = ConfigDict(extra="forbid")

    seq: int
    action: dict[str, object]


class NewBranch(Schema):
    """The body of a request for a branch.

    `at`: the event up to which the run is repeated; `without`, `instead`: actions left out and replaced.
    """

    model_config = ConfigDict(extra="forbid")

    at: int = Field(ge=0)
    without: list[int] = []
    instead: list[Instead] = []


class Acted(Schema):
    seq: str


class Listener(Schema):
    open: bool
    name_servers: list[str]


class Looked(Schema):
    """A page of the journal.

    `rows`: newest first; `before`: value for the next request; `at_ms`: the time back to which the search has read;
    `first_seq`: the oldest event.
    """

    rows: list[dict[str, object]]
    before: str | None
    at_ms: int | None
    first_seq: str


class AccessKeys(Schema):
    access_key: str
    secret_key: str


class Refused(Schema):
    model_config = ConfigDict(extra="allow")

    error: str
    hint: str


ACTION_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {
                "schema": {
                    "type": "object",
                    "required": ["action"],
                    "properties": {"action": {"type": "string", "enum": list(ACTIONS)}},
                    "additionalProperties": True,
                    "description": "The name of the action; its fields are beside it (docs/automation.md).",
                },
                "example": {"action": "CrashActor", "actor": "A"},
            }
        },
    }
}
REFUSALS = dict.fromkeys((400, 403, 404, 409, 410, 415, 422, 429, 503), Refused)


@api.post("/sandboxes", response={201: Made} | REFUSALS, summary="Start a sandbox")
def create(request: HttpRequest, new: NewSandbox) -> Status[Any]:
    """Start a sandbox and return its address and token. The token is shown only here."""
    made = creation.create(writer(request), new.template, preset=new.preset, name=new.name, history=new.history)
    url = request.build_absolute_uri(reverse("sandbox", args=[made.sandbox.slug]))
    return Status(201, {"slug": made.sandbox.slug, "url": url, "token": made.token})


@api.post("/sandboxes/{slug:slug}/branch", response={201: Made} | REFUSALS, summary="Branch from an event")
def branch(request: HttpRequest, slug: str, new: NewBranch) -> Status[Any]:
    """Create a sandbox that repeats this run up to event `at`. Its state is `branching` until it gets there."""
    instead = {change.seq: change.action for change in new.instead}
    made = branching.branch(writer(request), slug, at=new.at, without=new.without, instead=instead)
    url = request.build_absolute_uri(reverse("sandbox", args=[made.sandbox.slug]))
    return Status(201, {"slug": made.sandbox.slug, "url": url, "token": made.token})


@api.get("/sandboxes/{slug:slug}", response={200: dict[str, object]} | REFUSALS, summary="Current state")
def snapshot(request: HttpRequest, slug: str) -> HttpResponse:
    """Return the current state: name servers, brokers, topics, producers, groups. Offsets are strings."""
    visit = policy.visit_at(visitor.of_request(request), slug, "see")
    attached_clusters.demand(visit)
    sandbox = visit.sandbox
    whole = engine.answer(engine.port().snapshot(slug))
    expires_at = sandbox.expires_at.isoformat() if sandbox.expires_at else None
    whole["sandbox"] = {**whole["sandbox"], "slug": slug, "name": sandbox.name, "expires_at": expires_at}
    return HttpResponse(json_bytes.dumps(whole), content_type=JSON)


@api.post(
    "/sandboxes/{slug:slug}/actions",
    response={200: Acted} | REFUSALS,
    summary="Execute an action",
    openapi_extra=ACTION_BODY,
)
def act(request: HttpRequest, slug: str) -> dict[str, str]:
    """Execute an action. `seq` numbers the action's event; its effects come later in the events."""
    return {"seq": str(visitor_actions.act(writer(request), slug, _object(request)))}


@api.get("/sandboxes/{slug:slug}/events", summary="Events, as NDJSON")
def events(request: HttpRequest, slug: str, after: int | None = None, most: int = MOST_LINES) -> HttpResponseBase:
    """Return events after `after`: 10 000 lines, or `most` (up to 1 000 000); 410 with `first_seq` if trimmed."""
    most = max(1, min(most, LIMITS.journal_lines))
    visit = policy.visit_at(visitor.of_request(request), slug, "see")
    attached_clusters.demand(visit)
    port = engine.port()
    entries = engine.answer(port.entries(slug, -1 if after is None else after, min(LINES_AT_ONCE, most)))
    if after is not None and after + 1 < entries.first_seq:
        return HttpResponse(json_bytes.dumps(trimmed_body(entries.first_seq)), status=410, content_type=JSON)
    pages = _pages(slug, entries, most, _shown_to(request, visit))
    if most <= MOST_LINES:
        return HttpResponse(b"".join(pages), content_type=NDJSON)
    answer = StreamingHttpResponse(_in_turn(pages), content_type=NDJSON)
    answer["Content-Encoding"] = "identity"  # Django packs each page by itself, and clients unpack the first alone
    return answer


def _shown_to(request: HttpRequest, visit: policy.Visit) -> Callable[[Row], Row]:
    """Return a function that reduces an event row to the part this visitor may see."""
    mask, scores = hidden_names.of_request(request), visit.sees_scores

    def shown(row: Row) -> Row:
        row = row if scores else without_score(row)
        return row if mask is None else mask.row(row)

    return shown


def _pages(slug: str, entries: Entries, most: int, shown: Callable[[Row], Row]) -> Iterator[bytes]:
    """Yield pages of lines: of `entries`, then of the events after them. Each page is one call of the engine."""
    while True:
        yield b"".join(json_bytes.dumps(shown(row)) + b"\n" for row in entries.rows)
        most -= len(entries.rows)
        if not most or len(entries.rows) < LINES_AT_ONCE:
            return
        entries = engine.answer(engine.port().entries(slug, int(entries.next_seq) - 1, min(LINES_AT_ONCE, most)))


async def _in_turn(pages: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the pages one by one as the client reads them, so that a long answer is never in memory completely."""
    following = sync_to_async(lambda: next(pages, None), thread_sensitive=False)
    while (page := await following()) is not None:
        yield page


@api.get("/sandboxes/{slug:slug}/journal", response={200: Looked} | REFUSALS, summary="Events, newest first")
def journal(
    request: HttpRequest,
    slug: str,
    show: Show = "told",
    search: str = Query("", max_length=MOST_SEARCH),
    before: int | None = None,
    after: int = -1,
    most: int = 100,
) -> HttpResponse:
    """Return events. `show`: `actions`, `told` (no mere steps), `facts`, `all`. Repeat until `before` is null."""
    requester = visitor.of_request(request)
    visit = policy.visit_at(requester, slug, "see")
    attached_clusters.demand(visit)
    event_filter = EventFilter(
        show, terms_of(search), unnamed=requester.link is not None, scoreless=not visit.sees_scores
    )
    looking = engine.port().look_back(slug, event_filter, before=before, after=after, most=most)
    page = engine.answer(looking, engine.PAST_PATIENCE_S)  # it reads files
    rows = list(map(_shown_to(request, visit), page.rows))
    return HttpResponse(json_bytes.dumps(journal_body(page, rows)), content_type=JSON)


@api.get(
    "/sandboxes/{slug:slug}/ask/{name}",
    response={200: dict[str, object]} | REFUSALS,
    summary="Run a read-only query",
    openapi_extra={"description": "Questions: " + ", ".join(QUESTIONS)},
)
def ask(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Answer a read-only question. Its fields are query parameters; lists are comma-separated."""
    answer = visitor_actions.ask(visitor.of_request(request), slug, name, request.GET.dict())
    return HttpResponse(json_bytes.dumps(answer), content_type=JSON)


@api.post("/sandboxes/{slug:slug}/wake", response={200: dict[str, str]} | REFUSALS, summary="Wake it")
def wake(request: HttpRequest, slug: str) -> dict[str, str]:
    policy.sandbox_for(writer(request), slug, "act")
    engine.answer(engine.port().wake(slug), engine.OPENING_PATIENCE_S)
    return {"state": "live"}


@api.post("/sandboxes/{slug:slug}/sleep", response={200: dict[str, str]} | REFUSALS, summary="Stop the sandbox")
def sleep(request: HttpRequest, slug: str) -> dict[str, str]:
    policy.sandbox_for(writer(request), slug, "act")
    engine.answer(engine.port().sleep(slug, "action"), engine.OPENING_PATIENCE_S)
    return {"state": "asleep"}


@api.post("/sandboxes/{slug:slug}/listen", response={200: Listener} | REFUSALS, summary="Open ports to real clients")
def listen(request: HttpRequest, slug: str) -> ListeningRow:
    """Open the sandbox's ports to real clients. `name_servers` configures a client of any language, as `ip:port`.
    Other machines can connect only if the nodes have addresses that they reach.
    """
    requester = writer(request)
    return ownership.open_listener(requester, policy.sandbox_for(requester, slug, "share"))


@api.post("/sandboxes/{slug:slug}/keys", response={200: AccessKeys} | REFUSALS, summary="Create access keys")
def make_keys(request: HttpRequest, slug: str) -> dict[str, str]:
    """Create access keys, with which real clients must sign from now on. The secret is shown only here."""
    requester = writer(request)
    return ownership.make_keys(requester, policy.sandbox_for(requester, slug, "share"))._asdict()


@api.delete(
    "/sandboxes/{slug:slug}/keys", response={204: None} | REFUSALS, summary="Accept real clients without signatures"
)
def drop_keys(request: HttpRequest, slug: str) -> HttpResponse:
    """Delete the access keys, so that real clients need no signature. Refused while the ports are open to other
    machines.
    """
    requester = writer(request)
    ownership.drop_keys(requester, policy.sandbox_for(requester, slug, "share"))
    return HttpResponse(status=204)


@api.post("/sandboxes/{slug:slug}/unlisten", response={200: Listener} | REFUSALS, summary="Close them")
def unlisten(request: HttpRequest, slug: str) -> ListeningRow:
    """Close the sandbox's ports and disconnect the clients."""
    requester = writer(request)
    return ownership.close_listener(requester, policy.sandbox_for(requester, slug, "share"))


def writer(request: HttpRequest) -> Visitor:
    """Return the visitor of a request that changes something.

    Cookies of a browser count only with the CSRF token; a bearer token needs none.  Only JSON is accepted, because a
    page of another site cannot send JSON without a preflight request.
    """
    requester = visitor.of_request(request)
    if requester.token is None and request.COOKIES and check_csrf(request) is not None:
        raise HttpError(403, "A request with cookies needs the CSRF token. Send a bearer token, or no cookies.")
    if request.body and request.content_type != JSON:
        raise HttpError(415, "Send application/json.")
    return requester


def _object(request: HttpRequest) -> dict[str, object]:
    try:
        arguments = json_bytes.loads(request.body)
    except json_bytes.JSONDecodeError as error:
        raise HttpError(400, f"The body is not JSON: {error}.") from None
    if not isinstance(arguments, dict):
        raise HttpError(400, "The body is not a JSON object.")
    return arguments


@api.exception_handler(SandboxError)
@api.exception_handler(policy.Forbidden)
@api.exception_handler(Http404)
@api.exception_handler(OperationalError)
@api.exception_handler(DataError)
def refused(request: HttpRequest, error: Exception) -> HttpResponse:
    if isinstance(error, Http404) and not isinstance(error, policy.NotFound):
        error = ActionRefused(404, "No page has this address.", "See /api/docs.")
    status, body = refusals.describe(error)
    return HttpResponse(json_bytes.dumps(body, default=str), status=status, content_type=JSON)


@api.exception_handler(ValidationError)
def malformed(request: HttpRequest, error: ValidationError) -> HttpResponse:
    first = error.errors[0]
    field = ".".join(str(part) for part in first["loc"][2:]) or str(first["loc"][-1])
    body = {"error": f"{field}: {first['msg']}.", "hint": "See /api/docs for the fields.", "field": field}
    return HttpResponse(json_bytes.dumps(body), status=422, content_type=JSON)


@api.exception_handler(RequestDataTooBig)
def too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return HttpResponse(json_bytes.dumps(errors.too_big()), status=413, content_type=JSON)


@api.exception_handler(HttpError)
def not_understood(request: HttpRequest, error: HttpError) -> HttpResponse:
    hint = "The body must be one JSON object." if error.status_code == 400 else "See /api/docs."
    return HttpResponse(
        json_bytes.dumps({"error": str(error), "hint": hint}), status=error.status_code, content_type=JSON
    )


@api.exception_handler(Exception)
def broken(request: HttpRequest, error: Exception) -> HttpResponse:
    if refusals.is_disk_full(error):
        return refused(request, error)
    log.error("%s %s failed", request.method, request.path, exc_info=error)
    body = {"error": "A server error occurred.", "hint": "The error is logged. Try again."}
    return HttpResponse(json_bytes.dumps(body), status=500, content_type=JSON)
