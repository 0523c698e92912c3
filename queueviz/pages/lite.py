"""Lite: a sandbox that runs in the reader's browser.  The server only sends the page and its files."""

from csp.decorators import csp_update
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from queueviz.operations.lite_files import lite_files
from queueviz.pages.context import THEME_COOKIE
from queueviz.slugs import new_slug
from sandbox.cluster.templates import TEMPLATES

PAGE = "queueviz/pages/lite.html"
UNKNOWN = "queueviz/pages/lite_unknown.html"
TEXTS = {
    "lite.loading": _("Loading: {loaded} of {total} MB"),
    "lite.starting": _("Starting the broker"),
    "lite.kept": _("Kept in this browser"),
    "lite.continued": _("Kept in this browser, and continued"),
    "lite.none": _("Not kept: this browser stores nothing for this address"),
    "lite.other": _("Not kept: the sandbox runs in another tab"),
    "lite.full": _("No longer kept: the browser's storage is full"),
    "lite.over": _("Start over"),
    "lite.sure": _("Delete this run and start over"),
    "lite.slept": _("This tab slept for {time}. The sandbox did not run."),
    "lite.network": _("The files could not be loaded."),
    "lite.memory": _("This browser does not have enough free memory for the sandbox."),
    "lite.engine": _("The sandbox stopped in this browser because of an error."),
    "lite.answer": _("This page cannot be shown in the browser."),
    "lite.unsupported": _("This browser cannot run the sandbox: it has no WebAssembly."),
}


@require_GET
@csp_update({"worker-src": ["'self'"], "frame-src": ["'self'"]})  # type: ignore[arg-type]  # it passes arguments on
def lite(request: HttpRequest, template: str) -> HttpResponse:
    """Show the page that runs a sandbox of this template, or the list of templates if there is none of that name."""
    if template not in TEMPLATES:
        return render(request, UNKNOWN, {"template": template, "templates": list(TEMPLATES)}, status=404)
    return render(
        request, PAGE, {"template": template, "config": _config("template", template), "texts": {"texts": TEXTS}}
    )


def _config(kind: str, name: str) -> dict[str, object] | None:
    """Return the start values of the page's module, or None if Lite was not built on this server."""
    files = lite_files()
    if files is None:
        return None
    return {
        "files": files,
        "worker": static("queueviz/js/lite/worker.js"),
        "kind": kind,
        "name": name,
        "slug": new_slug(),
        "root": reverse("lite", args=[name]),
        "home": reverse("home"),
        "static": settings.STATIC_URL,
        "cookies": {"theme": THEME_COOKIE, "language": settings.LANGUAGE_COOKIE_NAME},
    }
