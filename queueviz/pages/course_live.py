"""The live page of a course for its teacher, with interventions in all sandboxes at once."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from queueviz import refusals
from queueviz.access import visitor
from queueviz.boards.js_texts import texts
from queueviz.courses import broadcasts, pacing
from queueviz.courses.course_access import visit_course
from queueviz.courses.grid import Grid, students_of
from queueviz.courses.grid_texts import BROADCASTS, WORDS
from queueviz.courses.join_picture import join_picture
from queueviz.pages.course_notices import notices
from queueviz.pages.projector import is_projector
from sandbox.kernel.errors import ActionRefused

MOST_NUMBERS = 200


@require_GET
def live(request: HttpRequest, slug: str) -> HttpResponse:
    """Show all students of the course with their live tiles."""
    visit = visit_course(visitor.of_request(request), slug, "grade")
    rows = Grid(len(visit.course.labs)).rows(students_of(visit.course), {})
    name = f"grid/{slug}"
    join = request.build_absolute_uri(reverse("join"))
    return render(
        request,
        "queueviz/pages/course_live.html",
        {
            "course": visit.course,
            "rows": rows,
            "join_address": join.partition("://")[2].rstrip("/"),
            "picture": join_picture(f"{join}?code={visit.course.code}") if visit.course.code else None,
            "texts": texts(WORDS),
            "broadcasts": BROADCASTS.items(),
            "projector": is_projector(request),
            "paces": pacing.rows(visit.course),
            "live": {"channels": {"grid": name}, "first": {}, "seq": "0", "root": request.path},
            **notices(visit.course),
        },
    )


@require_POST
def broadcast(request: HttpRequest, slug: str) -> HttpResponse:
    """Execute a broadcast and return its outcome, or a refusal, as JSON for the page's script.

    `kind`, `in_s`, `students`: their numbers, or none for all.
    """
    requester = visitor.of_request(request)
    course = visit_course(requester, slug, "grade").course
    try:
        kind = broadcasts.kind_of(request.POST.get("kind", ""))
        numbers = [_whole(text, "students") for text in request.POST.getlist("students")[:MOST_NUMBERS]]
        in_s = _whole(request.POST.get("in_s", "0"), "in_s")
        outcome = broadcasts.broadcast(requester, course, kind, broadcasts.chosen(course, numbers), in_s)
    except ActionRefused as error:
        status, body = refusals.describe(error)
        return JsonResponse(body, status=status)
    return JsonResponse(outcome.row())


def _whole(text: str, field: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ActionRefused(422, "{text} is not a whole number.", "Use digits.", field=field, text=text[:20] or "–")
    return int(text)
