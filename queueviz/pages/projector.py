"""The projector mode of pages that a class sees: larger, and without names of people."""

from django.http import HttpRequest


def is_projector(request: HttpRequest) -> bool:
    """Return True if the address has `?projector=1`."""
    return request.GET.get("projector") == "1"
