"""The claims of a launch that are used here.  All others are ignored, among them names and addresses of people."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from pylti1p3.roles import StudentRole, TeacherRole

from queueviz.lti.models import ADDRESS_CHARS, ID_CHARS, NAME_CHARS
from sandbox.kernel.errors import ActionRefused

CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
AGS = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
NRPS = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"
SETTINGS = "https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings"
SCORE: Final = "https://purl.imsglobal.org/spec/lti-ags/scope/score"
MOST_ROLES = 50
DEEP_LINK = "LtiDeepLinkingRequest"
LAB = "lab"  # the custom parameter that we gave at deep linking


class Claims(NamedTuple):
    """The used claims of a launch.

    `user`: the platform's user id; empty: not reported.  `line_item`: the address for this learner's score.
    """

    user: str
    deployment: str
    context: str
    title: str
    lab: str
    line_item: str
    memberships_url: str
    teaches: bool
    learns: bool
    settings: dict[str, object] | None  # of deep linking; None: it is none


def read(body: Mapping[str, object]) -> Claims:
    """Return the claims of a message with a valid signature.  Raises ActionRefused (400) for a malformed claim."""
    roles = body.get(f"{CLAIM}roles", [])
    if not isinstance(roles, list) or len(roles) > MOST_ROLES or not all(isinstance(role, str) for role in roles):
        raise _odd("roles")
    context, custom, service = (_table(body, name) for name in (f"{CLAIM}context", f"{CLAIM}custom", AGS))
    scopes = service.get("scope")
    may_score = isinstance(scopes, list | str) and SCORE in scopes
    settings = _table(body, SETTINGS) if body.get(f"{CLAIM}message_type") == DEEP_LINK else None
    return Claims(
        user=_text(body, "sub", ID_CHARS),
        deployment=_text(body, f"{CLAIM}deployment_id", ID_CHARS),
        context=_text(context, "id", ID_CHARS),
        title=_shown(context.get("title") or context.get("label")),
        lab=_text(custom, LAB, 48),
        line_item=_text(service, "lineitem", ADDRESS_CHARS) if may_score else "",
        memberships_url=_text(_table(body, NRPS), "context_memberships_url", ADDRESS_CHARS),
        teaches=TeacherRole(body).check(),
        learns=StudentRole(body).check(),
        settings=settings,
    )


def _table(body: Mapping[str, object], name: str) -> dict[str, object]:
    value = body.get(name) or {}
    if not isinstance(value, dict):
        raise _odd(name)
    return value


def _text(table: Mapping[str, object], name: str, most: int) -> str:
    value = table.get(name) or ""
    if not isinstance(value, str) or len(value) > most or not value.isprintable():
        raise _odd(name)
    return value


def _shown(title: object) -> str:
    """Return the title for display.  An odd title is cut and cleaned rather than refused."""
    text = "".join(char if char.isprintable() else " " for char in title) if isinstance(title, str) else ""
    return " ".join(text.split())[:NAME_CHARS]


def _odd(name: str) -> ActionRefused:
    return ActionRefused(
        400,
        "The data from your LMS is not valid: {claim}.",
        "Contact the administrator of your LMS.",
        claim=name.rsplit("/", 1)[-1],
    )
