"""Names of students from the LMS, at the teacher's request, only of members that are enrolled here."""

from typing import Any, NamedTuple

import requests
from pylti1p3.exception import LtiException
from pylti1p3.names_roles import NamesRolesProvisioningService

from queueviz.courses.models import Enrolment
from queueviz.courses.teaching import NAME_CHARS
from queueviz.lti import seats
from queueviz.lti.models import LtiContext, LtiSeat
from queueviz.lti.registered import Connector, may_ask
from sandbox.kernel.errors import ActionRefused

MOST_PAGES = 20
MOST_MEMBERS = 1000


class Named(NamedTuple):
    """The result of a fetch.

    `named`: enrolled members.  `elsewhere`: members that are not enrolled here; their data is not stored.
    """

    named: int
    elsewhere: int


def fetch(link: LtiContext) -> Named:
    """Read the roster of the LMS and set the names of the enrolled students.

    Raises ActionRefused: 409 the platform offers no roster, 502 it did not return one.
    """
    if not link.memberships_url or not may_ask(link.platform, link.memberships_url):
        raise ActionRefused(
            409,
            "This LMS offers no roster here.",
            "In your LMS, turn on names and roles for this tool, and open the link of the tool again.",
        )
    try:
        members = _members(link)
    except (requests.exceptions.RequestException, LtiException, AttributeError, KeyError, TypeError, ValueError):
        raise ActionRefused(502, "Your LMS did not return its roster.", "Try again in a moment.") from None
    names = {seats.digest_of(link.platform, link.course, member["user_id"]): member["name"] for member in members}
    named = list(LtiSeat.objects.filter(user_digest__in=names).select_related("enrolment"))
    for seat in named:
        seat.enrolment.name = names[seat.user_digest]
    Enrolment.objects.bulk_update([seat.enrolment for seat in named], ["name"])
    return Named(len(named), len(names) - len(named))


def _members(link: LtiContext) -> list[dict[str, str]]:
    """Return the members with an id and a name, as many as the limits allow."""
    service = NamesRolesProvisioningService(Connector(link.platform), {"context_memberships_url": link.memberships_url})
    members: list[dict[str, str]] = []
    address: str | None = link.memberships_url
    for _ in range(MOST_PAGES):
        page, address = service.get_members_page(address)
        members += [named for row in page if (named := _named(row)) is not None]
        if not address or len(members) >= MOST_MEMBERS:
            break
    return members[:MOST_MEMBERS]


def _named(member: Any) -> dict[str, str] | None:
    user, name = member.get("user_id"), member.get("name")
    if name is None:
        name = " ".join(part for part in (member.get("given_name"), member.get("family_name")) if part)
    if not isinstance(user, str) or not isinstance(name, str):
        return None
    shown = " ".join("".join(char if char.isprintable() else " " for char in name).split())[:NAME_CHARS]
    return {"user_id": user, "name": shown} if user and shown else None
