"""Deadlines of student work: the course's date, or a later one for a student with more time.

The factor multiplies the time from the student's joining to the date.  So it works for an hour's class as for a
week's work.  What outages added (`outages`) is not multiplied.

An answer received in time keeps its receipt, however late the client repeats its request.
"""

from datetime import datetime, timedelta

from django.utils import timezone

from queueviz import engine
from queueviz.courses.models import Enrolment, Submission
from queueviz.models import Sandbox
from sandbox.control.actions import Action, AnswerStep
from sandbox.kernel.errors import ActionRefused


def due_of(enrolment: Enrolment) -> datetime | None:
    """Return the student's deadline, or None if the course has no date.

    A student who joined after the date gets no extra time.
    """
    due_at = enrolment.course.due_at
    if due_at is None or due_at <= enrolment.joined_at:
        return due_at
    moved = timedelta(minutes=enrolment.course.moved_min)
    own = enrolment.joined_at + (due_at - moved - enrolment.joined_at) * enrolment.time_factor + moved
    return max(due_at, own + timedelta(minutes=enrolment.moved_min))


def is_over(enrolment: Enrolment) -> bool:
    due_at = due_of(enrolment)
    return due_at is not None and due_at < timezone.now()


def demand(enrolment: Enrolment) -> None:
    """Raise ActionRefused (409) if the student's deadline has passed."""
    due_at = due_of(enrolment)
    if due_at is not None and due_at < timezone.now():
        raise ActionRefused(
            409,
            "This course was due on {at}.",
            "Ask the teacher for more time.",
            at=due_at.strftime("%Y-%m-%d %H:%M UTC"),
        )


def check(sandbox: Sandbox, action: Action) -> None:
    """Check the deadline for an action in the sandbox of a student.

    Time actions have no deadline.  Raises ActionRefused (409), but not for an answer that was received before and is
    sent again.
    """
    if action.verb == "time":
        return
    submission = Submission.objects.filter(sandbox=sandbox).select_related("enrolment__course").first()
    if submission is not None and is_over(submission.enrolment) and not _has_come(sandbox, action):
        demand(submission.enrolment)


def _has_come(sandbox: Sandbox, action: Action) -> bool:
    if not isinstance(action, AnswerStep) or not action.key:
        return False
    row = engine.lab_of(sandbox.slug)
    return row is not None and any(receipt["key"] == action.key for receipt in row["receipts"])
