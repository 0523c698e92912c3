"""Every route of the URLconf, and what a request to it needs: a route that is not listed here fails the matrix."""

import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any, NamedTuple

from django.urls import URLPattern, URLResolver, get_resolver

from queueviz.pages.sandbox_operations import OPERATIONS
from sandbox.control.actions import BY_NAME as ACTIONS

ADMIN = "admin/"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")

FIELDS: dict[str, Any] = {
    "topic": "orders",
    "group": "g",
    "broker": "broker-a",
    "queue_id": 0,
    "target": "earliest",
    "rate": 1,
    "confirm": "g",
    "lab": "pinned-offset",
    "step": 1,
}
ONE_OF_EACH = {(kind.verb, getattr(kind, "only", None)): name for name, kind in reversed(ACTIONS.items())}


class Ask(NamedTuple):
    """One request, and the verb it needs.  `finds`: a visitor with the right gets an answer that is no 404."""

    method: str
    verb: str
    path: dict[str, str] = {}
    body: dict[str, Any] | None = None
    only: str | None = None  # the role that alone may
    finds: bool = True


SEE = [Ask("GET", "see")]
GRADE = [Ask("GET", "grade")]
ACT = [
    Ask("POST", kind.verb, body={"action": name}, only=getattr(kind, "only", None))
    for name, kind in ((name, ACTIONS[name]) for name in sorted(set(ONE_OF_EACH.values()) | {"ResetOffsets"}))
]
RESULT = [Ask("GET", "see", {"job": "latency", "table": "t"}, finds=False)]

OPEN = {
    "join/",
    "seat/<slug:secret>/",
    "c/new/",
    "lti/login/",
    "lti/launch/",
    "lti/jwks.json",
    "lti/platforms/",
    "lti/register/<slug:secret>/",
    "lti/enter/<slug:state>/",
    "lti/choose/<slug:state>/",
    "lti/link/<slug:state>/",
    "",
    "places/",
    "new/",
    "claim/<str:token>/",
    "recipe/",
    "labs/",
    "lite/<slug:template>/",
    "lite/lab/<slug:lab>/",
    "lite/incident/<slug:slug>/",
    "lite/recipe/",
    "labs/<slug:lab>/",
    "labs/exam/<slug:pack>/",
    "labs/<slug:lab>/example/",
    "labs/<slug:lab>/example.qvr",
    "first-steps/dismiss/",
    "fidelity/",
    "theme/",
    "incidents/",
    "incidents/<slug:slug>/",
    "language/",
    "accounts/login/",
    "accounts/logout/",
    "admin/login/",
    "admin/logout/",
    "admin/jsi18n/",
    "healthz",
    "healthz/live",
    "metrics",
    "api/",
    "api/openapi.json",
    "api/docs",
    "api/sandboxes",
    "v/<slug:secret>/",
    "v/<slug:secret>/recording.qvr",
    "e/<slug:secret>/recording.qvr",
    "e/<slug:secret>/<slug:part>/",
    "oembed",
    "v/<slug:secret>/fork/",
    "v/<slug:secret>/<path:rest>",
    "s/<slug:slug>/claims/",
    "s/<slug:slug>/claims/<slug:play>/",
    "s/<slug:slug>/compare/",
    "s/<slug:slug>/compare/<slug:play>/",
}
"""Anyone's: they lead to nothing that is someone's, or by a secret alone."""

NEEDS: dict[str, list[Ask]] = {
    "s/<slug:slug>/": SEE,
    "s/<slug:slug>/actions/": ACT,
    "s/<slug:slug>/ask/<slug:name>/": [Ask("GET", "see", {"name": "find-messages"}, {"topic": "orders"})],
    "s/<slug:slug>/part/runs/": SEE,
    "s/<slug:slug>/part/freshness/<str:job>/": [Ask("GET", "see", {"job": "latency"}, finds=False)],
    "s/<slug:slug>/part/<slug:name>/": [Ask("GET", "see", {"name": "locks"})],
    "s/<slug:slug>/keep/<slug:what>/": [
        Ask("POST", operation.verb, {"what": what}) for what, operation in OPERATIONS.items()
    ],
    "s/<slug:slug>/clients/<str:client>/": [Ask("GET", "see", {"client": "A"})],
    "s/<slug:slug>/messages/<str:id>/": [Ask("GET", "see", {"id": "0" * 32})],
    "s/<slug:slug>/branch/": [*SEE, Ask("POST", "see", body={"at": "1"})],
    "s/<slug:slug>/branching/": [*SEE, Ask("POST", "share")],
    "s/<slug:slug>/what-if/": [*SEE, Ask("POST", "see", body={"mode": "seeds", "claim": "none"})],
    "s/<slug:slug>/what-if/<slug:play>/": [Ask(method, "see", finds=False) for method in ("GET", "POST")],
    "s/<slug:slug>/what-if/<slug:play>/test.py": [Ask("GET", "see", finds=False)],
    "s/<slug:slug>/share/": [Ask("GET", "share"), Ask("POST", "share")],
    "s/<slug:slug>/share/links/": [Ask("GET", "share")],
    "s/<slug:slug>/share/lab/": [Ask("GET", "share")],
    "s/<slug:slug>/share/offline/": [Ask("POST", "share", body={"first": "1", "last": "0"})],
    "s/<slug:slug>/share/revoke/": [Ask("POST", "share", body={"link": "1"})],
    "s/<slug:slug>/audit/": SEE,
    "s/<slug:slug>/history/": SEE,
    "s/<slug:slug>/pipeline/": [*SEE, Ask("POST", "act", body={"job": "latency"})],
    "s/<slug:slug>/labs/<slug:lab>/": [
        Ask("GET", "see", {"lab": "pinned-offset"}, finds=False),
        Ask("POST", "act", {"lab": "pinned-offset"}, {"action": "TakeHint"}, finds=False),
    ],
    "s/<slug:slug>/labs/<slug:lab>/progress/": [Ask("POST", "see", {"lab": "pinned-offset"}, finds=False)],
    "s/<slug:slug>/<slug:tab>/": [Ask("GET", "see", {"tab": "groups"})],
    "k/<attached:slug>/": SEE,
    "k/<attached:slug>/actions/": ACT,
    "k/<attached:slug>/ask/<slug:name>/": [Ask("GET", "see", {"name": "find-messages"}, {"topic": "orders"})],
    "k/<attached:slug>/part/<slug:name>/": [Ask("GET", "see", {"name": "locks"})],
    "k/<attached:slug>/messages/<str:id>/": [Ask("GET", "see", {"id": "0" * 32})],
    "k/<attached:slug>/<slug:tab>/": [Ask("GET", "see", {"tab": "groups"})],
    "api/sandboxes/<slug:slug>": SEE,
    "api/sandboxes/<slug:slug>/actions": ACT,
    "api/sandboxes/<slug:slug>/branch": [Ask("POST", "see", body={"at": 1})],
    "api/sandboxes/<slug:slug>/events": SEE,
    "api/sandboxes/<slug:slug>/journal": SEE,
    "api/sandboxes/<slug:slug>/findings": SEE,
    "api/sandboxes/<slug:slug>/changes": [Ask("GET", "see")],
    "api/sandboxes/<slug:slug>/recording": [Ask("GET", "see")],
    "api/sandboxes/<slug:slug>/state": [Ask("GET", "see")],
    "api/sandboxes/<slug:slug>/stretches": [Ask("GET", "see")],
    "api/sandboxes/<slug:slug>/ask/<name>": [Ask("GET", "see", {"name": "find-messages"}, {"topic": "orders"})],
    "api/sandboxes/<slug:slug>/wake": [Ask("POST", "act")],
    "api/sandboxes/<slug:slug>/sleep": [Ask("POST", "act")],
    "api/sandboxes/<slug:slug>/listen": [Ask("POST", "share")],
    "api/sandboxes/<slug:slug>/unlisten": [Ask("POST", "share")],
    "api/sandboxes/<slug:slug>/keys": [Ask("POST", "share"), Ask("DELETE", "share")],
    "api/sandboxes/<slug:slug>/runs": [*SEE, Ask("POST", "act", body={"job": "latency"})],
    "api/sandboxes/<slug:slug>/runs/<run>": [*SEE, Ask("DELETE", "act")],
    "api/sandboxes/<slug:slug>/pipeline/<job>": RESULT,
    "api/sandboxes/<slug:slug>/pipeline/<job>/<table>": RESULT,
    "c/<slug:slug>/": SEE,
    "c/<slug:slug>/analytics/": GRADE,
    "c/<slug:slug>/live/": GRADE,
    "c/<slug:slug>/broadcast/": [Ask("POST", "grade", body={"kind": "freeze"})],
    "c/<slug:slug>/change/": [Ask("POST", "grade", body={"title": "x"})],
    "c/<slug:slug>/data/": [*SEE, Ask("POST", "see")],  # unconfirmed: the matrix goes on with them
    "c/<slug:slug>/data/export.zip": SEE,
    "c/<slug:slug>/delete/": [*GRADE, Ask("POST", "grade")],
    "c/<slug:slug>/students/<int:number>/data/": [
        Ask(method, "grade", {"number": "0"}, finds=False) for method in ("GET", "POST")
    ],
    "c/<slug:slug>/students/<int:number>/data/export.zip": [Ask("GET", "grade", {"number": "0"}, finds=False)],
    "c/<slug:slug>/hand/": [Ask("POST", "see", body={"do": "down"})],
    "c/<slug:slug>/labs/<slug:lab>/": [Ask("POST", "see", {"lab": "orderly-lock"}, finds=False)],
    "c/<slug:slug>/labs/<slug:lab>/browser/": [Ask("GET", "see", {"lab": "orderly-lock"}, finds=False)],
    "c/<slug:slug>/lobby/": [Ask("POST", "grade", body={"state": "closed"})],
    "c/<slug:slug>/lti/": [*GRADE, Ask("POST", "grade", body={"do": "unlink", "link": "0"}, finds=False)],
    "c/<slug:slug>/lti/resend/": [Ask("POST", "see", body={"lab": "orderly-lock"}, finds=False)],
    "c/<slug:slug>/pace/": [Ask("POST", "grade", body={"lab": "pinned-offset", "step": "1"})],
    "c/<slug:slug>/poll/": SEE,
    "c/<slug:slug>/poll/band/": [Ask("GET", "see", finds=False)],  # no teacher has a vote
    "c/<slug:slug>/poll/ask/": [Ask("POST", "grade", body={"question": "x"})],
    "c/<slug:slug>/poll/<int:number>/step/": [Ask("POST", "grade", {"number": "1"}, {"to": "hidden"})],
    "c/<slug:slug>/poll/<int:number>/run/": [Ask("POST", "grade", {"number": "1"})],
    "c/<slug:slug>/poll/<int:number>/vote/": [Ask("POST", "see", {"number": "1"}, {"round": "1", "answer": "0"})],
    "c/<slug:slug>/results/": GRADE,
    "c/<slug:slug>/results/release/": [Ask("POST", "grade")],
    "c/<slug:slug>/results/publish/": [Ask("POST", "grade", body={"regrade": "0"})],
    "c/<slug:slug>/results/<int:number>/results.json": [Ask("GET", "grade", {"number": "0"}, finds=False)],
    "c/<slug:slug>/results/<int:number>/<slug:lab>/results.json": [
        Ask("GET", "grade", {"number": "0", "lab": "orderly-lock"}, finds=False)
    ],
    "c/<slug:slug>/results/<str:name>": [Ask("GET", "grade", {"name": "grades.csv"})],
    "c/<slug:slug>/runs/": [Ask("POST", "grade", body={"job": "none"})],
    "c/<slug:slug>/runs/<str:job>/": [Ask("GET", "grade", {"job": "grading"})],
    "c/<slug:slug>/roster/": [*GRADE, Ask("POST", "grade")],
    "c/<slug:slug>/students/<int:number>/": [
        Ask("POST", "grade", {"number": "0"}, {"do": what, "note": "x"}, finds=False) for what in ("remove", "note")
    ],
    "api/clusters/<slug:name>": SEE,
    "api/clusters/<slug:name>/actions": ACT,
    "api/clusters/<slug:name>/events": SEE,
    "api/clusters/<slug:name>/journal": SEE,
    "api/clusters/<slug:name>/findings": SEE,
    "api/clusters/<slug:name>/ask/<question>": [Ask("GET", "see", {"question": "find-messages"}, {"topic": "orders"})],
}

BEHIND_LINKS = {
    f"s/<slug:slug>/{rest}"
    for rest in (
        "",
        "ask/<slug:name>/",
        "part/freshness/<str:job>/",
        "part/<slug:name>/",
        "clients/<str:client>/",
        "messages/<str:id>/",
        "audit/",
        "history/",
        "<slug:tab>/",
    )
} | {f"api/sandboxes/<slug:slug>/{rest}" for rest in ("events", "journal", "changes", "state", "ask/<name>")}
"""What a live link leads to, all of it only with GET."""


def every() -> list[str]:
    """All routes, as the URLconf spells them; each once."""
    return list(dict.fromkeys(_walk(get_resolver().url_patterns)))


def _walk(patterns: list[Any], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        here = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, here)
        elif isinstance(pattern, URLPattern):
            yield here


def is_of_admin(route: str) -> bool:
    return route.startswith(ADMIN)


def address(route: str, **values: str) -> str:
    """Its path with its parameters filled in; those of the admin's lead to the first row."""
    return "/" + PARAMETER.sub(lambda found: values.get(found[1], "1"), route).replace("(?P<url>.*)$", "x")


def body_of(ask: Ask) -> dict[str, Any]:
    """Its action with every field it needs, and the confirmation a reset of a real cluster wants."""
    if ask.body is None or "action" not in ask.body:
        return ask.body or {}
    kind = ACTIONS[ask.body["action"]]
    needed = [spec for spec in fields(kind) if spec.default is MISSING or spec.name == "confirm"]
    return ask.body | {spec.name: FIELDS.get(spec.name, 1 if spec.type in ("int", int) else "x") for spec in needed}
