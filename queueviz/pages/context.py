"""The context processor: values that every template gets in addition to its own."""

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from queueviz.operations.lite_files import lite_files

THEME_COOKIE = "theme"
THEMES = ("auto", "light", "dark")


def theme_of(request: HttpRequest) -> str:
    """Return the reader's theme from the cookie; `auto` follows the system."""
    chosen = request.COOKIES.get(THEME_COOKIE, "auto")
    return chosen if chosen in THEMES else "auto"


def shell(request: HttpRequest) -> dict[str, object]:
    offers_lite = SimpleLazyObject(lambda: lite_files() is not None)  # most pages do not ask
    return {"theme": theme_of(request), "themes": THEMES, "offers_lite": offers_lite}
