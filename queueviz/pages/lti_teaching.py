"""A teacher's LMS pages: register an LMS, link a course, fetch names.  Students can have a score sent again."""

from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from queueviz.access import visitor
from queueviz.access.rate_limits import Rate
from queueviz.courses.course_access import visit_course
from queueviz.courses.models import Course
from queueviz.lti import launches, registering, roster, scores
from queueviz.lti.models import LtiContext, LtiPlatform
from queueviz.pages.lti import framed
from sandbox.kernel.errors import ActionRefused

ROSTERS = Rate(1 / 30, 5, what="roster requests")


@never_cache
@require_http_methods(["GET", "POST"])
def link(request: HttpRequest, state: str) -> HttpResponse:
    """Show the courses that can be linked to an LMS course.  POST links one.

    This needs an instructor's launch and a teacher who is signed in here.
    """
    received, requester = launches.of_browser(request, state), visitor.of_request(request)
    if not requester.is_signed_in:
        return redirect(f"{reverse('login')}?next={request.path}")
    if request.method == "POST":
        return redirect("course-lti", launches.link(requester, received, request.POST.get("course", "")).slug)
    courses = Course.objects.filter(teacher=requester.user).order_by("-created_at")
    return render(
        request,
        "queueviz/pages/lti_link.html",
        {"title": received.claims.get("title", ""), "platform": received.platform, "courses": courses},
    )


@require_http_methods(["GET", "POST"])
def course(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the LMS links of one course.  POST `do`: `unlink` or `names`, of one `link`."""
    visit = visit_course(visitor.of_request(request), slug, "grade")
    named = None
    if request.method == "POST":
        context = get_object_or_404(LtiContext, course=visit.course, pk=_whole(request.POST.get("link", "")))
        if request.POST.get("do") == "unlink":
            context.delete()
            return redirect("course-lti", slug)
        ROSTERS.demand(slug)
        named = roster.fetch(context)
    links = visit.course.lti_contexts.select_related("platform").order_by("pk")
    return render(request, "queueviz/pages/course_lti.html", {"course": visit.course, "links": links, "named": named})


@require_POST
def resend(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the student's own score in one `lab` again."""
    visit = visit_course(visitor.of_request(request), slug, "see")
    if visit.enrolment is None:
        raise ActionRefused(
            409,
            "A teacher has no submissions.",
            "To try the course as a student, join with the code in another browser.",
        )
    scores.resend(visit.enrolment, request.POST.get("lab", ""))
    return redirect("course", slug)


@never_cache
@require_http_methods(["GET", "POST"])
def platforms(request: HttpRequest) -> HttpResponse:
    """Show the LMSs that the visitor has registered.

    POST `do`: `invite`; or `change` or `remove`, of one `platform`.
    """
    requester = visitor.of_request(request)
    if not requester.is_signed_in:
        return redirect(f"{reverse('login')}?next={request.path}")
    address = None
    if request.method == "POST":
        if request.POST.get("do") == "invite":
            address = request.build_absolute_uri(reverse("lti-register", args=[registering.invite(requester)]))
        else:
            number = _whole(request.POST.get("platform", ""))
            _change(request, get_object_or_404(LtiPlatform, owner=requester.user, pk=number))
            return redirect("lti-platforms")
    mine = requester.user.lti_platforms.order_by("pk")
    return render(
        request, "queueviz/pages/lti_platforms.html", {"platforms": mine, "address": address, "ours": _ours(request)}
    )


@never_cache
@require_GET
def register(request: HttpRequest, secret: str) -> HttpResponse:
    """Register an LMS, which opens this address in a frame of its page for external tools.

    Without the LMS's parameters the page only explains that.
    """
    registering.invitation(secret)
    configuration = request.GET.get("openid_configuration", "")
    if not configuration:
        return render(request, "queueviz/pages/lti_registered.html", {"platform": None})
    made = registering.register(secret, configuration, request.GET.get("registration_token", ""), _ours(request))
    origin = urlsplit(configuration)
    answer = render(
        request,
        "queueviz/pages/lti_registered.html",
        {"platform": made, "origin": f"{origin.scheme}://{origin.netloc}"},
    )
    return framed(answer, made)


def _change(request: HttpRequest, platform: LtiPlatform) -> None:
    if request.POST.get("do") == "remove":
        platform.delete()
        return
    platform.deployments = registering.listed(request.POST.get("deployments", ""))
    platform.hosts = registering.hosts(request.POST.get("hosts", ""))
    platform.save(update_fields=["deployments", "hosts"])


def _ours(request: HttpRequest) -> registering.Ours:
    paths = (*(reverse(name) for name in ("lti-login", "lti-launch", "lti-jwks")), static("queueviz/logo.svg"))
    return registering.Ours(*(request.build_absolute_uri(path) for path in paths))


def _whole(text: str) -> int:
    """Return the number in a text, or 0, which no row has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
