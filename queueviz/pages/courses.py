"""The page of a course, for the student and for the teacher, and the teacher's changes."""

import csv
from datetime import datetime

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.timezone import is_naive, localdate, make_aware
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from queueviz.access import visitor
from queueviz.courses import deadlines, grades, joining, presence, releases, retention, teaching
from queueviz.courses.course_access import CourseVisit, courses_of, visit_course
from queueviz.courses.csv_cells import cell
from queueviz.courses.models import MOST_STUDENTS, TIME_FACTORS, Course, Enrolment, Submission
from queueviz.lti import scores
from queueviz.pages import course_lite
from queueviz.pages.course_notices import notices
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS
from sandbox.labs.catalogue.packs import PACKS, pack_of

ROSTER_BYTES = 64 * 1024


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Show the form for a new course.  POST creates it, for a visitor with an account.

    `pack`: all labs of this pack; without it, `labs`.
    """
    requester = visitor.of_request(request)
    if request.method == "POST":
        pack = pack_of(request.POST.get("pack", ""))
        labs = request.POST.getlist("labs") if pack is None else [lab.slug for lab in pack.labs]
        course = teaching.create(
            requester,
            request.POST.get("title", ""),
            labs,
            same_numbers="same_numbers" in request.POST,
            where=request.POST.get("where", Course.Where.SERVER),
        )
        return redirect("course-live", course.slug)
    if not requester.is_signed_in:
        return redirect(f"{reverse('login')}?next={request.path}")
    suggested = gettext("RocketMQ, {day}").format(day=date_format(localdate(), "MONTH_DAY_FORMAT"))
    context = {"packs": _packs(), "mine": courses_of(requester), "suggested": suggested}
    context |= {"where": Course.Where.choices, "chosen_where": course_lite.first_choice()}
    return render(request, "queueviz/pages/course_new.html", context)


@require_GET
def course(request: HttpRequest, slug: str) -> HttpResponse:
    """Show roster and settings to the teacher, the labs to a student."""
    requester = visitor.of_request(request)
    visit = visit_course(requester, slug, "see")
    if visit.teaches:
        context = _taught(visit) | {"join_address": request.build_absolute_uri(reverse("join"))}
        return render(request, "queueviz/pages/course_teach.html", context)
    return render(request, "queueviz/pages/course.html", _studied(request, requester, visit))


@require_POST
def lab(request: HttpRequest, slug: str, lab: str) -> HttpResponse:
    """Begin or continue the student's work on this lab, and redirect to its sandbox."""
    requester = visitor.of_request(request)
    visit = visit_course(requester, slug, "see")
    if visit.enrolment is None:
        raise ActionRefused(
            409,
            "A teacher has no submissions.",
            "To try the course as a student, join with the code in another browser.",
        )
    if lab not in LABS:
        raise Http404
    asks_server = request.POST.get("where") == Course.Where.SERVER
    return redirect(course_lite.begin(requester, visit.enrolment, LABS[lab], asks_server=asks_server))


@require_POST
def change(request: HttpRequest, slug: str) -> HttpResponse:
    visit = visit_course(visitor.of_request(request), slug, "grade")
    form = request.POST
    teaching.change(
        visit.course,
        title=form.get("title", ""),
        labs=form.getlist("labs"),
        most_students=_whole(form.get("most_students", "")),
        due_at=_kept(form.get("due_at", "")),
        feedback=form.get("feedback", ""),
        same_numbers="same_numbers" in form,
        where=form.get("where", visit.course.where),
    )
    return redirect("course", slug)


@require_POST
def lobby(request: HttpRequest, slug: str) -> HttpResponse:
    """Open the course for new students with a new code (`state=open`), or close it."""
    visit = visit_course(visitor.of_request(request), slug, "grade")
    (teaching.open_lobby if request.POST.get("state") == "open" else teaching.close_lobby)(visit.course)
    return redirect("course", slug)


@require_POST
def student(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Change a student: `do` is `remove`, `lower` the hand, `note`, or `time` with a factor."""
    visit = visit_course(visitor.of_request(request), slug, "grade")
    enrolment = get_object_or_404(Enrolment, course=visit.course, pk=number, removed_at__isnull=True)
    if request.POST.get("do") == "remove":
        teaching.remove(enrolment)
    elif request.POST.get("do") == "lower":
        presence.lower(enrolment)
        return HttpResponse(status=204)
    elif request.POST.get("do") == "note":
        teaching.write_note(enrolment, request.POST.get("note", ""))
        if getattr(request, "htmx", False):
            return HttpResponse(status=204)
        return redirect(f"{reverse('course-results', args=[slug])}?student={number}#steps")
    else:
        teaching.give_time(enrolment, _number(request.POST.get("time_factor", "")))
    return redirect("course", slug)


@require_POST
def hand(request: HttpRequest, slug: str) -> HttpResponse:
    """Raise the student's own hand, perhaps with a `question` (`do=up`), or lower it (`do=down`)."""
    visit = visit_course(visitor.of_request(request), slug, "see")
    if visit.enrolment is None:
        raise ActionRefused(409, "Teachers cannot raise a hand.", "Lower the hands of students on the live page.")
    if request.POST.get("do") == "down":
        presence.lower(visit.enrolment)
    else:
        presence.ask(visit.enrolment, request.POST.get("question", ""))
    if not getattr(request, "htmx", False):
        return redirect("course", slug)
    return HttpResponse(status=204, headers={"HX-Trigger": "queueviz:lab"})


@require_http_methods(["GET", "POST"])
def roster(request: HttpRequest, slug: str) -> HttpResponse:
    """Return the table of pseudonyms and names.  POST sets names from such a table."""
    visit = visit_course(visitor.of_request(request), slug, "grade")
    if request.method == "GET":
        answer = HttpResponse(content_type="text/csv; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="{slug}-roster.csv"'
        rows = csv.writer(answer)
        rows.writerow(["pseudonym", "name"])
        rows.writerows([cell(student.pseudonym), cell(student.name)] for student in _students(visit.course))
        return answer
    sent = request.FILES.get("roster")
    if sent is None or sent.size is None or sent.size > ROSTER_BYTES:
        raise ActionRefused(
            422,
            "The roster file is missing or too large.",
            "Choose a CSV file of at most {most} bytes.",
            field="roster",
            most=ROSTER_BYTES,
        )
    try:
        table = sent.read().decode("utf-8")
    except UnicodeDecodeError:
        raise ActionRefused(422, "This file is not UTF-8.", "Save the file as CSV UTF-8.", field="roster") from None
    teaching.name_students(visit.course, table)
    return redirect("course", slug)


def _taught(visit: CourseVisit) -> dict[str, object]:
    course = visit.course
    done: dict[int, list[Submission]] = {}
    for submission in Submission.objects.filter(enrolment__course=course):
        done.setdefault(submission.enrolment_id, []).append(submission)
    students = [
        {"row": student, "submissions": _in_order(course, done.get(student.pk, []))} for student in _students(course)
    ]
    return {
        "course": course,
        "students": students,
        "packs": _packs(),
        "time_factors": TIME_FACTORS,
        "feedback": Course.Feedback.choices,
        "where": Course.Where.choices,
        "most_students": MOST_STUDENTS,
        "kept_until": retention.kept_until(course),
        "removed": course.enrolments.filter(removed_at__isnull=False).order_by("pk"),
        "labs": [LABS[slug] for slug in course.labs if slug in LABS],
        **notices(course),
    }


def _studied(request: HttpRequest, requester: visitor.Visitor, visit: CourseVisit) -> dict[str, object]:
    assert visit.enrolment is not None
    course, secret = visit.course, joining.secret_of(requester, visit.course)
    released = releases.is_released(course)
    [results] = grades.results_of(course, visit.enrolment) if released else [None]
    counts = {} if results is None else {result.lab.slug: result.predictions for result in results.labs}
    begun = list(visit.enrolment.submissions.select_related("sandbox"))
    labs = [
        {
            "lab": LABS[slug],
            "title": gettext(LABS[slug].title),
            "goal": gettext(LABS[slug].goal),
            "mine": mine,
            "counts": counts.get(slug),
        }
        for slug, mine in zip(course.labs, _in_order(course, begun), strict=True)
        if slug in LABS
    ]
    link = None if secret is None else request.build_absolute_uri(reverse("seat", args=[secret]))
    return {
        "course": course,
        "enrolment": visit.enrolment,
        "labs": labs,
        "link": link,
        "released": released,
        "results": results,
        "lms": scores.statuses(visit.enrolment),
        "due_at": deadlines.due_of(visit.enrolment),
        **notices(course, visit.enrolment),
    }


def _in_order(course: Course, begun: list[Submission]) -> list[Submission | None]:
    by_lab = {submission.lab: submission for submission in begun}
    return [by_lab.get(slug) for slug in course.labs]


def _students(course: Course) -> list[Enrolment]:
    return list(course.enrolments.filter(removed_at__isnull=True).order_by("pk"))


def _packs() -> list[dict[str, object]]:
    return [
        {
            "slug": pack.slug,
            "title": gettext(pack.title),
            "labs": [(lab, gettext(lab.title)) for lab in pack.labs],
            "minutes": sum(lab.minutes for lab in pack.labs),
        }
        for pack in PACKS
    ]


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 6:
        raise ActionRefused(
            422, "{text} is not a number of places.", "Use digits.", field="most_students", text=text[:20]
        )
    return int(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ActionRefused(
            422, "{text} is not a time factor.", "Choose 1, 1.5 or 2.", field="time_factor", text=text[:20]
        ) from None


def _kept(text: str) -> datetime | None:
    due_at = _time(text)
    retention.demand_kept(due_at)
    return due_at


def _time(text: str) -> datetime | None:
    """Return the time of a browser's form field, in UTC; None for an empty text.  Raises ActionRefused (422)."""
    if not text:
        return None
    try:
        time = parse_datetime(text)
    except ValueError:
        time = None
    if time is None:
        raise ActionRefused(
            422, "Not a date and time: {text}.", "Example: 2026-12-01T10:00.", field="due_at", text=text[:40]
        )
    return make_aware(time) if is_naive(time) else time
