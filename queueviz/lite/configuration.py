"""Django's settings and template engine for Lite.  Only templates and translations need them."""

from functools import cache
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.template import Engine

PACKAGE = Path(__file__).parent.parent
INSTALLED = PACKAGE / "site"  # where the wheel holds templates/ and static/ of a checkout
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]

LIBRARIES = {
    "i18n": "django.templatetags.i18n",
    "static": "django.templatetags.static",
    **{
        name: f"queueviz.templatetags.{name}"
        for name in (
            "cluster",
            "explained",
            "fidelity",
            "formats",
            "frames",
            "layout",
            "live_fields",
            "messages",
            "pages",
            "rebalance",
            "store",
            "strips",
            "topology",
        )
    },
}
"""The libraries of a sandbox's templates.  The others need the database."""


def configure(static: str) -> None:
    """Configure Django, unless it is configured already.  `static`: URL path of the static files."""
    if settings.configured:
        return
    settings.configure(
        SITE=INSTALLED if INSTALLED.is_dir() else PACKAGE.parent,
        STATIC_URL=static,
        LANGUAGE_CODE="en",
        LANGUAGES=LANGUAGES,
        LOCALE_PATHS=[PACKAGE / "locale"],
        USE_I18N=True,
        USE_TZ=True,
        TIME_ZONE="UTC",
    )
    apps.populate(())  # translations are refused before


@cache
def templates() -> Engine:
    """Return the template engine, with the libraries of a sandbox's templates."""
    return Engine(dirs=[str(settings.SITE / "templates")], libraries=LIBRARIES, builtins=["queueviz.lite.tags"])
