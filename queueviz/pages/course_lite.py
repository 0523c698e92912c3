"""The page of a lab whose broker runs in the student's browser."""

from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from queueviz.access import visitor
from queueviz.courses import lite_runs, presence, releases, submissions
from queueviz.courses.course_access import visit_course
from queueviz.courses.grid_texts import HELD
from queueviz.courses.models import Course, Enrolment, Submission
from queueviz.operations.lite_files import lite_files
from queueviz.pages.class_bands import poll_band
from queueviz.pages.lite import TEXTS, Beginning, config_of
from queueviz.slugs import is_in_browser
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS
from sandbox.labs.lab import Lab

PAGE = "queueviz/pages/course_lite.html"
MANY = 20  # seats; from there on the students' browsers are the first choice
CLASS_TEXTS = {
    "class.received": _("Your teacher's server has all of your work"),
    "class.waits": _("Not sent yet: {n}. Your browser keeps it."),
    "class.away": _("No connection. Your work goes on here, and is sent later."),
    "class.elsewhere": _("This lab goes on in another tab or on another device."),
    "class.removed": _("You are no longer in this course, or the lab was deleted."),
}


def begin(requester: visitor.Visitor, enrolment: Enrolment, lab: Lab, *, asks_server: bool = False) -> str:
    """Begin or continue the student's work on this lab, and return the address of its page.

    `asks_server`: the browser cannot run it.  Without Lite's files labs begin on the server.  Raises as
    `submissions.begin`.
    """
    course = enrolment.course
    in_browser = course.where != Course.Where.SERVER and lite_files() is not None
    hosted = asks_server and may_be_hosted(course)
    work = submissions.begin(requester, enrolment, lab, in_browser=in_browser and not hosted)
    presence.note(requester)
    assert work.sandbox is not None
    if is_in_browser(work.sandbox.slug):
        return reverse("course-lab-browser", args=[course.slug, lab.slug])
    return reverse("lab", args=[work.sandbox.slug, lab.slug])


def may_be_hosted(course: Course) -> bool:
    return course.where != Course.Where.BROWSER


def first_choice() -> str:
    """Return where the labs of a new course run, unless its teacher chooses otherwise.

    A new course has more than MANY seats.
    """
    return Course.Where.SERVER if lite_files() is None else Course.Where.BOTH


@require_GET
def lab(request: HttpRequest, slug: str, lab: str) -> HttpResponseBase:
    """Show the page that begins the student's lab, or goes on with it."""
    requester = visitor.of_request(request)
    visit = visit_course(requester, slug, "see")
    if visit.enrolment is None:
        return redirect("course-live", slug)
    work = get_object_or_404(Submission.objects.select_related("sandbox"), enrolment=visit.enrolment, lab=lab)
    files = lite_files()
    if work.sandbox is None or not is_in_browser(work.sandbox.slug):
        return redirect("course", slug)
    if files is None:
        raise ActionRefused(503, "Sandboxes in the browser were not built on this server.", "Ask your teacher.")
    run = lite_runs.begin(work, engine=files["digest"], now=timezone.now())
    presence.note(requester)
    values = _values(visit.course, work, shows_score=releases.is_released(visit.course))
    values |= {"course": visit.course, "enrolment": visit.enrolment, "asks": presence.asks(requester, visit.course)}
    values |= {"may_be_hosted": may_be_hosted(visit.course) and not run.length}
    values |= poll_band(visit.course, visit.enrolment)

    @csp_update({"worker-src": ["'self'"], "frame-src": ["'self'"]})
    def drawn(request: HttpRequest) -> HttpResponse:
        return render(request, PAGE, values)

    return drawn(request)


def _values(course: Course, work: Submission, *, shows_score: bool) -> dict[str, object]:
    assert work.sandbox is not None
    root = reverse("course-lab-browser", args=[course.slug, work.lab])
    title = gettext(LABS[work.lab].title)
    begin = reverse("course-lab", args=[course.slug, work.lab])
    beginning = Beginning("class", work.lab, title, root, begin, f"labs/{work.lab}/")
    config = config_of(beginning)
    assert config is not None
    config |= {
        "slug": work.sandbox.slug,
        "course": {"slug": course.slug, "socket": f"/ws/lite/{work.sandbox.slug}/", "scores": shows_score},
    }
    return {"beginning": beginning, "config": config, "texts": {"texts": HELD | TEXTS | CLASS_TEXTS}}
