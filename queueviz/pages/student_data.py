"""Pages that show, export and delete the data of a student, and that delete a whole course."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from queueviz.access import policy, visitor
from queueviz.courses import deletion, exporting, joining, releases, retention, student_records
from queueviz.courses.course_access import CourseVisit, visit_course
from queueviz.courses.models import Enrolment
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS

CONFIRMED = "delete"


@never_cache
@require_http_methods(["GET", "POST"])
def own(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a student's own data.

    POST with `confirm=delete` deletes the data and removes the student from the course.
    """
    requester = visitor.of_request(request)
    visit = visit_course(requester, slug, "see")
    enrolment = _own(visit)
    if request.method == "GET":
        return _shown(request, visit, enrolment, reverse("course-data", args=[slug]))
    _demand_confirmed(request)
    deletion.forget(requester, enrolment)
    joining.leave(requester, visit.course)
    return redirect("join")


@never_cache
@require_GET
def own_export(request: HttpRequest, slug: str) -> HttpResponse:
    requester = visitor.of_request(request)
    enrolment = _own(visit_course(requester, slug, "see"))
    return _packed(requester, enrolment, scores=releases.is_released(enrolment.course), notes=False)


@never_cache
@require_http_methods(["GET", "POST"])
def student(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show the teacher the data of a student, also of a removed one.  POST with `confirm=delete` deletes it."""
    requester = visitor.of_request(request)
    visit = visit_course(requester, slug, "grade")
    enrolment = _of_course(visit, number)
    if request.method == "GET":
        return _shown(request, visit, enrolment, reverse("course-student-data", args=[slug, number]))
    _demand_confirmed(request)
    deletion.forget(requester, enrolment)
    return redirect("course", slug)


@never_cache
@require_GET
def student_export(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    requester = visitor.of_request(request)
    return _packed(requester, _of_course(visit_course(requester, slug, "grade"), number), scores=True, notes=True)


@never_cache
@require_http_methods(["GET", "POST"])
def course(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what the deletion of a course removes.  POST with `confirm=delete` deletes the course."""
    requester = visitor.of_request(request)
    visit = visit_course(requester, slug, "grade")
    if request.method == "GET":
        return render(
            request,
            "queueviz/pages/course_delete.html",
            {
                "course": visit.course,
                "students": visit.course.enrolments.count(),
                "sandboxes": visit.course.sandboxes.count(),
                "kept_until": retention.kept_until(visit.course),
            },
        )
    _demand_confirmed(request)
    deletion.forget_course(requester, visit.course)
    return redirect("course-new")


def _own(visit: CourseVisit) -> Enrolment:
    if visit.enrolment is None:
        raise ActionRefused(409, "A teacher has no place in the course.", "Choose a student from the roster.")
    return visit.enrolment


def _of_course(visit: CourseVisit, number: int) -> Enrolment:
    return get_object_or_404(Enrolment, course=visit.course, pk=number)


def _demand_confirmed(request: HttpRequest) -> None:
    if request.POST.get("confirm") != CONFIRMED:
        raise ActionRefused(
            422, "The deletion cannot be undone and was not confirmed.", "Select the checkbox first.", field="confirm"
        )


def _shown(request: HttpRequest, visit: CourseVisit, enrolment: Enrolment, address: str) -> HttpResponse:
    owned = student_records.of(enrolment)
    context: dict[str, object] = {
        "course": visit.course,
        "enrolment": enrolment,
        "teaches": visit.teaches,
        "here": address,
        "labs": [
            {"number": LABS[submission.lab].number if submission.lab in LABS else submission.lab, "row": submission}
            for submission in enrolment.submissions.order_by("begun_at")
        ],
        "sandboxes": len(owned.sandboxes),
        "browsers": len(student_records.sessions_of([enrolment])),
        "kept_until": retention.kept_until(visit.course),
    }
    return render(request, "queueviz/pages/course_data.html", context)


def _packed(requester: visitor.Visitor, enrolment: Enrolment, *, scores: bool, notes: bool) -> HttpResponse:
    exporting.EXPORTS.demand(policy.counted_as(requester))
    answer = HttpResponse(exporting.packed(enrolment, scores=scores, notes=notes), content_type="application/zip")
    name = f"{enrolment.course.slug}-{enrolment.pseudonym}.zip"
    answer["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    answer["Content-Encoding"] = "identity"  # it is compressed already
    return answer
