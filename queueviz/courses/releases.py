"""The rule when students see their scores, for pages, the API, live channels, jobs and files.

Before the release, the score of a lab is withheld from all visitors without the right to grade.  A step's solution,
and the result of a prediction, are shown at once, because labs teach with them.
"""

from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone

from queueviz.courses.models import Course
from sandbox.kernel.errors import ActionRefused

AT_ONCE, AT_END = Course.Feedback.AT_ONCE, Course.Feedback.AT_END


def is_released(course: Course, now: datetime | None = None) -> bool:
    """Return True if students see their scores."""
    now = now or timezone.now()
    if course.feedback == AT_ONCE or _is_past(course.released_at, now):
        return True
    return course.feedback == AT_END and _is_past(course.due_at, now)


def released(now: datetime) -> QuerySet[Course]:
    """Return the courses whose scores are released (`is_released`)."""
    return Course.objects.filter(Q(feedback=AT_ONCE) | Q(released_at__lte=now) | Q(feedback=AT_END, due_at__lte=now))


def release(course: Course) -> None:
    """Release the scores now and for good.  A repeated call keeps the first time."""
    if course.released_at is None:
        course.released_at = timezone.now()
        course.save(update_fields=["released_at"])


def withheld() -> ActionRefused:
    """Return the refusal of a request that would show scores."""
    return ActionRefused(
        409, "The scores of this course are not released yet.", "Ask the teacher to release the scores."
    )


def _is_past(at: datetime | None, now: datetime) -> bool:
    return at is not None and at <= now
