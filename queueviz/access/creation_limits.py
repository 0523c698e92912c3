"""Limits on the sandboxes started within an hour, per visitor, per address and per course.

Creations are counted in the audit, by keyed hashes.  A class has one address, so its members are counted by their
course.  The limit of an address is above what a room of sixty needs: a rate applies after its first sixty newcomers.
Accounts have no hourly limit.
"""

from datetime import timedelta
from math import ceil
from typing import NamedTuple

from django.utils import timezone

from queueviz.access import policy
from queueviz.access.rate_limits import Rate
from queueviz.access.visitor import Visitor, counting_key
from queueviz.courses.course_access import digests_of
from queueviz.courses.models import Course, Enrolment
from queueviz.models import AuditRecord
from sandbox.control.limits import HostLimits
from sandbox.kernel.errors import ActionRefused

LIMITS = HostLimits()
HOUR = timedelta(hours=1)
CREATE = "create"  # in the audit
SIGN_IN = "You can start the next one in {minutes} min, or now if you sign in."
NEWCOMERS = Rate(0.5, 60, what="sandbox starts")  # of one address, by browsers that are not known yet
OF_ADDRESS = "address:"  # prefix of `policy.counted_as` for a visitor without session and token


class Counted(NamedTuple):
    """The keys under which a creation is counted; an empty field counts nothing.

    `course`: the course whose key `origin` is, if any.
    """

    visitor: str
    origin: str
    course: Course | None


def counted(visitor: Visitor, course: Course | None = None) -> Counted:
    """Return the keys under which a creation by this visitor is counted.

    `course`: the course the sandbox is for; without it, the newest course of which the visitor is a member.
    """
    if course is None and visitor.is_signed_in:
        return Counted("", "", None)
    course = course or _course_of(visitor)
    name = policy.counted_as(visitor)
    return Counted(
        "" if name.startswith(OF_ADDRESS) else counting_key(name),
        visitor.origin if course is None else counting_key(f"course {course.pk}"),
        course,
    )


def demand(by: Counted) -> None:
    """Raise ActionRefused (429) if one more creation exceeds a limit.  The refusal names the earliest time for it."""
    if by.visitor:
        _demand(
            LIMITS.creations_per_hour_per_visitor,
            "You started {made} sandboxes within an hour.",
            SIGN_IN,
            visitor=by.visitor,
        )
    if by.course is not None:
        _demand(
            LIMITS.creations_per_hour_per_course,
            "Your course started {made} sandboxes within an hour.",
            "You can start the next one in {minutes} min.",
            origin=by.origin,
        )
    elif by.origin:
        _demand(
            LIMITS.creations_per_hour_per_address,
            "Your address started {made} sandboxes within an hour.",
            SIGN_IN,
            origin=by.origin,
        )
        if not by.visitor:
            NEWCOMERS.demand(by.origin)


def _demand(most: int, text: str, hint: str, **field: str) -> None:
    now = timezone.now()
    newest = AuditRecord.objects.filter(what=CREATE, at__gt=now - HOUR, **field).order_by("-at")
    oldest = newest.values_list("at", flat=True)[most - 1 : most].first()
    if oldest is not None:
        minutes = ceil((oldest + HOUR - now).total_seconds() / 60)
        raise ActionRefused(429, text, hint, made=most, minutes=max(1, minutes))


def _course_of(visitor: Visitor) -> Course | None:
    places = Enrolment.objects.filter(digest__in=digests_of(visitor), removed_at__isnull=True)
    enrolment = places.select_related("course").order_by("-pk").first()
    return None if enrolment is None else enrolment.course
