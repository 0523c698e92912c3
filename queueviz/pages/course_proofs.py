"""Executions of labs that ran in students' browsers: their states on the results page, and requests for them."""

from typing import NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from queueviz.access import visitor
from queueviz.boards.page import Context
from queueviz.courses import proof_requests
from queueviz.courses.course_access import visit_course
from queueviz.courses.lite_models import LiteRun
from queueviz.courses.models import Course
from queueviz.courses.proof_texts import sentence_of
from queueviz.texts import Texts
from sandbox.labs.catalogue import LABS
from sandbox.labs.lab import Lab

State = LiteRun.Proof
MARKS = {State.EQUAL: "ok", State.DIFFERS: "bad", State.FAILED: "bad"}  # classes of the state's word
COUNTS: Texts = {
    State.EQUAL: _("proven: {n}"),
    State.DIFFERS: _("different: {n}"),
    State.FAILED: _("could not be executed: {n}"),
    State.RUNS: _("being executed: {n}"),
    State.WAITS: _("waiting: {n}"),
    State.NONE: _("not executed: {n}"),
}


class Executed(NamedTuple):
    """A run of the course.  `since`: the number of entries that came after the execution."""

    submission: int
    student: str
    name: str
    lab: Lab
    state: str
    mark: str
    since: int
    sentences: tuple[str, ...]
    can_ask: bool


def context_of(course: Course) -> Context:
    """Return the template values: all runs, the counts in words, and whether any of them is in progress."""
    runs = [run for run in proof_requests.runs_of(course) if run.submission.lab in LABS]
    counts = proof_requests.progress_of(course)
    return {
        "course": course,
        "executions": [_shown(run) for run in runs],
        "execution_counts": [str(text).format(n=counts[state]) for state, text in COUNTS.items() if counts[state]],
        "executions_wait": bool(counts[State.WAITS] or counts[State.RUNS]),
        "executions_left": any(_can_ask(run) and not proof_requests.is_proven(run) for run in runs),
    }


@require_GET
def states(request: HttpRequest, slug: str) -> HttpResponse:
    """Return the states again, while executions are in progress."""
    course = visit_course(visitor.of_request(request), slug, "grade").course
    return render(request, "queueviz/partials/course_proofs.html", context_of(course))


@require_POST
def execute(request: HttpRequest, slug: str) -> HttpResponse:
    """Request the execution of one `submission`; without it, of all runs of the course that are not proven."""
    course = visit_course(visitor.of_request(request), slug, "grade").course
    number = request.POST.get("submission")
    if number is None:
        proof_requests.ask_class(course)
        return redirect("course-results", slug)
    run = next((run for run in proof_requests.runs_of(course) if str(run.submission_id) == number), None)
    if run is None:
        raise Http404
    proof_requests.ask(run, proof_requests.CONTESTED)
    return redirect("course-results", slug)


def _shown(run: LiteRun) -> Executed:
    work = run.submission
    state = State(run.proof)
    is_executed = state in (State.EQUAL, State.DIFFERS)
    since = run.length - run.proven_length if is_executed else 0
    return Executed(
        work.pk,
        work.enrolment.pseudonym,
        work.enrolment.name,
        LABS[work.lab],
        str(state.label),
        "" if since else MARKS.get(state, ""),
        since,
        tuple(sentence_of(row) for row in run.differences) if state in MARKS else (),
        _can_ask(run),
    )


def _can_ask(run: LiteRun) -> bool:
    return run.proof not in (State.WAITS, State.RUNS)
