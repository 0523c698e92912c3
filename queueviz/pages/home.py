"""The landing page: one live strip of the demo, and a button that creates a sandbox."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from queueviz import engine, refusals
from queueviz.access import policy, visitor
from queueviz.boards import BOARDS
from queueviz.forms import NewSandboxForm
from queueviz.pages import errors, page_snapshot, sandbox_states
from queueviz.pages.context import THEME_COOKIE, THEMES
from queueviz.pages.redirects import back_of, go
from queueviz.pages.sandbox_operations import make_room
from queueviz.sandboxes import creation, ownership
from queueviz.slugs import root_of
from sandbox.cluster.templates import TEMPLATES
from sandbox.control.limits import HostLimits
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.labs.catalogue.packs import PACKS
from sandbox.labs.incidents import INCIDENTS

DEMO_GROUP = "gate-display"


@require_GET
def landing(request: HttpRequest) -> HttpResponse:
    requester = visitor.of_request(request)
    context = {
        "templates": list(TEMPLATES),
        "first_lab": PACKS[0].labs[0],
        "incidents": [
            {"slug": incident.slug, "title": gettext(incident.title), "symptom": gettext(incident.symptom)}
            for incident in INCIDENTS.values()
        ],
        **sandbox_states.of_visitor(requester, attach=False),
        "first": True,
        "may_attach": policy.may_attach(requester),
        "most": HostLimits().sandboxes_per_visitor,
    }
    try:
        context |= _live_strip()
    except SandboxError as quiet:  # the page is worth showing without its strip
        context["quiet"] = refusals.describe(quiet)[1]["error"]
    return render(request, "queueviz/pages/home.html", context)


@require_GET
def standing(request: HttpRequest) -> HttpResponse:
    """Show the visitor's sandboxes and clusters with their current state, as a partial."""
    requester = visitor.of_request(request)
    context = {**sandbox_states.of_visitor(requester, attach=True), "may_attach": policy.may_attach(requester)}
    return render(request, "queueviz/partials/places.html", context)


def _live_strip() -> dict[str, object]:
    sandbox = ownership.demo_sandbox()
    snapshot = engine.answer(engine.port().snapshot(sandbox.slug))
    page = BOARDS["board"]
    context = page_snapshot.of_page(page, sandbox.slug, snapshot, {"group": DEMO_GROUP})
    return {
        "sandbox": sandbox,
        "root": root_of(sandbox.slug),
        "snapshot": snapshot,
        "can": page_snapshot.HOST_CAN,
        "tab": "home",
        **context,
    }


@require_POST
def new(request: HttpRequest) -> HttpResponse:
    """Start a sandbox, with one click and without an account."""
    form = NewSandboxForm(request.POST)
    if not form.is_valid():
        raise ActionRefused(422, "A name has at most 80 characters.", "Shorten the text.")
    values, requester = form.cleaned_data, visitor.of_request(request)
    make_room(request, requester)
    try:
        made = creation.create(
            requester, values["template"] or "flights", preset=values["preset"] or "sandbox", name=values["name"]
        )
    except creation.TooManyOwned as refused:
        return errors.too_many_owned(request, requester, refused)
    return go(request, reverse("sandbox", args=[made.sandbox.slug]))


@require_http_methods(["GET", "POST"])
def claim(request: HttpRequest, token: str) -> HttpResponse:
    """Show the question of a claim link.  POST makes the visitor an owner.

    Opening the link does not use it up, since a mail scanner may open it.
    """
    if request.method == "POST":
        sandbox = ownership.claim(visitor.of_request(request), token)
        return redirect("sandbox", sandbox.slug)
    return render(request, "queueviz/pages/claim.html", {"claimed": ownership.claimable(token)})


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Set the theme: light, dark or as the system.  A cookie keeps it, so the first paint is right."""
    chosen = request.POST.get("theme", "")
    answer = go(request, back_of(request))
    if chosen in THEMES:
        answer.set_cookie(
            THEME_COOKIE, chosen, max_age=settings.LANGUAGE_COOKIE_AGE, samesite="Lax", secure=settings.BEHIND_HTTPS
        )
    return answer
