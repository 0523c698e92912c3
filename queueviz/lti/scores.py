"""Scores to send to platforms.

A row has the score that a line item has; the Submission has the score it should have.  If they differ, the row is
due.  So no change of a score must be announced, not even after a restart, and no change is lost.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import requests
from django.db.models import (
    BooleanField,
    Case,
    F,
    OuterRef,
    PositiveSmallIntegerField,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.utils import timezone
from pylti1p3.assignments_grades import AssignmentsGradesService
from pylti1p3.exception import LtiException, LtiServiceException
from pylti1p3.grade import Grade

from queueviz.access.rate_limits import Rate
from queueviz.courses import releases
from queueviz.courses.models import Enrolment, Submission
from queueviz.lti import sealed_secrets
from queueviz.lti.claims import SCORE
from queueviz.lti.models import LtiPlatform, LtiScore, LtiSeat
from queueviz.lti.registered import Connector, may_ask
from sandbox.kernel.errors import ActionRefused

log = logging.getLogger(__name__)

FIRST_PAUSE = timedelta(seconds=30)  # after the first try in vain; doubled each time
MOST_PAUSE = timedelta(hours=6)
MOST_TRIES = 16  # about two days; then a score is only sent on request
LEASE = timedelta(minutes=5)  # of the process that sends: others skip the row for this time
SENT_PER_TURN = 60
MOST_LINE_ITEMS = 120  # of one learner: each lab, a few times over
FULL_SCORE = 100
RESENDS = Rate(1 / 30, 4, what="resent scores")
WHY = frozenset({"unreachable", "refused", "address", "secret"})


class Sent(NamedTuple):
    """The result of one try.  `why`: a code of `WHY`; empty: the score arrived."""

    why: str
    status: int | None = None


def subscribe(seat: LtiSeat, lab: str, line_item: str) -> None:
    """Send this learner's score in this lab to the line item from now on."""
    if seat.scores.filter(lab=lab, line_item=line_item).exists() or seat.scores.count() >= MOST_LINE_ITEMS:
        return
    LtiScore.objects.get_or_create(seat=seat, lab=lab, line_item=line_item)


def differing() -> QuerySet[LtiScore, Any]:
    """Return the rows whose line item does not have the Submission's current `score` and `finished`."""
    work = Submission.objects.filter(enrolment=OuterRef("seat__enrolment"), lab=OuterRef("lab"))
    rows = LtiScore.objects.annotate(
        score=Subquery(work.values("score")[:1], output_field=PositiveSmallIntegerField()),
        finished=Case(When(Q(pk__in=_finished()), then=Value(True)), default=Value(False), output_field=BooleanField()),
    )
    nothing_yet = Q(score=0, finished=False, sent_score__isnull=True)
    same = Q(sent_score__isnull=False, score=F("sent_score"), finished=F("sent_finished"))
    return rows.filter(score__isnull=False).exclude(nothing_yet).exclude(same)


def _finished() -> QuerySet[LtiScore, Any]:
    return LtiScore.objects.filter(
        seat__enrolment__submissions__lab=F("lab"), seat__enrolment__submissions__finished_at__isnull=False
    ).values("pk")


def due(now: datetime) -> QuerySet[LtiScore, Any]:
    """Return the rows to send now, the oldest first.

    If a course releases scores later, its platform gets them later.
    """
    rows = differing().filter(
        seat__enrolment__course__in=releases.released(now),
        due_at__lte=now,
        tries__lt=MOST_TRIES,
        seat__enrolment__removed_at__isnull=True,
    )
    return rows.select_related("seat__platform").order_by("due_at", "pk")


def turn(now: Callable[[], datetime] = timezone.now) -> int:
    """Send the scores that are due; return how many arrived.

    A platform that cannot be reached is tried once per turn.
    """
    arrived, lost = 0, set[int]()
    connectors: dict[int, Connector] = {}
    for row in due(now())[:SENT_PER_TURN]:
        platform = row.seat.platform
        if platform.pk in lost or not _take(row, now()):
            continue
        if platform.pk not in connectors:
            connectors[platform.pk] = Connector(platform)
        came = send(row, platform, connectors[platform.pk], now())
        arrived += not came.why
        if came.why == "unreachable":
            lost.add(platform.pk)
            waiting = LtiScore.objects.filter(seat__platform=platform, due_at__lte=now())
            waiting.update(due_at=now() + FIRST_PAUSE)
    return arrived


def _take(row: LtiScore, now: datetime) -> bool:
    """Reserve the row for this process; return True on success.

    If the process ends, the row is due again after the lease.
    """
    return bool(LtiScore.objects.filter(pk=row.pk, due_at=row.due_at).update(due_at=now + LEASE))


def send(row: Any, platform: LtiPlatform, connector: Connector, now: datetime) -> Sent:
    """Try once to send a score and record the result in the row.  `row` is one of `differing`."""
    came = _send(row, platform, connector, now)
    if not came.why:
        values: dict[str, object] = {
            "sent_score": row.score,
            "sent_finished": row.finished,
            "sent_at": now,
            "tries": 0,
            "due_at": now,
        }
    else:
        pause = min(MOST_PAUSE, FIRST_PAUSE * 2**row.tries)
        values = {"tries": row.tries + 1, "due_at": now + pause}
        log.info("score %d did not arrive at platform %d: %s %s", row.pk, platform.pk, came.why, came.status or "")
    LtiScore.objects.filter(pk=row.pk).update(why=came.why, status=came.status, **values)
    return came


def _send(row: Any, platform: LtiPlatform, connector: Connector, now: datetime) -> Sent:
    user = sealed_secrets.opened(row.seat.user_sealed)
    if user is None:
        return Sent("secret")
    if not may_ask(platform, row.line_item):
        return Sent("address")
    grade = Grade().set_score_given(row.score).set_score_maximum(FULL_SCORE).set_user_id(user)
    grade.set_timestamp(now).set_grading_progress("FullyGraded")
    grade.set_activity_progress("Completed" if row.finished else "InProgress")
    service = AssignmentsGradesService(connector, {"scope": [SCORE], "lineitem": row.line_item})
    try:
        service.put_grade(grade)
    except LtiServiceException as error:
        return Sent("refused", error.response.status_code)
    except requests.exceptions.RequestException:
        return Sent("unreachable")
    except (LtiException, AttributeError, KeyError, TypeError, ValueError):  # an answer of another shape
        return Sent("refused")
    return Sent("")


class Status(NamedTuple):
    """The delivery status of one lab's score, for its student.

    `state`: none, sent, waiting, held, failed.  `why`, `status`: as in the rows.  `score`: the score the LMS has;
    None: nothing, or the course does not show it now.
    """

    state: str
    score: int | None
    sent_at: datetime | None
    why: str
    status: int | None


def statuses(enrolment: Enrolment) -> dict[str, Status]:
    """Return the delivery status by lab; of several line items the worst one.  Empty: no LMS expects a score."""
    now = timezone.now()
    late = {row.pk for row in differing().filter(seat__enrolment=enrolment)}
    may = set(due(now + MOST_PAUSE).filter(seat__enrolment=enrolment).values_list("pk", flat=True))
    by_lab: dict[str, Status] = {}
    shows = releases.is_released(enrolment.course, now)
    for row in LtiScore.objects.filter(seat__enrolment=enrolment).order_by("pk"):
        if row.pk not in late:
            state = "none" if row.sent_score is None else "sent"
        elif row.tries >= MOST_TRIES:
            state = "failed"
        else:
            state = "waiting" if row.pk in may else "held"
        status = Status(state, row.sent_score if shows else None, row.sent_at, row.why, row.status)
        if row.lab not in by_lab or ORDER.index(state) > ORDER.index(by_lab[row.lab].state):
            by_lab[row.lab] = status
    return by_lab


ORDER = ("none", "sent", "held", "waiting", "failed")


def resend(enrolment: Enrolment, lab: str) -> None:
    """Send the scores of a lab again at the next turn, also delivered ones: a platform may have lost them.

    Raises ActionRefused (404, 429).
    """
    rows = LtiScore.objects.filter(seat__enrolment=enrolment, lab=lab)
    if not rows.exists():
        raise ActionRefused(404, "No LMS expects a score of this lab.", "Open the lab from your LMS first.")
    RESENDS.demand(str(enrolment.pk))
    rows.update(sent_score=None, tries=0, due_at=timezone.now())
