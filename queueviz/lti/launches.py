"""Processing of a valid launch.

The launch comes as a form from another site, without the browser's session.  So it is only stored as a row.  The
browser is then redirected to an address of this server, with its session, the state and the cookie.
"""

from datetime import timedelta

from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils import timezone

from queueviz.access.digests import digest
from queueviz.access.policy import NotFound
from queueviz.access.visitor import Visitor
from queueviz.courses.course_access import visit_course
from queueviz.courses.models import Course
from queueviz.lti import cookies, scores, sealed_secrets, seats
from queueviz.lti.messages import Verified
from queueviz.lti.models import LtiContext, LtiLaunch, LtiSeat
from queueviz.lti.registered import may_ask
from sandbox.kernel.errors import ActionRefused

KEPT = timedelta(hours=1)  # longer than a browser keeps its cookie: a nonce is known until no one can use it
Kind = LtiLaunch.Kind


def receive(verified: Verified) -> LtiLaunch:
    """Store a verified launch, once, and enrol its learner.

    Raises ActionRefused: 400 no course, 403, 409 it was used already, or the course has no place.
    """
    LtiLaunch.objects.filter(made_at__lt=timezone.now() - KEPT).delete()
    claimed, platform = verified.claims, verified.platform
    kind = Kind.DEEP_LINK if claimed.settings is not None else Kind.INSTRUCTOR if claimed.teaches else Kind.LEARNER
    if (kind == Kind.DEEP_LINK and not claimed.teaches) or (kind == Kind.LEARNER and not claimed.learns):
        raise ActionRefused(
            403,
            "Your role in this course of your LMS has no access here.",
            "Only learners and instructors have access.",
        )
    if not claimed.context:
        raise ActionRefused(400, "Your LMS does not report which course this is.", "Ask the administrator of your LMS.")
    claims = (
        {}
        if kind == Kind.LEARNER
        else {
            "deployment": claimed.deployment,
            "context": claimed.context,
            "title": claimed.title,
            "settings": claimed.settings,
            "memberships_url": claimed.memberships_url,
        }
    )
    try:
        with transaction.atomic():
            launch = LtiLaunch.objects.create(
                platform=platform,
                kind=kind,
                claims=claims,
                lab=claimed.lab,
                state_digest=digest(verified.begun.state),
                nonce_digest=sealed_secrets.keyed("lti nonce", platform.pk, verified.begun.nonce),
            )
    except IntegrityError:
        raise ActionRefused(409, "This launch was already used.", "Open the link in your LMS again.") from None
    if kind == Kind.LEARNER:
        launch.seat = _seat(verified)
        launch.save(update_fields=["seat"])
    elif (link := link_of(launch)) is not None:
        _note(link, launch)
    return launch


def of_browser(request: HttpRequest, state: str) -> LtiLaunch:
    """Return the launch with this state, if this browser began it.  Raises NotFound."""
    launch = LtiLaunch.objects.filter(state_digest=digest(state)).select_related("platform", "seat__enrolment__course")
    stored = launch.first() if cookies.begun(request, state) is not None else None
    if stored is None:
        raise NotFound("This launch was not started in this browser, or it is expired.")
    return stored


def enter(launch: LtiLaunch) -> LtiSeat:
    """Return the seat of a learner's launch, once.  Raises ActionRefused (409) the next time.

    So another person cannot enter through this browser's history.
    """
    assert launch.seat is not None
    if not LtiLaunch.objects.filter(pk=launch.pk, entered_at__isnull=True).update(entered_at=timezone.now()):
        raise ActionRefused(409, "This launch was already used.", "Open the link in your LMS again.")
    return launch.seat


def link_of(launch: LtiLaunch) -> LtiContext | None:
    return (
        LtiContext.objects.filter(
            platform=launch.platform, deployment=launch.claims["deployment"], context=launch.claims["context"]
        )
        .select_related("course")
        .first()
    )


def link(visitor: Visitor, launch: LtiLaunch, slug: str) -> Course:
    """Link the LMS course of an instructor's launch to a course that the visitor teaches, and return that course.

    Raises NotFound or Forbidden, ActionRefused (409) if it is linked.
    """
    if launch.kind != Kind.INSTRUCTOR:
        raise NotFound("This launch was not started in this browser, or it is expired.")
    course = visit_course(visitor, slug, "grade").course
    claims = launch.claims
    try:
        with transaction.atomic():
            made = LtiContext.objects.create(
                platform=launch.platform,
                deployment=claims["deployment"],
                context=claims["context"],
                title=claims["title"],
                course=course,
            )
    except IntegrityError:
        raise ActionRefused(
            409,
            "This course of your LMS is already linked.",
            "The teacher of the linked course can unlink the LMS course on the page of that course.",
        ) from None
    _note(made, launch)
    return course


def _note(link: LtiContext, launch: LtiLaunch) -> None:
    """Record the address of the roster and the title from an instructor's newest launch."""
    address = launch.claims["memberships_url"]
    link.memberships_url = address if may_ask(launch.platform, address) else ""
    link.title = launch.claims["title"] or link.title
    link.save(update_fields=["memberships_url", "title"])


def _seat(verified: Verified) -> LtiSeat:
    claims, platform = verified.claims, verified.platform
    contexts = LtiContext.objects.filter(platform=platform, deployment=claims.deployment, context=claims.context)
    context = contexts.select_related("course").first()
    if context is None:
        raise ActionRefused(
            409,
            "This course of your LMS is not linked to a course here yet.",
            "The teacher opens the link in the LMS once, signs in and chooses a course.",
        )
    if not claims.user:
        raise ActionRefused(
            400, "Your LMS does not report which learner this is.", "Ask the administrator of your LMS."
        )
    seat = seats.seat_of(platform, context.course, claims.user)
    if claims.lab and may_ask(platform, claims.line_item):
        seats.keep_user(seat, claims.user)
        scores.subscribe(seat, claims.lab, claims.line_item)
    return seat
