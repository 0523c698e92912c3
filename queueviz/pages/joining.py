"""Pages for joining a course: by its code, or by the student's personal link on another device."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from queueviz import refusals
from queueviz.access import visitor
from queueviz.courses import joining
from queueviz.courses.course_access import courses_of
from sandbox.kernel.errors import ActionRefused


@require_http_methods(["GET", "POST"])
def join(request: HttpRequest) -> HttpResponse:
    """Join a course with a code, without an account or a name; a pseudonym is optional."""
    requester, form = visitor.of_request(request), request.POST if request.method == "POST" else request.GET
    context: dict[str, object] = {"code": form.get("code", "")[:12], "pseudonym": form.get("pseudonym", "")[:40]}
    status = 200
    if request.method == "POST":
        try:
            enrolment = joining.join(requester, form.get("code", ""), form.get("pseudonym", ""))
        except ActionRefused as error:
            status, context["refused"] = refusals.describe(error)
        else:
            return redirect("course", enrolment.course.slug)
    context["mine"] = courses_of(requester)
    return render(request, "queueviz/pages/join.html", context, status=status)


@never_cache
@require_http_methods(["GET", "POST"])
def seat(request: HttpRequest, secret: str) -> HttpResponse:
    """Show the question of a student's personal link.  POST continues the course in this browser.

    Opening the link changes nothing, since the preview of a chat may open it.
    """
    if request.method == "POST":
        return redirect("course", joining.take(visitor.of_request(request), secret).course.slug)
    return render(request, "queueviz/pages/seat.html")
