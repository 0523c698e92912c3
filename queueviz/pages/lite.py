"""Lite: a sandbox that runs in the reader's browser.  The server only sends the page and its files."""

from typing import NamedTuple

from csp.decorators import csp_update
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from queueviz.operations.lite_files import lite_files
from queueviz.pages.context import THEME_COOKIE
from queueviz.slugs import new_slug
from queueviz.templatetags.pages import template_text
from sandbox.cluster.templates import TEMPLATES
from sandbox.labs.catalogue import LABS
from sandbox.labs.incidents import INCIDENTS

PAGE = "queueviz/pages/lite.html"
UNKNOWN = "queueviz/pages/lite_unknown.html"
TEXTS = {
    "lite.loading": _("Loading: {loaded} of {total} MB"),
    "lite.starting": _("Starting the broker"),
    "lite.executing": _("Executing the run: {share} %"),
    "lite.copied": _("Copied"),
    "lite.recording": _("Recording: {share} %"),
    "lite.unmade": _("The recording could not be made. Try again."),
    "lite.too_large": _("The run is too large for a recording."),
    "lite.version": _("The files on this server are not those of this page. Reload the page."),
    "lite.kept": _("Kept in this browser"),
    "lite.continued": _("Kept in this browser, and continued"),
    "lite.ended": _("When the tab closed, brokers and clients ended as in a crash. They have started again."),
    "lite.none": _("Not kept: this browser stores nothing for this address"),
    "lite.other": _("Not kept: the sandbox runs in another tab"),
    "lite.full": _("No longer kept: the browser's storage is full"),
    "lite.large": _("No longer kept: the run has become too large"),
    "lite.over": _("Start over"),
    "lite.sure": _("Delete this run and start over"),
    "lite.slept": _("This tab slept for {time}. The sandbox did not run."),
    "lite.network": _("The files could not be loaded."),
    "lite.memory": _("This browser does not have enough free memory for the sandbox."),
    "lite.engine": _("The sandbox stopped in this browser because of an error."),
    "lite.answer": _("This page cannot be shown in the browser."),
    "lite.unsupported": _("This browser cannot run the sandbox: it has no WebAssembly."),
    "lite.recipe": _("This is not a reproducible link."),
}


class Beginning(NamedTuple):
    """Beginning of a sandbox.  `kind`, `name`: as `sandbox.lite.entry` has them; a recipe's text is the reader's.

    `first`: the first page, below the root.  `server`: the address at which the server begins the same.
    """

    kind: str
    name: str
    title: str
    root: str
    server: str
    first: str = ""


class Known(NamedTuple):
    """Entry in the list that an unknown name gets."""

    address: str
    title: str
    text: object


@require_GET
def template(request: HttpRequest, template: str) -> HttpResponseBase:
    """Show the page that runs a sandbox of this template, or the list of templates if there is none of that name."""
    if template in TEMPLATES:
        root = reverse("lite", args=[template])
        return _page(request, Beginning("template", template, template, root, reverse("new")))
    known = [Known(reverse("lite", args=[name]), name, template_text(name)) for name in TEMPLATES]
    message = gettext("No template is named %(template)s.") % {"template": template}
    return _unknown(request, message, gettext("Templates"), known)


@require_GET
def lab(request: HttpRequest, lab: str) -> HttpResponseBase:
    """Show the page that begins this lab, or the list of labs."""
    if (chosen := LABS.get(lab)) is not None:
        root, server = reverse("lite-lab", args=[lab]), reverse("lab-start", args=[lab])
        return _page(request, Beginning("lab", lab, gettext(chosen.title), root, server, f"labs/{lab}/"))
    known = [
        Known(reverse("lite-lab", args=[slug]), gettext(other.title), gettext(other.goal))
        for slug, other in LABS.items()
    ]
    return _unknown(request, gettext("No lab is named %(lab)s.") % {"lab": lab}, gettext("Labs"), known)


@require_GET
def incident(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Show the page that executes this incident, or the list of incidents."""
    if (chosen := INCIDENTS.get(slug)) is not None:
        root, server = reverse("lite-incident", args=[slug]), reverse("incident-open", args=[slug])
        return _page(request, Beginning("incident", slug, gettext(chosen.title), root, server, "incident/"))
    known = [
        Known(reverse("lite-incident", args=[name]), gettext(other.title), gettext(other.symptom))
        for name, other in INCIDENTS.items()
    ]
    message = gettext("No incident is named %(incident)s.") % {"incident": slug}
    return _unknown(request, message, gettext("Incidents"), known)


@require_GET
def recipe(request: HttpRequest) -> HttpResponseBase:
    """Show the page that executes the recipe in its fragment, which browsers do not send."""
    address = reverse("lite-recipe")
    return _page(request, Beginning("recipe", "", gettext("Reproducible run"), address, reverse("recipe")))


def _page(request: HttpRequest, beginning: Beginning) -> HttpResponseBase:
    values = {"beginning": beginning, "config": config_of(beginning), "texts": {"texts": TEXTS}}

    @csp_update({"worker-src": ["'self'"], "frame-src": ["'self'"]})
    def drawn(request: HttpRequest) -> HttpResponseBase:
        return render(request, PAGE, values)

    return drawn(request)


def _unknown(request: HttpRequest, message: str, heading: str, known: list[Known]) -> HttpResponse:
    return render(request, UNKNOWN, {"message": message, "heading": heading, "known": known}, status=404)


def config_of(beginning: Beginning) -> dict[str, object] | None:
    """Return the start values of the page's module, or None if Lite was not built on this server."""
    files = lite_files()
    if files is None:
        return None
    return {
        "files": files,
        "worker": static("queueviz/js/lite/worker.js"),
        "recorder": static("queueviz/js/lite/recorder.js"),
        "kind": beginning.kind,
        "name": beginning.name,
        "title": "" if beginning.kind == "template" else beginning.title,
        "first": beginning.first,
        "slug": new_slug(),
        "root": beginning.root,
        "home": reverse("home"),
        "recipes": {"server": reverse("recipe"), "lite": reverse("lite-recipe")},
        "static": settings.STATIC_URL,
        "cookies": {"theme": THEME_COOKIE, "language": settings.LANGUAGE_COOKIE_NAME},
    }
