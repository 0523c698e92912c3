"""Pages as a class sees them on the wall: larger, and without a name in them."""

from django.http import HttpRequest


def is_projector(request: HttpRequest) -> bool:
    """Return whether the address has `?projector=1`."""
    return request.GET.get("projector") == "1"
