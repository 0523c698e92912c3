"""Live links: the read-only pages and requests of `/s/SLUG/` for the readers of a link, at `/v/SECRET/`.

A visitor with the link has the link's right and no other: `policy` decides, as everywhere.
"""

from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import Resolver404, resolve
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from queueviz.access import hidden_names, visitor
from queueviz.access.hidden_names import Mask
from queueviz.links import share_links
from queueviz.links.share_links import Share

PAGES = {"sandbox", "sandbox-page", "part", "ask", "client", "message", "freshness", "audit", "history"}
API = {"ask", "events", "journal", "state", "changes"}  # below /api/sandboxes/SLUG/


@never_cache
@require_GET
def below(request: HttpRequest, secret: str, rest: str) -> HttpResponseBase:
    """Serve a page or API response of the sandbox that this live link shows, read-only."""
    link = share_links.find(visitor.of_request(request), secret)
    if link.kind != share_links.LIVE:
        raise Http404
    return through(request, link, secret, rest)


def through(request: HttpRequest, link: Share, secret: str, rest: str = "") -> HttpResponseBase:
    """Return the response that the sandbox's own address gives to a visitor with only the link.

    `hidden_names` replaces the sandbox's name.  Raises Http404 for a page or API that live links do not offer.
    """
    slug = link.sandbox.slug
    request.mask = mask = Mask(slug, secret)  # type: ignore[attr-defined]  # for middleware, as `user` is
    of_api = rest.removeprefix("api/") if rest.startswith("api/") else None
    try:
        match = resolve(f"/s/{slug}/{rest}" if of_api is None else f"/api/sandboxes/{slug}/{of_api}")
    except Resolver404:
        raise Http404 from None
    if not (match.url_name in PAGES if of_api is None else of_api.partition("/")[0] in API):
        raise Http404
    with hidden_names.behind(mask):
        answer: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return answer
