"""The landing page: the live board of the demo with a suggested click, and the ways in."""

from typing import cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from queueviz import engine, refusals
from queueviz.access import policy, visitor
from queueviz.boards import BOARDS
from queueviz.boards.home_texts import HOME
from queueviz.boards.js_texts import with_texts
from queueviz.boards.rows import MemberView, QueueView
from queueviz.forms import NewSandboxForm
from queueviz.pages import errors, page_snapshot, sandbox_states
from queueviz.pages.context import THEME_COOKIE, THEMES
from queueviz.pages.redirects import back_of, go
from queueviz.pages.sandbox_operations import make_room
from queueviz.sandboxes import creation, demo, ownership
from queueviz.slugs import root_of
from sandbox.cluster.templates import TEMPLATES
from sandbox.control.limits import HostLimits
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.labs.catalogue import LABS
from sandbox.labs.catalogue.packs import PACKS
from sandbox.labs.incidents import INCIDENTS
from sandbox.queries.rows.followed import SETTLED_MS

DEMO_GROUP = "gate-display"
SHOWN_QUEUES = 8
SHOWN_INCIDENTS = 12  # whole rows of two, three and four


@require_GET
def landing(request: HttpRequest) -> HttpResponse:
    requester = visitor.of_request(request)
    context = {
        "templates": list(TEMPLATES),
        "first_lab": PACKS[0].labs[0],
        "incidents": [
            {
                "slug": incident.slug,
                "complaint": gettext(incident.complaint),
                "circumstance": gettext(incident.circumstance),
            }
            for incident in list(INCIDENTS.values())[:SHOWN_INCIDENTS]
        ],
        "all_incidents": len(INCIDENTS),
        "all_labs": len(LABS),
        **sandbox_states.of_visitor(requester, attach=False),
        "first": True,
        "may_attach": policy.may_attach(requester),
        "most": HostLimits().sandboxes_per_visitor,
    }
    try:
        context |= _live_board()
    except SandboxError as quiet:  # the page is worth showing without its board
        context["quiet"] = refusals.describe(quiet)[1]["error"]
    return render(request, "queueviz/pages/home.html", context)


@require_GET
def standing(request: HttpRequest) -> HttpResponse:
    """Show the visitor's sandboxes and clusters with their current state, as a partial."""
    requester = visitor.of_request(request)
    context = {**sandbox_states.of_visitor(requester, attach=True), "may_attach": policy.may_attach(requester)}
    return render(request, "queueviz/partials/places.html", context)


def _live_board() -> dict[str, object]:
    sandbox = ownership.demo_sandbox()
    snapshot = engine.answer(engine.port().snapshot(sandbox.slug))
    page = BOARDS["board"]
    context = page_snapshot.of_page(page, sandbox.slug, snapshot, {"group": DEMO_GROUP})
    members = cast(list[MemberView], context["members"])
    return {
        "sandbox": sandbox,
        "root": root_of(sandbox.slug),
        "snapshot": snapshot,
        "can": page_snapshot.HOST_CAN,
        "tab": "home",
        **context,
        "texts": with_texts(context["texts"], HOME),
        "shown_queues": cast(list[QueueView], context["queues"])[:SHOWN_QUEUES],
        "suggested": next((view for view in members if view.running), members[0] if members else None),
        "returns_ms": round(demo.CRASHED_FOR_S * 1000),
        "settled_ms": SETTLED_MS,
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
