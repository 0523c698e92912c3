"""Retention of courses: a course is kept until 90 days after its end, with its students and all their work."""

import logging
from datetime import datetime, timedelta

from django.db.models import Max, Q, QuerySet
from django.utils import timezone

from queueviz.access.policy import COURSE_LIFE
from queueviz.access.visitor import Visitor
from queueviz.courses import deletion
from queueviz.courses.models import Course
from sandbox.kernel.errors import ActionRefused, SandboxError

log = logging.getLogger(__name__)

SWEPT_STUDENTS = 20  # at once: each deletion takes the engine's time
ANNOUNCED = timedelta(days=30)  # before the deletion, on the page of the course


def ended_at(course: Course) -> datetime:
    """Return the course's due date; without one, the time of its last activity."""
    if course.due_at is not None:
        return course.due_at
    times = course.enrolments.aggregate(joined=Max("joined_at"), seen=Max("seen_at"))
    visited = course.sandboxes.aggregate(visited=Max("visited_at"))
    latest: datetime = max(at for at in (course.created_at, *times.values(), *visited.values()) if at is not None)
    return latest


def kept_until(course: Course) -> datetime:
    return ended_at(course) + COURSE_LIFE


def demand_kept(due_at: datetime | None) -> None:
    """Raise ActionRefused (422) for a due date with which the course would be deleted at once."""
    if due_at is not None and due_at + COURSE_LIFE < timezone.now():
        raise ActionRefused(
            422,
            "A course is deleted {days} days after its due date.",
            "Choose a later date.",
            field="due_at",
            days=COURSE_LIFE.days,
        )


def over(now: datetime | None = None) -> QuerySet[Course]:
    """Return the courses past their retention, the oldest first."""
    since = (now or timezone.now()) - COURSE_LIFE
    active = Course.objects.filter(
        Q(enrolments__joined_at__gte=since) | Q(enrolments__seen_at__gte=since) | Q(sandboxes__visited_at__gte=since)
    ).values("pk")
    idle = Q(due_at__isnull=True, created_at__lt=since) & ~Q(pk__in=active)
    return Course.objects.filter(Q(due_at__lt=since) | idle).order_by("created_at")


def announced(course: Course, now: datetime | None = None) -> datetime | None:
    """Return when the course is deleted, if that is soon; else None."""
    until = kept_until(course)
    return until if until - (now or timezone.now()) <= ANNOUNCED else None


def sweep() -> None:
    """Delete the courses past their retention, a few students at a time.  The timer of the server calls this.

    A deletion that fails is tried again with the next call, and does not keep the other courses.
    """
    left = SWEPT_STUDENTS
    for course in over():
        try:
            left -= _sweep(course, left)
        except SandboxError as error:
            log.warning("a course that is over could not be deleted: %s", error)
        if left <= 0:
            return


def _sweep(course: Course, most: int) -> int:
    """Delete up to `most` students, and after the last one the course; return the number of deleted students."""
    students = list(course.enrolments.select_related("course").order_by("pk")[:most])
    for enrolment in students:
        deletion.forget(Visitor(), enrolment)
    if not course.enrolments.exists():
        deletion.forget_course(Visitor(), course)
    return len(students)
