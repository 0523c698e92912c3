"""The page What is verified: five articles' claims about RocketMQ, beside the behaviour of its code."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language
from django.views.decorators.http import require_GET

from queueviz.access import policy, visitor
from queueviz.fidelity.ledger import ledger
from queueviz.fidelity.view import LONGEST_SEARCH, SECTIONS, shown
from queueviz.sandboxes import ownership

PAGE = "queueviz/pages/fidelity.html"
ROWS = "queueviz/partials/ledger.html"


@require_GET
def fidelity(request: HttpRequest) -> HttpResponse:
    """Show all rows, or those of a search.  To htmx, return only the rows.

    Links lead to the visitor's newest sandbox, or to the demo.
    """
    own = policy.sandboxes_of(visitor.of_request(request))
    search, section = request.GET.get("q", "")[:LONGEST_SEARCH], request.GET.get("section", "")
    differing = request.GET.get("differing") == "on"
    selected = shown(
        ledger(),
        get_language() or "en",
        slug=own[0].slug if own else ownership.demo_slug(),
        search=search,
        section=section if section in dict(SECTIONS) else "",
        differing=differing,
    )
    context = {
        "found": selected,
        "search": search,
        "section": section,
        "differing": differing,
        "sections": SECTIONS,
        "longest": LONGEST_SEARCH,
    }
    htmx = getattr(request, "htmx", None)
    part = htmx and not htmx.boosted and not htmx.history_restore_request
    answer = render(request, ROWS if part else PAGE, context)
    patch_vary_headers(answer, ["HX-Request"])
    return answer
