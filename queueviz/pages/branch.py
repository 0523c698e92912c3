"""Branches from an event: their creation, and the page of its progress."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from queueviz.access import policy, visitor
from queueviz.links import branching as branches
from queueviz.links import incidents
from queueviz.pages.redirects import go
from queueviz.pages.what_if import moved
from queueviz.pages.what_if_comparison import change_of
from queueviz.sandboxes import ownership
from queueviz.whole_numbers import event_number

POLLED = "queueviz/partials/branching.html"


@require_http_methods(["GET", "POST"])
def branch(request: HttpRequest, slug: str) -> HttpResponse:
    """Create a branch from event `at`.  GET: redirect to the page that replaced the form.

    `seq` and `instead` in the form: the actions to change, and the action in the place of one; without `instead` they
    are left out.
    """
    requester = visitor.of_request(request)
    policy.sandbox_for(requester, slug, "see")
    if request.method == "GET":
        return moved(request, slug)
    at = event_number(request.POST.get("at", ""))
    if "seq" not in request.POST:
        made = branches.branch(requester, slug, at=at)
    else:
        seqs, other = change_of(slug, request.POST)
        instead = None if other is None else {seqs[0]: dict(other)}
        made = branches.branch(requester, slug, at=at, without=seqs if other is None else (), instead=instead)
    return redirect("branching", made.sandbox.slug)


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
