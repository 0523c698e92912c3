"""Jobs over all sandboxes of a course: asked for, followed and cancelled by its teacher (analytics, regrade)."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET, require_POST

from queueviz.access import policy, visitor
from queueviz.boards.page import Context
from queueviz.courses.course_access import visit_course
from queueviz.courses.models import Course
from queueviz.pages.pipeline import changed, fresh, polled
from queueviz.pages.sandbox import refusal_beside
from queueviz.runs import run_requests
from queueviz.runs.tables import Result
from sandbox.kernel.errors import SandboxError


@require_POST
def runs(request: HttpRequest, slug: str) -> HttpResponse:
    """Request a run (`job`) or cancel one (`cancel`); a form gets an empty partial, or the refusal."""
    requester = visitor.of_request(request)
    course = visit_course(requester, slug, "grade").course
    try:
        if "cancel" in request.POST:
            run_requests.cancelled(get_object_or_404(course.runs, run=request.POST["cancel"]))
        else:
            run_requests.ask_for_course(requester, course, request.POST.get("job", ""))
    except (SandboxError, policy.Forbidden) as refused:
        return refusal_beside(request, refused)
    return changed()


@require_GET
def freshness(request: HttpRequest, slug: str, job: str) -> HttpResponse:
    """Show the age of a job's result and the progress of its next run; reload the page once a new result exists."""
    course = visit_course(visitor.of_request(request), slug, "grade").course
    if job not in run_requests.COURSE_JOBS:
        raise Http404
    return polled(
        request, "queueviz/partials/course_job.html", fresh(course, job, Result(job, course.slug)), course=course
    )


def job_of(course: Course, job: str) -> Context:
    """Return the template values of a job's age, progress and button."""
    return {"course": course, **fresh(course, job, Result(job, course.slug))}
