"""The pace of a course in its labs: students may work up to the step that the teacher has opened."""

from typing import NamedTuple

from django.utils.translation import gettext

from queueviz.access.database_limits import one_at_a_time
from queueviz.courses.models import Course
from queueviz.models import Cluster, Sandbox
from sandbox.control.actions import Action, AnswerStep, TakeHint
from sandbox.control.rights import Role
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS
from sandbox.labs.lab import Lab


class PaceRow(NamedTuple):
    """The open part of a lab.

    `until`: the last open step; None: no limit is set.  `next`: the step that opens next; None: all are open.
    """

    lab: Lab
    title: str
    until: int | None
    steps: range
    next: int | None


def unlock(course: Course, lab: str, step: int | None) -> None:
    """Open this lab's steps up to `step`, 0 for none.  None removes the limit.

    Raises ActionRefused: 404 the course does not have the lab, 422 the lab does not have the step.
    """
    if lab not in course.labs or lab not in LABS:
        raise ActionRefused(404, "This course does not have lab {lab}.", "Choose a lab of this course.", lab=lab[:48])
    if step is not None and not 0 <= step <= len(LABS[lab].steps):
        raise ActionRefused(
            422,
            "Lab {lab} has {steps} steps.",
            "Choose a step from 0 to {steps}.",
            field="step",
            lab=LABS[lab].number,
            steps=len(LABS[lab].steps),
        )
    with one_at_a_time(f"pace of {course.pk}"):
        course.refresh_from_db(fields=["open_until"])
        others = {slug: until for slug, until in course.open_until.items() if slug != lab}
        course.open_until = others if step is None else {**others, lab: step}
        course.save(update_fields=["open_until"])


def rows(course: Course) -> list[PaceRow]:
    """Return the open part of each lab, in the order of the course."""
    step_rows = []
    for lab in (LABS[slug] for slug in course.labs if slug in LABS):
        until, steps = course.open_until.get(lab.slug), len(lab.steps)
        step_rows.append(
            PaceRow(
                lab,
                gettext(lab.title),
                until,
                range(steps + 1),
                until + 1 if until is not None and until < steps else None,
            )
        )
    return step_rows


def is_closed(course: Course, lab: str, step: int) -> bool:
    """Return True if the step is still closed to students."""
    until = course.open_until.get(lab)
    return until is not None and step > until


def demand(target: Sandbox | Cluster, role: Role, action: Action) -> None:
    """Raise ActionRefused (409) if a student answers a step that is not open yet, or requests its hint."""
    if role != "student" or not isinstance(target, Sandbox) or not isinstance(action, AnswerStep | TakeHint):
        return
    if target.course is not None and is_closed(target.course, action.lab, action.step):
        raise ActionRefused(409, "Your teacher opens step {step}.", "Wait until the step is open.", step=action.step)
