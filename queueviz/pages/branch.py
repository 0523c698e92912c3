"""Pages to branch from an event: the kept part of the run, the progress of the branch, and its sandbox."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from queueviz import engine
from queueviz.access import policy, visitor
from queueviz.boards.js_texts import texts
from queueviz.links import branching as branches
from queueviz.links import incidents
from queueviz.pages.redirects import go
from queueviz.sandboxes import ownership
from queueviz.slugs import root_of
from queueviz.whole_numbers import event_number
from sandbox.journal.event_filter import EventFilter

MOST_ACTIONS = 50  # of the newest before the event that are offered
POLLED = "queueviz/partials/branching.html"


@require_http_methods(["GET", "POST"])
def branch(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the event and the actions before it, each of which may be left out.  POST makes the branch."""
    requester = visitor.of_request(request)
    sandbox = policy.sandbox_for(requester, slug, "see")
    if request.method == "POST":
        made = branches.branch(
            requester,
            slug,
            at=event_number(request.POST.get("at", "")),
            without=[event_number(seq) for seq in request.POST.getlist("without")],
        )
        return redirect("branching", made.sandbox.slug)
    at = event_number(request.GET.get("at", ""))
    page = engine.answer(engine.port().look_back(slug, EventFilter("actions", ()), before=at + 1, most=MOST_ACTIONS))
    actions = [row for row in page.rows if row["by"] != "template"]
    return render(
        request,
        "queueviz/pages/branch.html",
        {"sandbox": sandbox, "root": root_of(slug), "at": at, "actions": actions, "texts": texts()},
    )


@require_http_methods(["GET", "POST"])
def branching(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the progress of a new sandbox, then redirect to it.  POST cancels and deletes it."""
    requester = visitor.of_request(request)
    sandbox = policy.sandbox_for(requester, slug, "share" if request.method == "POST" else "see")
    back = reverse("sandbox-page", args=[sandbox.branch_of, "journal"]) if sandbox.branch_of else reverse("home")
    if request.method == "POST":
        ownership.delete(requester, sandbox)
        return redirect(back)
    state = branches.state(slug)
    if state["state"] not in ("branching", "failed"):
        return go(request, incidents.first_address(slug) if not sandbox.branch_of else reverse("sandbox", args=[slug]))
    reason = gettext(failed) if (failed := state.get("failed")) else ""
    context: dict[str, object] = {
        "sandbox": sandbox,
        "state": state,
        "back": back,
        "why": reason,
        "percent": int((state.get("progress") or 0) * 100),
    }
    return render(request, POLLED if getattr(request, "htmx", False) else "queueviz/pages/branching.html", context)
