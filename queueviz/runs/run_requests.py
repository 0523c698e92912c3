"""Requests for pipeline runs and their cancellation, with the same rights for pages and programs."""

from collections.abc import Iterable, Mapping

from django.db.models import QuerySet
from django.utils import timezone

from queueviz.access import policy
from queueviz.access.database_limits import one_at_a_time
from queueviz.access.visitor import Visitor, counting_key
from queueviz.courses.analytics import JOB as CLASS_ANALYTICS
from queueviz.courses.course_runs import GRADING
from queueviz.courses.models import Course
from queueviz.models import PipelineRun, Sandbox
from queueviz.runs import directories, heartbeat
from queueviz.runs.job_offers import demand_shown, offers
from queueviz.sandboxes import ownership, visitor_actions
from sandbox.kernel.errors import ActionRefused

VERB = "act"
COURSE_JOBS = (CLASS_ANALYTICS, GRADING)
MOST_OPTION_CHARACTERS = 200
KEPT_RUNS = 50  # of a sandbox, the newest
OPEN = (PipelineRun.State.QUEUED, PipelineRun.State.RUNNING)


def ask_for(visitor: Visitor, slug: str, job: str, options: Mapping[str, str]) -> PipelineRun:
    """Create a run that waits for the worker.

    Raises `NotFound`, `Forbidden` or `ActionRefused`: 422 no such job or option, 409 it waits already, the cluster
    is attached or scores are withheld, 429 a limit.
    """
    visit = _visit(visitor, slug)
    sandbox, checked = policy.ours(visit), _checked(job, options)
    demand_shown(visit, job)
    return _created(visitor, PipelineRun(sandbox=sandbox, job=job, options=checked))


def ask_for_course(visitor: Visitor, course: Course, job: str) -> PipelineRun:
    """Create a run on all sandboxes of a course.  Its caller has checked the right to grade.

    Raises ActionRefused: 409 it waits already, 422 no such job, 429 a limit.
    """
    if job not in COURSE_JOBS:
        raise _no_job(job, COURSE_JOBS)
    visitor_actions.ACTIONS.demand(policy.counted_as(visitor))
    return _created(visitor, PipelineRun(course=course, job=job))


def _created(visitor: Visitor, run: PipelineRun) -> PipelineRun:
    with one_at_a_time("run"):
        _demand_room(visitor, run)
        old = _beside(run).exclude(state__in=OPEN)
        old.filter(pk__in=list(old.values_list("pk", flat=True)[KEPT_RUNS - 1 :])).delete()
        run.who, run.visitor = ownership.called(visitor), _hashed(visitor)
        run.save()
    return run


def _beside(run: PipelineRun) -> QuerySet[PipelineRun]:
    return PipelineRun.objects.filter(sandbox=run.sandbox, course=run.course)


def cancel(visitor: Visitor, slug: str, run: str) -> PipelineRun:
    """Cancel a run and return its row.

    A waiting run never begins; a running one ends as soon as Spark releases it.  A run that has ended stays as it is.
    """
    return cancelled(one_of(policy.ours(_visit(visitor, slug)), run))


def cancelled(row: PipelineRun) -> PipelineRun:
    """Cancel a run as `cancel` does; its caller has checked the right."""
    waiting = PipelineRun.objects.filter(pk=row.pk, state=PipelineRun.State.QUEUED)
    if not waiting.update(state=PipelineRun.State.CANCELLED, ended_at=timezone.now()):
        PipelineRun.objects.filter(pk=row.pk, state=PipelineRun.State.RUNNING).update(cancel_asked=True)
    row.refresh_from_db()
    return row


def runs_of(sandbox: Sandbox) -> list[PipelineRun]:
    """Return the sandbox's runs, the newest first."""
    return list(PipelineRun.objects.filter(sandbox=sandbox)[:KEPT_RUNS])


def one_of(sandbox: Sandbox, run: str) -> PipelineRun:
    """Return one run of the sandbox.  Raises ActionRefused (404)."""
    row = PipelineRun.objects.filter(sandbox=sandbox, run=run).first()
    if row is None:
        raise ActionRefused(
            404,
            "Run {run} does not exist in this sandbox.",
            "The runs of the sandbox are listed on the Pipeline page.",
            run=run,
        )
    return row


def newest(of: Sandbox | Course, job: str) -> PipelineRun | None:
    runs: QuerySet[PipelineRun] = of.runs.all()
    return runs.filter(job=job).first()


def is_worker_alive() -> bool:
    return heartbeat.is_beating(directories.home() / directories.FOLDER)


def _visit(visitor: Visitor, slug: str) -> policy.Visit:
    visit = policy.visit_at(visitor, slug, "see")
    if visit.is_attached:
        raise ActionRefused(
            409,
            "The journal and the files of this cluster are not on this server, so no job can run on them.",
            "Copy a broker's store to this machine and use manage.py pipeline --store DIR.",
        )
    if not visit.may(VERB):
        raise policy.forbidden(visitor, visit)
    visitor_actions.ACTIONS.demand(policy.counted_as(visitor))
    return visit


def _no_job(job: str, jobs: Iterable[str]) -> ActionRefused:
    return ActionRefused(
        422, "Job {job} does not exist.", "Available jobs: {jobs}.", field="job", job=job, jobs=", ".join(jobs)
    )


def _checked(job: str, options: Mapping[str, str]) -> dict[str, str]:
    offer = offers().get(job)
    if offer is None:
        raise _no_job(job, offers())
    values = {name: str(value).strip() for name, value in options.items() if str(value).strip()}
    for name, value in values.items():
        if name not in offer.options:
            raise ActionRefused(
                422,
                "{job} has no option {option}.",
                "Available options: {options}.",
                field=name,
                job=job,
                option=name,
                options=", ".join(offer.options) or "–",
            )
        if len(value) > MOST_OPTION_CHARACTERS:
            raise ActionRefused(
                422,
                "The option {option} is longer than {allowed} characters.",
                "Shorten the text.",
                field=name,
                option=name,
                allowed=MOST_OPTION_CHARACTERS,
            )
    return values


def _demand_room(visitor: Visitor, run: PipelineRun) -> None:
    limits, now = ownership.LIMITS, PipelineRun.objects.filter(state__in=OPEN)
    if _beside(run).filter(state__in=OPEN, job=run.job, cancel_asked=False).exists():
        raise ActionRefused(
            409, "This job is already waiting or in progress.", "The result of the job appears automatically."
        )
    mine = now.filter(visitor=_hashed(visitor)).count()
    if mine >= limits.pipeline_runs_per_visitor:
        raise ActionRefused(
            429,
            "You have {runs} runs waiting or in progress; {allowed} are allowed.",
            "Wait for a run to end, or cancel a run.",
            runs=mine,
            allowed=limits.pipeline_runs_per_visitor,
        )
    waiting = now.filter(state=PipelineRun.State.QUEUED).count()
    if waiting >= limits.pipeline_runs_waiting:
        raise ActionRefused(
            429,
            "{runs} runs are waiting on this server. It accepts no more.",
            "Try again in a few minutes.",
            runs=waiting,
        )


def _hashed(visitor: Visitor) -> str:
    """Return a keyed hash of the visitor for counting, from which no session key or address can be derived."""
    return counting_key(policy.counted_as(visitor))
