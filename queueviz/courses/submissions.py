"""Submissions: the sandbox in which a student does one lab of a course, and the progress."""

from functools import partial

from django.utils import timezone
from django.utils.translation import gettext

from queueviz import engine
from queueviz.access.database_limits import one_at_a_time
from queueviz.access.visitor import Visitor
from queueviz.courses import deadlines, grades
from queueviz.courses.lab_seeds import seed_of
from queueviz.courses.lite_models import LiteEntry, LiteRun
from queueviz.courses.models import Enrolment, Submission
from queueviz.models import Grant, Sandbox
from queueviz.sandboxes import creation, ownership, visitor_actions
from queueviz.slugs import is_in_browser
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.lab import Lab
from sandbox.queries.rows.labs import LabRow


def begin(visitor: Visitor, enrolment: Enrolment, lab: Lab, *, in_browser: bool = False) -> Submission:
    """Return the student's one submission of this lab.

    The first call creates it and starts its sandbox and the lab; `in_browser`: the sandbox will run in the student's
    browser, which starts both.  Raises ActionRefused: 404 the course does not have the lab, 409 it is past its date;
    and as `creation.create`.
    """
    course = enrolment.course
    if lab.slug not in course.labs:
        raise ActionRefused(404, "This course does not have lab {lab}.", "Choose a lab of this course.", lab=lab.number)
    with one_at_a_time(f"submissions of {enrolment.pk}"):
        submission, _ = enrolment.submissions.get_or_create(lab=lab.slug, defaults={"steps": len(lab.steps)})
        if submission.sandbox is None:
            deadlines.demand(enrolment)  # the row that was just made is not kept then
    if submission.sandbox is not None and not in_browser and _has_only_begun_in_browser(submission):
        ownership.delete(visitor, submission.sandbox)
        submission.sandbox = None
    if submission.sandbox is not None:
        if is_in_browser(submission.sandbox.slug):
            return submission
        engine.answer(engine.port().wake(submission.sandbox.slug), engine.OPENING_PATIENCE_S)  # after a restart, too
        _start(visitor, submission.sandbox, lab)
        return submission
    sandbox = Sandbox(
        name=f"{lab.number} · {gettext(lab.title)} · {enrolment.pseudonym}"[: ownership.NAME_LENGTH],
        template=lab.template,
        preset=lab.preset,
        course=course,
        visibility=Sandbox.Visibility.PRIVATE,
    )
    grants = partial(grants_of, enrolment)
    if in_browser:
        creation.record_granted(visitor, sandbox, grants)
    else:
        creation.create_granted(
            visitor,
            sandbox,
            grants,
            changes=dict(lab.changes) or None,
            seed=seed_of(course, lab) if course.same_numbers else None,
        )
    if not Submission.objects.filter(pk=submission.pk, sandbox__isnull=True).update(sandbox=sandbox):
        ownership.delete(visitor, sandbox)  # another tab was faster
    elif not in_browser:
        _start(visitor, sandbox, lab)
    submission.refresh_from_db()
    return submission


def _has_only_begun_in_browser(submission: Submission) -> bool:
    """Return True if the lab was to run in a browser, and nothing came from there: that browser could not run it."""
    assert submission.sandbox is not None
    if not is_in_browser(submission.sandbox.slug):
        return False
    done = LiteEntry.objects.filter(run__submission=submission).exists()
    if not done:
        LiteRun.objects.filter(submission=submission).delete()
    return not done


def _start(visitor: Visitor, sandbox: Sandbox, lab: Lab) -> None:
    """Start the lab in the sandbox, unless it is started.

    A busy engine or a rate limit may have refused the first try.
    """
    if engine.lab_of(sandbox.slug) is None:
        visitor_actions.act(visitor, sandbox.slug, {"action": "StartLab", "lab": lab.slug})


def grants_of(enrolment: Enrolment, sandbox: Sandbox) -> list[Grant]:
    """Return the grants of a submission's sandbox: the student's and the teacher's."""
    return [
        Grant(sandbox=sandbox, kind=Grant.Kind.SESSION, role="student", holder=enrolment.digest),
        Grant(sandbox=sandbox, kind=Grant.Kind.EDITOR, role="instructor", user_id=enrolment.course.teacher_id),
    ]


def note(sandbox: Sandbox, row: LabRow) -> None:
    """Update the submission's progress and grade from the engine's lab row.

    A later attempt with a lower score does not lower the progress.
    """
    submission = Submission.objects.filter(sandbox=sandbox).first()
    if submission is None or row["lab"] != submission.lab:
        return
    grades.note(submission, row)
    met = sum(step["met"] is not None for step in row["steps"])
    best = (max(met, submission.steps_met), max(row["score"], submission.score))
    if best != (submission.steps_met, submission.score) or (row["finished"] and submission.finished_at is None):
        submission.steps_met, submission.score = best
        if row["finished"] and submission.finished_at is None:
            submission.finished_at = timezone.now()
        submission.save(update_fields=["steps_met", "score", "finished_at"])
