"""To another page, however this one was asked for."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect


def go(request: HttpRequest, url: str) -> HttpResponse:
    """Htmx follows a header, a plain form a redirect."""
    if getattr(request, "htmx", False):
        answer = HttpResponse(status=204)
        answer["HX-Redirect"] = url
        return answer
    return HttpResponseRedirect(url)


def go_again() -> HttpResponse:
    """Htmx loads its whole page again."""
    answer = HttpResponse(status=204)
    answer["HX-Refresh"] = "true"
    return answer
