"""The site of one sandbox in the browser: from a method and a path below the root to an answer."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from django.utils import translation

from queueviz import refusal_texts
from queueviz.lite.addresses import Addresses, at
from queueviz.lite.api import Api
from queueviz.lite.configuration import LANGUAGES, configure
from queueviz.lite.pages import NOT_LITE, Course, Pages, not_found, not_in_lite
from queueviz.lite.request import Answer, Fields, Request, json, parts_of
from sandbox.control.rights import VERBS
from sandbox.kernel.errors import SandboxError

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

log = logging.getLogger(__name__)

CAN: dict[str, bool] = {verb: verb not in ("share", "grade") for verb in VERBS}
THEMES = ("auto", "light", "dark")
PARTIAL = frozenset({"actions", "ask", "part"})  # first parts of paths whose answers a page swaps into itself
FORM = frozenset({"actions", "ask"})  # and whose refusals are shown beside a form


def refusal(error: SandboxError, *, language: str, static: str) -> tuple[int, str, str]:
    """Return the status, sentence and hint of a refusal to begin, before there is a site, in the reader's language."""
    configure(static)
    with translation.override(_known(language)):
        status, texts = refusal_texts.of_engine(error)
    return status, texts["error"], texts["hint"]


def _known(language: str) -> str:
    return language if language in dict(LANGUAGES) else "en"


class Site:
    """The site of one sandbox.

    `directory`: of the sandbox's files.  `root`: URL path of its first page, `static`: of the static files, `home`: of
    the site that offers Lite; each ends with a slash.
    """

    def __init__(
        self,
        port: "EnginePort",
        slug: str,
        directory: Path,
        *,
        root: str,
        static: str,
        home: str = "/",
        name: str = "",
        can: Mapping[str, bool] = CAN,
        course: Course | None = None,
    ) -> None:
        """Make the site.  `course`: what a course changes for its student; None: the sandbox is the reader's own."""
        configure(static)
        self._addresses = Addresses(slug, root, home)
        self._pages = Pages(port, directory, self._addresses, name, can, course)
        self._api = Api(port, slug, name, self._pages)

    async def answer(
        self,
        method: str,
        path: str,
        body: str = "",
        *,
        language: str = "en",
        theme: str = "auto",
        htmx: bool = False,
        details: bool = False,
    ) -> Answer:
        """Return the answer to a request.  `path`: below the root, with its query.

        `htmx`: the request has the header `HX-Request`.  `details`: the reader's cookie of this name is set.
        """
        address, _, query = path.partition("?")
        parts = parts_of(address)
        first = parts[0] if parts else ""
        with translation.override(_known(language)), at(self._addresses):
            request = Request(
                method,
                parts,
                Fields(),
                body,
                self._addresses.root,
                theme if theme in THEMES else "auto",
                htmx or first in PARTIAL,
                {"details": "1"} if details else {},
            )
            try:
                return await self._route(request._replace(GET=Fields.of(query)))
            except SandboxError as error:
                return await self._refused(request, first, error)
            except Exception as error:
                log.exception("%s %s failed", method, path)
                return await self._refused(request, first, SandboxError(type(error).__name__))

    async def _route(self, request: Request) -> Answer:
        pages = self._pages
        match request.method, request.parts:
            case _, ("api", *rest):
                return await self._api.answer(request, tuple(rest))
            case _, (first, *_) if first in NOT_LITE:
                raise not_in_lite(first)
            case "GET", ():
                return await pages.page(request, "board")
            case "GET", ("incident",):
                return await pages.incident()
            case "GET", (tab,):
                return await pages.page(request, tab)
            case "GET", ("part", name):
                return await pages.part(request, name)
            case "GET", ("ask", name):
                return await pages.ask(request, name)
            case "GET", ("clients", client):
                return await pages.page(request, "client", client=client)
            case "GET", ("messages", message):
                return await pages.page(request, "message", id=message)
            case "GET" | "POST", ("labs", lab):
                return await pages.lab(request, lab)
            case "POST", ("labs", lab, "progress"):
                return await pages.lab_progress(request, lab)
            case "POST", ("actions",):
                return await pages.actions(request)
            case "POST", ("theme" | "language",):  # the outer page keeps both
                return Answer(204, {})
        raise not_found()

    async def _refused(self, request: Request, first: str, error: SandboxError) -> Answer:
        """Return a refusal as JSON, partial or page, as the server does."""
        status, texts = refusal_texts.of_engine(error)
        if first == "api":
            return json(texts, status)
        if first in FORM:
            status = refusal_texts.status_beside_form(error, status)
        values = refusal_texts.beside(status, texts)
        if not request.htmx:
            try:
                return await self._pages.refused(request, status, values)
            except SandboxError:  # no snapshot of it, so no frame either
                pass
        return self._pages.refused_part(request, status, values)
