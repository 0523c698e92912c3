"""Grades of a course's students, by student, lab and step (`releases`: when students see their grades).

A grade is stored while a student works, from the engine's lab row.  An execution on the server (`proofs`) or a
published regrade (`regrading`) replaces it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, TypedDict

from django.db.models import F
from django.utils import timezone

from queueviz.access.database_limits import one_at_a_time
from queueviz.boards.predictions import Predictions
from queueviz.courses.grade_models import Grade
from queueviz.courses.lite_models import LiteRun
from queueviz.courses.models import Course, Enrolment, Submission
from sandbox.labs.catalogue import LABS
from sandbox.labs.lab import Lab
from sandbox.queries.rows.labs import LabRow

MOST_RECEIPTS = 1_000  # of one submission; later ones are not kept
MOST_SCORE = 100


class Step(TypedDict):
    """A step that the student has met, as in `Grade.steps`.  `at_ms`: time of the sandbox's clock."""

    step: int
    at_ms: int
    given: str | None
    truth: str | None
    accurate: bool | None
    hints: int


class Receipt(TypedDict):
    """The server's receipt of an answer, as in `Grade.receipts`."""

    step: int
    part: str
    seq: int
    digest: str


class StepResult(NamedTuple):
    """The result of a step.  `met`: None until the student has met the step."""

    number: int
    title: str
    check: str
    met: Step | None


class LabResult(NamedTuple):
    """The result of a student in a lab.

    `slug`: of the sandbox; None: the lab was not begun, or the sandbox is deleted.  `regraded_at`: None: the result
    is that of live grading.
    """

    lab: Lab
    begun: bool
    slug: str | None
    attempt: int
    exam: bool
    score: int
    finished: bool
    steps: tuple[StepResult, ...]
    regraded_at: datetime | None

    @property
    def met(self) -> int:
        return sum(step.met is not None for step in self.steps)

    @property
    def predictions(self) -> Predictions:
        return Predictions.of(self.lab, (step.met for step in self.steps))

    @property
    def hints(self) -> int:
        return sum(step.met["hints"] for step in self.steps if step.met is not None)


class StudentResult(NamedTuple):
    """The results of a student.

    `name`: from the teacher's roster.  `note`: the teacher's.  Both may be blank.  `labs`: all of the course, in order.
    """

    number: int
    pseudonym: str
    name: str
    note: str
    labs: tuple[LabResult, ...]

    @property
    def score(self) -> int:
        """The sum of the scores of all labs."""
        return sum(result.score for result in self.labs)

    @property
    def begun(self) -> bool:
        """True if the student began a lab: otherwise there is no score."""
        return any(result.begun for result in self.labs)


def results_of(course: Course, enrolment: Enrolment | None = None) -> list[StudentResult]:
    """Return the results of all enrolled students, in the order in which they joined; or of one student."""
    places = course.enrolments.filter(removed_at__isnull=True).order_by("pk")
    if enrolment is not None:
        places = places.filter(pk=enrolment.pk)
    work: dict[tuple[int, str], Submission] = {
        (submission.enrolment_id, submission.lab): submission
        for submission in Submission.objects.filter(enrolment__in=places).select_related("sandbox", "grade")
    }
    return [
        StudentResult(
            enrolment.pk,
            enrolment.pseudonym,
            enrolment.name,
            enrolment.note,
            tuple(_result(LABS[slug], work.get((enrolment.pk, slug))) for slug in course.labs if slug in LABS),
        )
        for enrolment in places
    ]


def note(submission: Submission, row: LabRow) -> None:
    """Update the grade from the engine's lab row.  The best attempt counts, and each answer's receipt is kept."""
    grade: Grade | None = getattr(submission, "grade", None)
    if grade is not None and not _noted(grade, row):
        return
    with one_at_a_time(f"grade of {submission.pk}"):
        grade = Grade.objects.filter(submission=submission).first()
        grade = grade or Grade(submission=submission, attempt=row["attempt"])
        if _noted(grade, row) or grade.pk is None:
            grade.changed_at = timezone.now()
            grade.save()


def is_executed(submission: Submission) -> bool:
    """Return True if the grade is that of an execution on the server of the whole list of a student's browser."""
    whole = LiteRun.objects.filter(submission=submission, proven_at__isnull=False, proven_length=F("length"))
    return whole.exists()


def note_executed(submission: Submission, rows: Sequence[LabRow]) -> None:
    """Make the best of the executed attempts the grade, also a lower one.

    Receipts that were noted before are kept: if they are of another run, a regrade names them.
    """
    best = best_of(rows)
    with one_at_a_time(f"grade of {submission.pk}"):
        grade, _ = Grade.objects.get_or_create(submission=submission, defaults={"changed_at": timezone.now()})
        before = _values(grade)
        if best is None:
            grade.attempt, grade.exam, grade.score, grade.steps = 1, False, 0, []
        else:
            _take(grade, best)
        for row in rows:
            grade.receipts = _receipts(grade.receipts, row)
        if before != _values(grade):
            grade.changed_at, grade.regraded_at = timezone.now(), None
        grade.save()


def best_of(rows: Iterable[LabRow]) -> LabRow | None:
    """Return the attempt that counts: the first one with the best score."""
    return max(rows, key=lambda row: row["score"], default=None)


def steps_of(row: LabRow) -> list[Step]:
    steps: list[Step] = []
    for number, step in enumerate(row["steps"], start=1):
        if (met := step["met"]) is not None:
            steps.append(
                {
                    "step": number,
                    "at_ms": met["at_ms"],
                    "given": met["given"],
                    "truth": met["truth"],
                    "accurate": met["accurate"],
                    "hints": step["hints"],
                }
            )
    return steps


def _noted(grade: Grade, row: LabRow) -> bool:
    """Copy the lab row into the grade; return True if anything changed."""
    before = _values(grade)
    if row["score"] > grade.score or (row["attempt"] == grade.attempt and row["score"] == grade.score):
        _take(grade, row)
    grade.receipts = _receipts(grade.receipts, row)
    return before != _values(grade)


def _take(grade: Grade, row: LabRow) -> None:
    grade.attempt, grade.exam, grade.score, grade.steps = row["attempt"], row["exam"], row["score"], steps_of(row)


def _values(grade: Grade) -> tuple[object, ...]:
    return grade.attempt, grade.exam, grade.score, grade.steps, grade.receipts


def _receipts(kept: Mapping[str, list[Receipt]], row: LabRow) -> dict[str, list[Receipt]]:
    """Return the kept receipts with the new ones of the row added.

    Kept receipts are never replaced: a journal changed later has other digests.
    """
    name = str(row["attempt"])
    known = kept.get(name, [])
    left = MOST_RECEIPTS - sum(map(len, kept.values()))
    added = [
        Receipt(step=receipt["step"], part=receipt["part"], seq=int(receipt["seq"]), digest=receipt["digest"])
        for receipt in row["receipts"]
        if not known or int(receipt["seq"]) > known[-1]["seq"]
    ][:left]
    return {**kept, name: [*known, *added]} if added else dict(kept)


def _result(lab: Lab, work: Submission | None) -> LabResult:
    grade: Grade | None = getattr(work, "grade", None)
    met: dict[int, Step] = {} if grade is None else {step["step"]: step for step in grade.steps}
    steps = tuple(
        StepResult(number, step.title, step.check.__name__, met.get(number))
        for number, step in enumerate(lab.steps, start=1)
    )
    if work is None:
        return LabResult(lab, False, None, 0, False, 0, False, steps, None)
    return LabResult(
        lab,
        True,
        None if work.sandbox is None else work.sandbox.slug,
        1 if grade is None else grade.attempt,
        grade is not None and grade.exam,
        work.score if grade is None else grade.score,
        work.finished_at is not None,
        steps,
        None if grade is None else grade.regraded_at,
    )
