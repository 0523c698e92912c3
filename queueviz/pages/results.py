"""Results of a course for its teacher: the table, its files, the release to students, and the last regrade."""

import json
from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from queueviz.access import visitor
from queueviz.courses import difference_texts, grade_formats, grades, regrading, releases
from queueviz.courses.course_access import visit_course
from queueviz.courses.course_runs import GRADING
from queueviz.courses.models import Course, Enrolment
from queueviz.pages import course_proofs
from queueviz.pages.course_jobs import job_of
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS

MOST_SHOWN = 300  # differences on the page
JSON, CSV, ZIP = "application/json", "text/csv; charset=utf-8", "application/zip"
Link = grade_formats.Link


def _csv(course: Course, link: Link) -> str:
    return grade_formats.grades_csv(grades.results_of(course), link)


def _gradebook(course: Course, link: Link) -> str:
    return grade_formats.gradebook_csv(course, grades.results_of(course))


def _json(course: Course, link: Link) -> str:
    return grade_formats.grades_json(course, grades.results_of(course), link)


def _gradescope(course: Course, link: Link) -> bytes:
    return grade_formats.gradescope_zip(course, grades.results_of(course))


def _exercism(course: Course, link: Link) -> bytes:
    return grade_formats.exercism_zip(grades.results_of(course))


FILES: dict[str, tuple[str, Callable[[Course, Link], str | bytes]]] = {
    "grades.csv": (CSV, _csv),
    "gradebook.csv": (CSV, _gradebook),
    "grades.json": (JSON, _json),
    "gradescope.zip": (ZIP, _gradescope),
    "exercism.zip": (ZIP, _exercism),
}


@require_GET
def results(request: HttpRequest, slug: str) -> HttpResponse:
    course = visit_course(visitor.of_request(request), slug, "grade").course
    made = regrading.newest(course)
    rows = [] if made is None else made.differences
    students = grades.results_of(course)
    context: dict[str, object] = _chosen(course, students, request.GET) | {
        "students": students,
        "labs": [LABS[lab] for lab in course.labs if lab in LABS],
        "released": releases.is_released(course),
        "files": FILES,
        "regrade": made,
        "differences": [difference_texts.shown(row) for row in rows[:MOST_SHOWN]],
        "left_out": max(0, len(rows) - MOST_SHOWN),
        "most": grades.MOST_SCORE * len(course.labs),
        **job_of(course, GRADING),
        **course_proofs.context_of(course),
    }
    return render(request, "queueviz/pages/course_results.html", context)


@require_POST
def release(request: HttpRequest, slug: str) -> HttpResponse:
    releases.release(visit_course(visitor.of_request(request), slug, "grade").course)
    return redirect("course-results", slug)


@require_POST
def publish(request: HttpRequest, slug: str) -> HttpResponse:
    """Publish the regrade with the number `regrade`, so that exactly the regrade on the page is published."""
    course = visit_course(visitor.of_request(request), slug, "grade").course
    made = regrading.newest(course)
    if made is None or str(made.pk) != request.POST.get("regrade", ""):
        raise ActionRefused(
            409, "A newer regrade exists, or none exists.", "Read the differences of the newest regrade first."
        )
    regrading.publish(made)
    return redirect("course-results", slug)


@require_GET
def file(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    course = visit_course(visitor.of_request(request), slug, "grade").course
    if name not in FILES:
        raise Http404
    kind, written = FILES[name]
    return _download(written(course, _link(request)), kind, f"{slug}-{name}")


@require_GET
def of_student(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Return Gradescope's `results.json` of one student."""
    course = visit_course(visitor.of_request(request), slug, "grade").course
    contents = grade_formats.gradescope(course, _student(course, number))
    return _download(json.dumps(contents, ensure_ascii=False, indent=2), JSON, "results.json")


@require_GET
def of_lab(request: HttpRequest, slug: str, number: int, lab: str) -> HttpResponse:
    """Return Exercism's `results.json` of one student's lab."""
    course = visit_course(visitor.of_request(request), slug, "grade").course
    result = next(
        (result_of_lab for result_of_lab in _student(course, number).labs if result_of_lab.lab.slug == lab), None
    )
    if result is None:
        raise Http404
    return _download(json.dumps(grade_formats.exercism(result), ensure_ascii=False, indent=2), JSON, "results.json")


def _chosen(course: Course, students: list[grades.StudentResult], query: QueryDict) -> dict[str, object]:
    """Return the results to show step by step: all labs of a student, or one lab of all students.

    Without a lab in the query, the first one.
    """
    student = next((student for student in students if str(student.number) == query.get("student")), None)
    if student is not None:
        return {
            "chosen": [(student, result) for result in student.labs],
            "chosen_title": student.pseudonym,
            "chosen_student": student.number,
        }
    lab = query.get("lab") if query.get("lab") in course.labs else next(iter(course.labs), None)
    rows = [(student, result) for student in students for result in student.labs if result.lab.slug == lab]
    return {"chosen": rows, "chosen_title": f"{rows[0][1].lab.number} {gettext(rows[0][1].lab.title)}" if rows else ""}


def _student(course: Course, number: int) -> grades.StudentResult:
    enrolment = get_object_or_404(Enrolment, course=course, pk=number, removed_at__isnull=True)
    [result] = grades.results_of(course, enrolment)
    return result


def _link(request: HttpRequest) -> Link:
    return lambda slug: request.build_absolute_uri(reverse("sandbox-page", args=[slug, "journal"]))


def _download(content: str | bytes, kind: str, name: str) -> HttpResponse:
    answer = HttpResponse(content, content_type=kind)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["Cache-Control"] = "no-store"
    return answer
