"""Regrading of a course from its journals: the differences from the current grades, and their publication.

`manage.py pipeline grading --course C` reads the journals on Spark.  `publish` is the only step that changes grades.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple, TypedDict, TypeVar

from django.db import transaction
from django.utils import timezone

from queueviz.courses.grade_models import Grade, Regrade
from queueviz.courses.grades import Step
from queueviz.courses.models import Course, Submission
from queueviz.runs.tables import Result
from sandbox.kernel.errors import CorruptRecord

MOST_ROWS = 500_000  # of one table
MOST_OF_ONE = 10  # differences of one submission that are listed
MOST_CHARS = 300
KEPT_REGRADES = 5

UNTRUSTED = frozenset({"unread", "receipt", "lost", "rerun", "gone", "not_begun"})
"""Kinds after which nothing is published: the journal is not the one that was graded.  The grade stays."""


class Difference(NamedTuple):
    """A difference between a grade and its journal; `kind`:

    score      `live` is the grade, `found` what the journal is worth
    journal    `live` is what the journal has as a result, `found` what the checks say of the rest of it
    unwritten  `found` is a result that the journal has not: the server was killed
    receipt    the answer of `step` at event `live` was received with another journal: it was changed since
    lost       answers of attempt `live` were received, and the journal does not have it: its oldest part was cut
    rerun      the actions executed again write something else: `found` says from where on
    unread     the journal cannot be read: `found` says why
    gone       there is no journal any more
    not_begun  the journal has no attempt at this lab
    more       `found` differences more of the same submission
    """

    submission: int
    student: str
    lab: str
    kind: str
    step: int | None = None
    live: str = ""
    found: str = ""


class OfSandbox(TypedDict):
    """A row of a table of the job `grading`."""

    sandbox: str


class AttemptRow(OfSandbox):
    """A row of the table `attempts`."""

    lab: str
    attempt: int
    exam: bool
    met: int
    steps: int
    score: int
    finished: bool


class MetStepRow(OfSandbox):
    """A row of the table `steps`."""

    lab: str
    attempt: int
    step: int
    at_ms: int
    given: str | None
    truth: str | None
    accurate: bool | None
    hints: int


class RecordedReceipt(OfSandbox):
    """A row of the table `receipts`."""

    lab: str
    attempt: int
    seq: int
    digest: str


class RecordedDifference(OfSandbox):
    """A row of the table `differences`."""

    lab: str
    step: int | None
    live: str | None
    found: str | None


class UnreadJournal(OfSandbox):
    """A row of the table `unread`."""

    why: str


class Tables(NamedTuple):
    """The rows of all tables of the job `grading`, by sandbox."""

    attempts: dict[str, list[AttemptRow]]
    steps: dict[str, list[MetStepRow]]
    receipts: dict[str, list[RecordedReceipt]]
    differences: dict[str, list[RecordedDifference]]
    unread: dict[str, list[UnreadJournal]]


class Worth(TypedDict):
    """The result of a submission in a regrade, which `publish` makes the grade."""

    attempt: int
    exam: bool
    score: int
    finished: bool
    steps: list[Step]


class Published(NamedTuple):
    """The numbers of submissions after `publish`.

    `changed`: those with another grade now.  `went_on`: those with work since the regrade began, which keep their
    grade.
    """

    changed: int
    went_on: int


R = TypeVar("R", bound=OfSandbox)


def submissions_of(course: Course) -> list[Submission]:
    """Return the submissions of enrolled students."""
    mine = Submission.objects.filter(enrolment__course=course, enrolment__removed_at__isnull=True)
    return list(mine.select_related("enrolment", "sandbox", "grade").order_by("enrolment_id", "pk"))


def regrade(course: Course, result: Result, began_at: datetime, *, reruns: Mapping[str, str] | None = None) -> Regrade:
    """Compare the results of the job `grading` with the grades and store the regrade.  Older regrades are deleted.

    `reruns`: by sandbox, the point from which a run that was executed again differs.  Raises CorruptRecord.
    """
    tables = Tables(
        _by_sandbox(result, "attempts", AttemptRow),
        _by_sandbox(result, "steps", MetStepRow),
        _by_sandbox(result, "receipts", RecordedReceipt),
        _by_sandbox(result, "differences", RecordedDifference),
        _by_sandbox(result, "unread", UnreadJournal),
    )
    worths: dict[str, Worth] = {}
    differences: list[Difference] = []
    for work in submissions_of(course):
        slug = "" if work.sandbox is None else work.sandbox.slug
        best = _best(tables.attempts.get(slug, []), work.lab)
        mine = _differences(work, best, tables, (reruns or {}).get(slug))
        differences += [
            *mine[:MOST_OF_ONE],
            *([_of(work, "more", found=str(len(mine) - MOST_OF_ONE))] if len(mine) > MOST_OF_ONE else []),
        ]
        if best is not None and not any(difference.kind in UNTRUSTED for difference in mine):
            worths[str(work.pk)] = _worth(best, tables.steps.get(slug, []))
    made = Regrade.objects.create(
        course=course,
        began_at=began_at,
        found=worths,
        attempts=sum(map(len, tables.attempts.values())),
        differences=[difference._asdict() for difference in differences],
    )
    kept = course.regrades.values_list("pk", flat=True)[:KEPT_REGRADES]
    course.regrades.exclude(pk__in=list(kept)).delete()
    return made


def newest(course: Course) -> Regrade | None:
    return course.regrades.first()


def publish(made: Regrade) -> Published:
    """Make the results of the regrade the grades, except for submissions with work since the regrade began."""
    changed = went_on = 0
    with transaction.atomic():
        for work in submissions_of(made.course):
            worth = made.found.get(str(work.pk))
            if worth is None:
                continue
            grade = getattr(work, "grade", None) or Grade(submission=work, changed_at=made.began_at)
            if grade.changed_at > made.began_at:
                went_on += 1
                continue
            before = _worth_of(work, grade)
            grade.attempt, grade.exam, grade.score = worth["attempt"], worth["exam"], worth["score"]
            grade.steps, grade.regraded_at = worth["steps"], timezone.now()
            grade.save()
            work.score, work.steps_met = worth["score"], len(worth["steps"])
            work.finished_at = (work.finished_at or made.began_at) if worth["finished"] else None
            work.save(update_fields=["score", "steps_met", "finished_at"])
            changed += before != (worth["score"], len(worth["steps"]), worth["finished"])
        made.published_at = timezone.now()
        made.save(update_fields=["published_at"])
    return Published(changed, went_on)


def _differences(work: Submission, best: AttemptRow | None, tables: Tables, rerun: str | None) -> list[Difference]:
    if work.sandbox is None:
        return [_of(work, "gone")]
    slug = work.sandbox.slug
    if unread := tables.unread.get(slug):
        return [_of(work, "unread", found=unread[0]["why"])]
    differences: list[Difference] = []
    for row in tables.differences.get(slug, []):
        kind = "unwritten" if row["live"] is None else "journal"
        differences.append(_of(work, kind, row["step"], row["live"] or "", row["found"] or "", lab=row["lab"]))
    differences += _changed_answers(work, tables.attempts.get(slug, []), tables.receipts.get(slug, []))
    if rerun is not None:
        differences.append(_of(work, "rerun", found=rerun))
    if best is None:
        return [*differences, _of(work, "not_begun")]
    grade = getattr(work, "grade", None)
    score, met = (work.score, work.steps_met) if grade is None else (grade.score, len(grade.steps))
    if (score, met) != (best["score"], best["met"]):
        differences.append(
            _of(
                work,
                "score",
                live=f"{score} ({met}/{best['steps']})",
                found=f"{best['score']} ({best['met']}/{best['steps']})",
            )
        )
    return differences


def _changed_answers(
    work: Submission, attempts: Iterable[AttemptRow], rows: Iterable[RecordedReceipt]
) -> list[Difference]:
    """Return the first answer of each attempt whose digest in the journal differs from the receipt.

    All later digests differ too.  An attempt that the journal does not have is `lost`.
    """
    grade: Grade | None = getattr(work, "grade", None)
    begun = {row["attempt"] for row in attempts if row["lab"] == work.lab}
    recorded = {(row["attempt"], row["seq"]): row["digest"] for row in rows if row["lab"] == work.lab}
    differences = []
    for attempt, receipts in sorted({} if grade is None else grade.receipts.items(), key=lambda item: int(item[0])):
        if int(attempt) not in begun:
            differences.append(_of(work, "lost", live=attempt))
            continue
        first = next(
            (receipt for receipt in receipts if recorded.get((int(attempt), receipt["seq"])) != receipt["digest"]), None
        )
        if first is not None:
            differences.append(_of(work, "receipt", first["step"], str(first["seq"]), first["part"]))
    return differences


def _worth(best: AttemptRow, rows: Iterable[MetStepRow]) -> Worth:
    steps: list[Step] = [
        {
            "step": row["step"],
            "at_ms": row["at_ms"],
            "given": row["given"],
            "truth": _shown(row["truth"]),
            "accurate": row["accurate"],
            "hints": row["hints"],
        }
        for row in rows
        if (row["lab"], row["attempt"]) == (best["lab"], best["attempt"])
    ]
    return {
        "attempt": best["attempt"],
        "exam": best["exam"],
        "score": best["score"],
        "finished": best["finished"],
        "steps": steps,
    }


def _worth_of(work: Submission, grade: Grade) -> tuple[int, int, bool]:
    if grade.pk is None:
        return work.score, work.steps_met, work.finished_at is not None
    return grade.score, len(grade.steps), work.finished_at is not None


def _shown(truth: str | None) -> str | None:
    """Return the value as the panel shows it: a number rounded to one decimal place."""
    try:
        return truth if truth is None else f"{round(float(truth), 1):.15g}"
    except ValueError:
        return truth


def _best(rows: Iterable[AttemptRow], lab: str) -> AttemptRow | None:
    """Return the attempt at the lab that counts: the first with the best score, as in live grading."""
    return max((row for row in rows if row["lab"] == lab), key=lambda row: row["score"], default=None)


def _by_sandbox(result: Result, table: str, shape: type[R]) -> dict[str, list[R]]:
    read = result.rows(table, shape, most=MOST_ROWS)
    if read.is_cut:
        raise CorruptRecord(f"{table} has more than {MOST_ROWS} rows")
    by_sandbox: dict[str, list[R]] = {}
    for row in read.rows:
        by_sandbox.setdefault(row["sandbox"], []).append(row)
    return by_sandbox


def _of(
    work: Submission, kind: str, step: int | None = None, live: str = "", found: str = "", *, lab: str | None = None
) -> Difference:
    return Difference(
        work.pk, work.enrolment.pseudonym, lab or work.lab, kind, step, live[:MOST_CHARS], found[:MOST_CHARS]
    )
