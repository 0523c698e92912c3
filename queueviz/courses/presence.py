"""Presence of students: whether a student's page is open, and whether the student asks for the teacher."""

from collections.abc import Collection
from datetime import timedelta

from django.utils import timezone

from queueviz.access.rate_limits import Rate
from queueviz.access.visitor import Visitor
from queueviz.courses.course_access import digests_of, place_in
from queueviz.courses.models import Course, Enrolment

NOTED_EVERY = timedelta(seconds=10)  # a page says every five seconds that it is there
QUESTION_CHARS = 140
HANDS = Rate(0.5, 10, what="hands")  # of one student


def note(visitor: Visitor) -> None:
    """Record that a page of this browser's student is open now, in all courses of the browser."""
    digests = digests_of(visitor)
    if not digests:
        return
    now = timezone.now()
    enrolments = Enrolment.objects.filter(digest__in=digests, removed_at__isnull=True)
    enrolments.filter(seen_at__isnull=True).update(seen_at=now)
    enrolments.filter(seen_at__lt=now - NOTED_EVERY).update(seen_at=now)


def note_all(enrolments: Collection[int]) -> None:
    """Record that these students' pages are open now."""
    Enrolment.objects.filter(pk__in=enrolments).update(seen_at=timezone.now())


def ask(enrolment: Enrolment, question: str) -> None:
    """Raise the student's hand, with or without a question.  A repeated call keeps the time of the first.

    Raises ActionRefused (429).
    """
    HANDS.demand(str(enrolment.pk))
    enrolment.question = " ".join(question.split())[:QUESTION_CHARS]
    enrolment.asks_since = enrolment.asks_since or timezone.now()
    enrolment.save(update_fields=["question", "asks_since"])


def lower(enrolment: Enrolment) -> None:
    enrolment.question, enrolment.asks_since = "", None
    enrolment.save(update_fields=["question", "asks_since"])


def asks(visitor: Visitor, course: Course) -> bool | None:
    """Return True if the visitor's own hand is raised.  None: the visitor is not a student of this course."""
    enrolment = place_in(visitor, course)
    return None if enrolment is None else enrolment.asks_since is not None


def hands(course: Course) -> list[Enrolment]:
    """Return the students with a raised hand, the longest wait first."""
    return list(course.enrolments.filter(asks_since__isnull=False, removed_at__isnull=True).order_by("asks_since"))
