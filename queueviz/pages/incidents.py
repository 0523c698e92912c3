"""The gallery of incidents.  Opening one creates a sandbox of the visitor from its reproducible link."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from queueviz.access import policy, visitor
from queueviz.links import incidents, recipe_links
from queueviz.pages import errors
from queueviz.pages.sandbox_operations import make_room
from queueviz.sandboxes import creation, visitor_actions
from sandbox.labs.incidents import INCIDENTS


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    return render(request, "queueviz/pages/incidents.html", {"incidents": incidents.cards(visitor.of_request(request))})


@require_POST
def open_one(request: HttpRequest, slug: str) -> HttpResponse:
    """Create a sandbox from the incident and redirect to it.

    Raises the same errors as `recipe_links.open_it`.
    """
    incident = INCIDENTS.get(slug)
    if incident is None:
        raise Http404
    requester = visitor.of_request(request)
    visitor_actions.ACTIONS.demand(policy.counted_as(requester))
    make_room(request, requester)
    try:
        made = recipe_links.open_it(requester, incidents.order(incident))
    except creation.TooManyOwned as refused:
        return errors.too_many_owned(request, requester, refused)
    return redirect("branching", made.sandbox.slug)
