"""The gallery of incidents; opening one makes a sandbox of the visitor's own from its recipe."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from queueviz import access, acting, incidents, owners, recipe_links, visitor
from queueviz.pages import errors
from sandbox.labs.incidents import INCIDENTS


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    return render(request, "queueviz/pages/incidents.html", {"incidents": incidents.cards(visitor.of_request(request))})


@require_POST
def open_one(request: HttpRequest, slug: str) -> HttpResponse:
    """As `make` of a recipe link.  Raises as that."""
    incident = INCIDENTS.get(slug)
    if incident is None:
        raise Http404
    who = visitor.of_request(request)
    acting.ACTIONS.demand(access.counted_as(who))
    try:
        made = recipe_links.open_it(who, incidents.order(incident))
    except owners.TooManyOwned as refused:
        return errors.too_many_owned(request, who, refused)
    return redirect("branching", made.sandbox.slug)
