"""The pages that an LMS opens: login, launch, and their targets (docs/lti.md)."""

from collections.abc import Callable, Iterable
from functools import wraps
from urllib.parse import urlencode, urlsplit

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from pylti1p3.deep_link import DeepLink
from pylti1p3.deep_link_resource import DeepLinkResource
from pylti1p3.lineitem import LineItem

from queueviz import refusals
from queueviz.access import visitor
from queueviz.access.policy import Forbidden, NotFound
from queueviz.access.rate_limits import Rate
from queueviz.courses import joining
from queueviz.courses.course_access import visit_course
from queueviz.lti import cookies, keys, launches, messages, scores, seats
from queueviz.lti.models import LtiLaunch, LtiPlatform
from queueviz.lti.registered import hosts_of, may_ask, platform_of, registration_of
from queueviz.lti.registering import deep_link_uri
from queueviz.pages import course_lite, errors
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.labs.catalogue import LABS

LAUNCHES = Rate(4, 240, what="launches")  # a school behind one address; each launch is two requests
FRAMES = ("iframe", "frame", "embed", "object")
HINTS = ("iss", "login_hint", "target_link_uri", "lti_message_hint", "lti_deployment_id", "client_id")
HINT_CHARS = 4096
TAG = "queueviz"
View = Callable[[HttpRequest], HttpResponse]


def from_elsewhere(view: View) -> View:
    """Wrap a view to which forms of other sites lead, without the browser's cookies.

    The view checks no CSRF token, and sets none: that would replace the token of the browser's other pages.
    """

    @wraps(view)
    def answered(request: HttpRequest) -> HttpResponse:
        try:
            LAUNCHES.demand(visitor.of_request(request).address)
            answer = view(request)
        except SandboxError as error:
            status, texts = refusals.describe(error)
            answer = errors.sentence(request, status, **texts)
            framed(answer, _asking(request))
        request.META["CSRF_COOKIE_NEEDS_UPDATE"] = False
        return answer

    return csrf_exempt(never_cache(answered))


def framed(answer: HttpResponse, platform: LtiPlatform | None, to: Iterable[str] = ()) -> HttpResponse:
    """Allow a response to be shown in a frame of this platform, with forms that go to the addresses `to`."""
    if platform is not None:
        parents = [f"https://{host}" for host in sorted(hosts_of(platform))]
        targets = ["'self'", *(f"{urlsplit(address).scheme}://{urlsplit(address).netloc}" for address in to)]
        answer.xframe_options_exempt = True
        answer._csp_replace = {"frame-ancestors": parents, "form-action": targets}  # type: ignore[attr-defined]
    return answer


@from_elsewhere
@require_http_methods(["GET", "POST"])
def login(request: HttpRequest) -> HttpResponse:
    """Begin a launch for an LMS.

    In a frame, a page that opens a new window comes first: sandboxes are not shown in frames.
    """
    hints = {name: value for name in HINTS if (value := (request.GET.get(name) or request.POST.get(name, "")))}
    if any(len(value) > HINT_CHARS for value in hints.values()):
        raise ActionRefused(400, "The data from your LMS does not start a launch.", "Open the link in your LMS again.")
    launch_url = request.build_absolute_uri(reverse("lti-launch"))
    chooses = hints.get("target_link_uri") == deep_link_uri(launch_url)
    if request.headers.get("Sec-Fetch-Dest") in FRAMES and not chooses:
        answer = render(request, "queueviz/pages/lti_window.html", {"address": f"{request.path}?{urlencode(hints)}"})
        return framed(answer, _asking(request))
    address, begun = messages.begin(request, launch_url)
    answer = redirect(address)
    cookies.keep(answer, begun)
    return answer


@from_elsewhere
@require_POST
def launch(request: HttpRequest) -> HttpResponse:
    """Verify and store the signed launch of an LMS, and redirect to its target."""
    verified = messages.verify(request)
    received = launches.receive(verified)
    name = "lti-choose" if received.kind == LtiLaunch.Kind.DEEP_LINK else "lti-enter"
    return redirect(name, verified.begun.state)


@never_cache
@require_GET
def jwks(request: HttpRequest) -> HttpResponse:
    """Return the server's public keys."""
    return JsonResponse(keys.published())


@never_cache
@require_GET
def enter(request: HttpRequest, state: str) -> HttpResponse:
    """Redirect a launch to its target.

    A learner gets to the lab.  An instructor gets to the linked course, or to the page that links one.
    """
    received, requester = launches.of_browser(request, state), visitor.of_request(request)
    if received.kind == LtiLaunch.Kind.LEARNER:
        seat = launches.enter(received)
        course = seat.enrolment.course
        joining.keep(requester, course, seats.secret_of(seat))
        answer = redirect("course", course.slug)
        if received.lab in LABS and received.lab in course.labs:
            answer = redirect(course_lite.begin(requester, seat.enrolment, LABS[received.lab]))
        cookies.forget(answer, state)
        return answer
    link = launches.link_of(received)
    if link is None:
        return redirect("lti-link", state)
    try:
        visit_course(requester, link.course.slug, "grade")
    except (NotFound, Forbidden):
        if not requester.is_signed_in:
            return redirect(f"{reverse('login')}?next={reverse('course', args=[link.course.slug])}")
        raise NotFound("This course of your LMS is linked to a course of another account.") from None
    return redirect("course", link.course.slug)


@never_cache
@require_GET
def choose(request: HttpRequest, state: str) -> HttpResponse:
    """Show the labs for deep linking, in the LMS's frame.  The instructor selects some (`lab`, more than once).

    With a selection, return them to the LMS.  Nothing changes here, so this is a GET: in a frame of another site
    there is no CSRF cookie.
    """
    received = launches.of_browser(request, state)
    if received.kind != LtiLaunch.Kind.DEEP_LINK:
        raise NotFound("This launch was not started in this browser, or it is expired.")
    settings, platform, link = received.claims["settings"], received.platform, launches.link_of(received)
    back = settings.get("deep_link_return_url")
    if not may_ask(platform, back):
        sentence = gettext("Your LMS requests the labs at a host that is not registered.")
        answer = errors.sentence(
            request, 403, error=sentence, hint=gettext("The account that registered the LMS can add the host.")
        )
        return framed(answer, platform)
    offered = [slug for slug in LABS if link is None or slug in link.course.labs]
    chosen = [slug for slug in offered if slug in request.GET.getlist("lab")]
    several = settings.get("accept_multiple") in (True, "true")
    if not chosen:
        labs = [{"slug": slug, "number": LABS[slug].number, "title": gettext(LABS[slug].title)} for slug in offered]
        answer = render(request, "queueviz/pages/lti_choose.html", {"labs": labs, "several": several, "link": link})
        return framed(answer, platform)
    target = request.build_absolute_uri(reverse("lti-launch"))
    items = [Item.of(slug, target) for slug in chosen[: None if several else 1]]
    token = DeepLink(registration_of(platform), received.claims["deployment"], settings).get_response_jwt(items)
    answer = render(request, "queueviz/pages/lti_chosen.html", {"back": back, "token": token, "items": items})
    return framed(answer, platform, [back])


class Item(DeepLinkResource):
    """A deep link to one lab, with its own line item, that opens in a new window."""

    @classmethod
    def of(cls, slug: str, target: str) -> "Item":
        title = f"{LABS[slug].number} · {gettext(LABS[slug].title)}"
        line_item = LineItem().set_label(title).set_score_maximum(scores.FULL_SCORE).set_resource_id(slug).set_tag(TAG)
        made = cls()
        made.set_url(target).set_title(title).set_custom_params({"lab": slug}).set_lineitem(line_item)
        return made

    def to_dict(self) -> dict[str, object]:
        return super().to_dict() | {"window": {"targetName": "_blank"}}


def _asking(request: HttpRequest) -> LtiPlatform | None:
    """Return the platform that a login names, or that began the launch of this form; None if unknown."""
    begun = cookies.begun(request, request.POST.get("state", ""))
    if begun is not None:
        return LtiPlatform.objects.filter(pk=begun.platform).first()
    fields = {**request.POST.dict(), **request.GET.dict()}
    return platform_of(str(fields.get("iss", "")), str(fields.get("client_id", "")) or None)
