"""The queue of executions of runs of students' browsers, in the rows of the runs."""

from collections import Counter
from collections.abc import Mapping

from django.utils import timezone

from queueviz.courses.lite_models import LiteRun
from queueviz.courses.models import Course
from queueviz.courses.proof_codes import difference

WHOLE_CLASS, FINISHED, CONTESTED = 0, 1, 2  # priorities
State = LiteRun.Proof


def ask(run: LiteRun, priority: int) -> None:
    """Request the execution of a run.  A request that waits already gets the higher of both priorities."""
    waits = LiteRun.objects.filter(pk=run.pk, proof=State.WAITS)
    if waits.exists():
        waits.filter(priority__lt=priority).update(priority=priority)
    else:
        LiteRun.objects.filter(pk=run.pk).update(
            proof=State.WAITS, priority=priority, asked_at=timezone.now(), differences=[]
        )


def ask_class(course: Course) -> int:
    """Request the execution of all runs of a course that are not proven; return their number."""
    left = [run for run in runs_of(course) if not is_proven(run) and run.proof not in (State.WAITS, State.RUNS)]
    for run in left:
        ask(run, WHOLE_CLASS)
    return len(left)


def runs_of(course: Course) -> list[LiteRun]:
    """Return the runs of enrolled students, by student and lab."""
    mine = LiteRun.objects.filter(submission__enrolment__course=course, submission__enrolment__removed_at__isnull=True)
    return list(mine.select_related("submission__enrolment").order_by("submission__enrolment_id", "submission_id"))


def is_proven(run: LiteRun) -> bool:
    """Return True if the whole list was executed, without a difference."""
    return run.proof == State.EQUAL and run.proven_length == run.length


def progress_of(course: Course) -> Mapping[str, int]:
    """Return the number of runs in each state."""
    return Counter(run.proof for run in runs_of(course))


def has_work() -> bool:
    return LiteRun.objects.filter(proof__in=(State.WAITS, State.RUNS)).exists()


def take_up() -> None:
    """Let runs wait again whose execution was interrupted, because the only worker has just begun.

    The second interruption of the same run is a failure: it may be what ends the worker.
    """
    for run in LiteRun.objects.filter(proof=State.RUNS):
        again = any(row["code"] == "interrupted" for row in run.differences)
        LiteRun.objects.filter(pk=run.pk, proof=State.RUNS).update(
            proof=State.FAILED if again else State.WAITS, differences=[difference("interrupted")]
        )


def next_run() -> LiteRun | None:
    """Claim the waiting run of the highest priority; the oldest of equal ones."""
    while (
        run := LiteRun.objects.filter(proof=State.WAITS).order_by("-priority", "asked_at", "pk").first()
    ) is not None:
        if LiteRun.objects.filter(pk=run.pk, proof=State.WAITS).update(proof=State.RUNS):
            run.proof = State.RUNS
            return run
    return None
