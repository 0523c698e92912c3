"""Broadcasts: one intervention in the sandboxes of a course, or of some of its students, at the same time."""

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

from queueviz import engine, refusals
from queueviz.access.rate_limits import Rate
from queueviz.access.visitor import Visitor
from queueviz.courses.grid import Student, students_of
from queueviz.courses.models import Course
from sandbox.control.interventions import KINDS, Done, Intervention, Kind
from sandbox.control.rights import Actor
from sandbox.kernel.errors import ActionRefused, SandboxError

LEAD_S = 0.25  # of "now": all engines have it before its moment
SOONEST_S, LATEST_S = 0, 30
PATIENCE_S = 10.0
BROADCASTS = Rate(1, 12, what="broadcasts")


class Refused(NamedTuple):
    """A student whose sandbox refused the broadcast.  `why`: the reason in the reader's language."""

    name: str
    why: str


class Outcome(NamedTuple):
    """The outcome of a broadcast.

    `off_ms`: the largest deviation of a sandbox's clock from its planned millisecond.  `late_ms`: the p99 delay in
    real time.  `again`: sealed predictions that were opened again.
    """

    kind: str
    at_wall_ms: int
    done: int
    asleep: int
    refused: list[Refused]
    off_ms: int
    late_ms: float
    again: int

    def row(self) -> dict[str, object]:
        return {**self._asdict(), "refused": [refusal._asdict() for refusal in self.refused]}


def kind_of(text: str) -> Kind:
    """Return the broadcast kind that `text` names.  Raises ActionRefused (422) if there is no such kind."""
    if text not in KINDS:
        raise ActionRefused(
            422,
            "Broadcast {kind} does not exist.",
            "Known broadcasts: {known}.",
            field="kind",
            kind=text[:40] or "–",
            known=", ".join(KINDS),
        )
    return text


def chosen(course: Course, numbers: Sequence[int]) -> list[Student]:
    """Return the students with these numbers, or all of them if `numbers` is empty.

    Raises ActionRefused (422) for a number that no student has.
    """
    students = students_of(course)
    if not numbers:
        return students
    by_number = {student.number: student for student in students}
    if unknown := [number for number in numbers if number not in by_number]:
        raise ActionRefused(
            422,
            "This course has no student {number}.",
            "Reload the page.",
            field="students",
            number=unknown[0],
        )
    return [by_number[number] for number in dict.fromkeys(numbers)]


def broadcast(visitor: Visitor, course: Course, kind: Kind, students: list[Student], in_s: float = 0) -> Outcome:
    """Execute the broadcast in `in_s` seconds and wait for the outcome.

    Raises ActionRefused: 422 `in_s` out of range, 429 too often.
    """
    if not SOONEST_S <= in_s <= LATEST_S:
        raise ActionRefused(
            422, "Schedule a broadcast at most {most} s ahead.", "Choose an earlier time.", field="in_s", most=LATEST_S
        )
    BROADCASTS.demand(f"course {course.pk}")
    by = Actor("instructor", visitor.user.get_username())
    to_all = len(students) == course.enrolments.filter(removed_at__isnull=True).count()
    what = Intervention(kind, round((time.time() + max(in_s, LEAD_S)) * 1000), to_all=to_all)
    port = engine.port()
    asked = [(student, port.intervene(student.slug, what, by)) for student in students if student.slug is not None]
    done: list[Done] = []
    refused: list[Refused] = []
    asleep = 0
    until_s = time.monotonic() + max(in_s, LEAD_S) + PATIENCE_S
    for student, future in asked:
        try:
            done.append(engine.answer(future, timeout_s=max(0.1, until_s - time.monotonic())))
        except ActionRefused as error:
            if error.status == 503:
                asleep += 1
            else:
                refused.append(_refused(student, error))
        except SandboxError as error:
            refused.append(_refused(student, error))
    late = sorted(result.late_ms for result in done)
    return Outcome(
        kind,
        what.at_wall_ms,
        len(done),
        asleep,
        refused,
        max((abs(result.at_ms - result.planned_ms) for result in done), default=0),
        late[math.ceil(len(late) * 0.99) - 1] if late else 0.0,
        sum(result.again for result in done),
    )


def _refused(student: Student, error: Exception) -> Refused:
    return Refused(student.pseudonym, refusals.describe(error)[1]["error"])
