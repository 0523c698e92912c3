"""Pages of an export of Lite: `python -m queueviz.lite.export_pages` prints them as JSON, by their paths.

Standard input: `{"files": LiteFiles below the folder of static files, "texts": {language: {name: text}}}`.  It runs in
a process of its own, since only there Django has no database, no hashed names and no other addresses.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from django.template import Context
from django.utils import translation
from django.utils.translation import gettext, gettext_lazy

from queueviz.fidelity.ledger import ledger
from queueviz.fidelity.view import shown
from queueviz.lite.addresses import OF_SITE, Addresses, at
from queueviz.lite.configuration import LANGUAGES, configure, templates
from queueviz.templatetags.pages import template_text
from sandbox.cluster.templates import TEMPLATES
from sandbox.labs.catalogue import LABS
from sandbox.labs.catalogue.packs import PACKS
from sandbox.labs.catalogue.symptoms import SYMPTOMS
from sandbox.labs.incidents import INCIDENTS

if TYPE_CHECKING:
    from queueviz.operations.lite_files import LiteFiles

RUN = "queueviz/pages/lite.html"
LIST = "queueviz/pages/lite_list.html"
LEDGER = "queueviz/pages/lite_ledger.html"
STATIC = "/static/"
RECIPE = "lite/recipe/"
ROOTED = re.compile(r'\b(href|src)="/')

TITLES = {
    "templates": gettext_lazy("Templates"),
    "labs": gettext_lazy("Labs"),
    "incidents": gettext_lazy("Incidents"),
}


class Card(NamedTuple):
    """A link of a list.  `id`: by which pages of a sandbox lead to it."""

    id: str
    address: str
    title: str
    text: object


class Beginning(NamedTuple):
    """Beginning of a sandbox.  `path`: of its page; `first`: the first page of the sandbox, below its root."""

    kind: str
    name: str
    title: str
    path: str
    first: str = ""


class Page(NamedTuple):
    """A page of the export.  `path` is below the folder of its language."""

    path: str
    template: str
    values: Mapping[str, object]


class Order(TypedDict):
    """Values that come from the server's configuration."""

    files: "LiteFiles"
    texts: dict[str, dict[str, str]]


def pages(order: Order) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each page, in each language."""
    for language, _ in LANGUAGES:
        folder = folder_of(language)
        with translation.override(language):
            for page in (*_lists(), *_runs(order, language)):
                path = folder + page.path
                others = [
                    (code, name, up(path) + folder_of(code) + page.path) for code, name in LANGUAGES if code != language
                ]
                common = {"theme": "auto", "exported": True, "others": others}
                with at(Addresses("", f"/{path}", f"/{folder}")):
                    text = templates().get_template(page.template).render(Context({**common, **page.values}))
                yield f"{path}index.html", ROOTED.sub(rf'\1="{up(path)}', text)


def folder_of(language: str) -> str:
    """Return the folder of the pages in a language, below that of the export."""
    return "" if language == LANGUAGES[0][0] else f"{language}/"


def up(path: str) -> str:
    """Return the export's folder, relative to a page in the folder `path`."""
    return "../" * path.count("/") or "./"


def _lists() -> Iterator[Page]:
    """Yield the first page and those to which pages of a sandbox lead."""
    cards = {"templates": _templates(), "labs": _labs(), "incidents": _incidents()}
    yield Page("", LIST, {"lists": [(name, TITLES[name], rows) for name, rows in cards.items()], "first": True})
    for name in ("labs", "incidents"):
        yield Page(OF_SITE[name], LIST, {"lists": [(name, TITLES[name], cards[name])], "title": TITLES[name]})
    selected = shown(ledger(), translation.get_language(), slug=None)
    yield Page(OF_SITE["fidelity"], LEDGER, {"found": selected})


def _templates() -> list[Card]:
    return [Card(f"template-{name}", f"lite/{name}/", name, template_text(name)) for name in TEMPLATES]


def _labs() -> list[Card]:
    labs = (lab for pack in PACKS for lab in pack.labs)
    return [
        Card(f"lab-{lab.slug}", OF_SITE["lab-start"].format(lab.slug), gettext(lab.title), gettext(SYMPTOMS[lab.slug]))
        for lab in labs
    ]


def _incidents() -> list[Card]:
    return [
        Card(
            f"incident-{incident.slug}",
            f"lite/incident/{incident.slug}/",
            gettext(incident.complaint),
            gettext(incident.symptom),
        )
        for incident in INCIDENTS.values()
    ]


def _runs(order: Order, language: str) -> Iterator[Page]:
    """Yield the pages that run a sandbox."""
    for begins in _beginnings():
        config = _config(order["files"], begins, language)
        yield Page(
            begins.path, RUN, {"beginning": begins, "config": config, "texts": {"texts": order["texts"][language]}}
        )


def _beginnings() -> Iterator[Beginning]:
    for name in TEMPLATES:
        yield Beginning("template", name, name, f"lite/{name}/")
    for lab in LABS.values():
        yield Beginning("lab", lab.slug, gettext(lab.title), OF_SITE["lab-start"].format(lab.slug), f"labs/{lab.slug}/")
    for slug, incident in INCIDENTS.items():
        yield Beginning("incident", slug, gettext(incident.title), f"lite/incident/{slug}/", "incident/")
    yield Beginning("recipe", "", gettext("Reproducible run"), RECIPE)


def _config(files: "LiteFiles", begins: Beginning, language: str) -> dict[str, object]:
    """Return the start values of the page's module.  Addresses are relative to the page."""
    home = "../" * begins.path.count("/")
    site = up(folder_of(language) + begins.path)
    static = site + STATIC[1:]
    return {
        "files": {
            **files,
            "pyodide": static + files["pyodide"],
            "feed": static + files["feed"],
            "packs": [{**pack, "url": static + pack["url"]} for pack in files["packs"]],
            "offline": {code: static + url for code, url in files["offline"].items()},
        },
        "worker": f"{static}queueviz/js/lite/worker.js",
        "recorder": f"{static}queueviz/js/lite/recorder.js",
        "kind": begins.kind,
        "name": begins.name,
        "title": "" if begins.kind == "template" else begins.title,
        "first": begins.first,
        "slug": f"lite-{begins.name or begins.kind}",
        "root": "./",
        "home": home,
        "recipes": {"server": None, "lite": home + RECIPE},
        "static": static,
        "cookies": None,
        "translated": {code: site + folder_of(code) + begins.path for code, _ in LANGUAGES},
    }


if __name__ == "__main__":
    configure(STATIC)
    print(json.dumps(dict(pages(json.load(sys.stdin)))))
