"""The context processor: values that every template gets in addition to its own."""

from django.http import HttpRequest

THEME_COOKIE = "theme"
THEMES = ("auto", "light", "dark")


def theme_of(request: HttpRequest) -> str:
    """Return the reader's theme from the cookie; `auto` follows the system."""
    chosen = request.COOKIES.get(THEME_COOKIE, "auto")
    return chosen if chosen in THEMES else "auto"


def shell(request: HttpRequest) -> dict[str, object]:
    return {"theme": theme_of(request), "themes": THEMES}
