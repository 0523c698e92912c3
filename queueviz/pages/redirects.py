"""Redirects to another page, for htmx requests and plain forms."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme


def go(request: HttpRequest, url: str) -> HttpResponse:
    """Return a redirect to an address: a header for htmx, an HTTP redirect for a plain form."""
    if getattr(request, "htmx", False):
        answer = HttpResponse(status=204)
        answer["HX-Redirect"] = url
        return answer
    return HttpResponseRedirect(url)


def go_again() -> HttpResponse:
    """Return a response that makes htmx reload the whole page."""
    answer = HttpResponse(status=204)
    answer["HX-Refresh"] = "true"
    return answer


def back_of(request: HttpRequest) -> str:
    """Return the address from which a form was sent, if it is a page of this server; else `/`."""
    address = request.POST.get("next") or request.headers.get("Referer", "")
    own = url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return address if own else "/"
