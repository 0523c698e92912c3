"""Boards, parts, questions and actions of one sandbox in the browser, by the functions that the server's views use."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from django.conf import settings
from django.template import Context as TemplateContext
from django.template import TemplateDoesNotExist
from django.utils.translation import get_language

from queueviz import refusal_texts
from queueviz.boards import BOARDS, lab_board, part_of
from queueviz.boards.api_bodies import state_body
from queueviz.boards.board import live_config
from queueviz.boards.htmx_answers import acted_trigger, answer_template, answer_values
from queueviz.boards.incident_board import incident_values
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Part, Place
from queueviz.boards.page_values import page_values
from queueviz.boards.past_facts import EVENT, ROWS, FactSearch, PastFindings
from queueviz.boards.replay import FOLLOWS, context_at, recorded_at
from queueviz.boards.shell import Entry, shell_values
from queueviz.form_fields import fields_of
from queueviz.lite.addresses import Addresses
from queueviz.lite.configuration import templates
from queueviz.lite.incident import SandboxIncident
from queueviz.lite.request import Answer, Fields, Request, html
from queueviz.whole_numbers import event_number
from sandbox.control.actions import parse_action
from sandbox.control.questions import LabState, parse_question
from sandbox.control.rights import Actor, allows
from sandbox.findings.recorded import FACTS
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.queries.rows.labs import LabRow
from sandbox.queries.rows.snapshot import Snapshot

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

T = TypeVar("T")

READER = Actor(role="owner", name="owner")
REFUSED = "queueviz/boards/refused.html"
REPLAY = "queueviz/boards/replay.html"
NOT_LITE = frozenset({"audit", "branch", "connect", "history", "keep", "pipeline", "share", "what-if"})


class Course(NamedTuple):
    """A course, for the pages of its student.

    `slug`: of the course; empty without one.  `reader`: the student.  `scores`: they are shown.  `is_closed`: returns
    True for a step that the teacher has not opened yet.
    """

    slug: str
    reader: Actor
    scores: bool
    is_closed: Callable[[int], bool]


ALONE = Course("", READER, True, lambda step: False)


class Pages:
    """The pages of one sandbox.  `directory`: of its files.  `can`: what the reader may do."""

    def __init__(
        self,
        port: "EnginePort",
        directory: Path,
        addresses: Addresses,
        name: str,
        can: Mapping[str, bool],
        course: Course | None = None,
    ) -> None:
        self._course = course or ALONE
        self._port = port
        self._addresses = addresses
        self._entry = Entry(addresses.slug, name, name or addresses.slug)
        self._can = can
        self._incident = SandboxIncident(directory, addresses)

    async def page(self, request: Request, tab: str, **where: str) -> Answer:
        """Show one board.  `where`: the path's values beside the tab, which a board reads as the query."""
        board = BOARDS.get(tab)
        if board is None:
            raise not_found()
        values, snapshot = await self._shell(request, tab)
        query = request.GET.texts() | where
        if "at" in query and tab != "journal":  # the Journal shows the events around it
            template = REPLAY if board.name == FOLLOWS else board.template
            return html(self._render(template, values | await self._past(board, snapshot, query)))
        return html(self._render(board.template, values | await self._values(board, snapshot, query)))

    async def incident(self) -> Answer:
        """Lead to the Board at the first marker of the incident."""
        return Answer(303, {"Location": self._incident.first_address()})

    async def part(self, request: Request, name: str) -> Answer:
        """Show a panel, or the table twin of a page."""
        chosen = part_of(name)
        if chosen is None:
            raise not_found()
        board, template = chosen
        values, snapshot = await self._shell(request, name)
        query = request.GET.texts()
        if "at" in query and board.past is not None:
            return html(self._render(template, values | await self._past(board, snapshot, query)))
        return html(self._render(template, values | await self._values(board, snapshot, query)))

    async def ask(self, request: Request, name: str) -> Answer:
        """Show the answer to a question."""
        fields = fields_of(request.GET)
        answer = await done(self._port.ask(self._addresses.slug, parse_question(name, fields)))
        try:
            return html(
                self._render(answer_template(name), self._of_all(request) | answer_values(name, fields, answer))
            )
        except TemplateDoesNotExist:  # a question programs may ask, and no page does
            raise not_found() from None

    async def actions(self, request: Request) -> Answer:
        """Execute one action.  The status is 204, with the event number in a header."""
        fields = fields_of(Fields.of(request.body))
        return Answer(204, {"HX-Trigger": acted_trigger(await self.act(fields), fields)})

    async def act(self, fields: Mapping[str, object]) -> int:
        action = parse_action(fields)
        reader = self._course.reader
        if not self._can[action.verb] or not allows(reader.role, action):
            raise ActionRefused(
                403, "You do not have permission for this request.", "Ask the owner, or start your own sandbox."
            )
        return await done(self._port.act(self._addresses.slug, action, reader))

    async def lab(self, request: Request, lab: str) -> Answer:
        """Show the Board with the lab's panel, or the panel alone to htmx.  POST answers, takes a hint, starts over."""
        refused, status = None, 200
        if request.method == "POST":
            try:
                await self.act(lab_board.panel_action(fields_of(Fields.of(request.body)), lab))
            except SandboxError as error:
                status, refused = refusal_texts.of_engine(error)
            else:
                if not request.htmx:
                    return Answer(303, {"Location": request.path})
        row = await self._lab_row(lab)
        panel = self._panel(request, row) | {"refused": refused, "status": status}
        if request.htmx:
            return html(self._render(lab_board.PANEL, panel), status)
        values, snapshot = await self._shell(request, "board")
        query = lab_board.board_query(row, request.GET.texts())
        values |= panel | await self._values(BOARDS["board"], snapshot, query)
        return html(self._render(lab_board.PAGE, values), status)

    async def lab_progress(self, request: Request, lab: str) -> Answer:
        """Show the panel of the lab.  There is no other place to which its progress is written."""
        return html(self._render(lab_board.PANEL, self._panel(request, await self._lab_row(lab))))

    async def refused(self, request: Request, status: int, values: Context) -> Answer:
        """Show a refusal as a page."""
        shell, snapshot = await self._shell(request, "")
        live = live_config(Place(self._addresses.slug, snapshot), {}, {})
        page = shell | values | {"live": live, "texts": texts()}
        return html(self._render(REFUSED, page), status)

    def refused_part(self, request: Request, status: int, values: Context) -> Answer:
        return html(self._render(refusal_texts.PARTIAL, self._of_all(request) | values), status)

    async def _lab_row(self, lab: str) -> LabRow:
        answer = await done(self._port.ask(self._addresses.slug, LabState()))
        return lab_board.in_progress(answer.get("lab"), lab)

    def _panel(self, request: Request, row: LabRow) -> Context:
        address = f"{self._addresses.root}labs/{row['lab']}/"
        panel = lab_board.panel_values(row, address, shows_score=self._course.scores)
        opened = row["open"]
        if opened is not None and self._course.is_closed(opened["step"]):
            panel |= {"teacher_opens": opened["step"]}
        if self._course.slug:
            panel |= {"course": {"slug": self._course.slug}}
        return self._of_all(request) | panel

    async def _shell(self, request: Request, tab: str) -> tuple[Context, Snapshot]:
        snapshot = await done(self._port.snapshot(self._addresses.slug))
        shell = shell_values(snapshot, self._entry, tab, can=self._can, role=self._course.reader.role)
        return self._of_all(request) | shell, snapshot

    async def _values(self, board: BoardPage | Part, snapshot: Snapshot, query: Mapping[str, str]) -> Context:
        subject = Place(self._addresses.slug, snapshot, query)
        names = board.channels(subject)
        readings = await done(self._port.read(names)) if names else []
        return page_values(board, subject, dict(zip(names, readings, strict=True)))

    async def _past(self, board: BoardPage | Part, snapshot: Snapshot, query: dict[str, str]) -> Context:
        """Return the values of a view at an event.  Raises ActionRefused (422) for views that need a server."""
        at, slug = event_number(query["at"], field="at"), self._addresses.slug
        event: Context = {"replay": True, "at": str(at), "event": at, "view": board}
        event |= incident_values(self._incident.shown(), at) | {"can": dict.fromkeys(self._can, False)}
        if board.name == FOLLOWS:
            state = state_body(await done(self._port.state_at(slug, at)), slug, self._entry.name)
            findings = await self._past_findings(at)
            return event | {"event": state["seq"]} | context_at(snapshot, state, findings, query)
        if board.past is None:
            raise ActionRefused(
                422,
                "In the browser, only the Board, What is wrong and the Journal show the past.",
                "Open the Board at this event.",
            )
        return event | recorded_at(board.past, snapshot, slug, await self._past_findings(at), query)

    async def _past_findings(self, at: int) -> PastFindings:
        slug = self._addresses.slug
        search = FactSearch(at, await done(self._port.look_back(slug, EVENT, before=at + 1, most=1)))
        while search.goes_on:
            search.take(await done(self._port.look_back(slug, FACTS, before=search.before, most=ROWS)))
        return search.findings

    def _of_all(self, request: Request) -> Context:
        """Return the values of every template, as the server's context processors do."""
        return {
            "lite": True,
            "request": request,
            "theme": request.theme,
            "static": settings.STATIC_URL,
            "root": self._addresses.root,
            "can": self._can,
            "sandbox": self._entry,
            "attached": False,
            "LANGUAGE_CODE": get_language(),
        }

    def _render(self, name: str, values: Context) -> str:
        return templates().get_template(name).render(TemplateContext(values))


def not_found() -> ActionRefused:
    return ActionRefused(404, "No page has this address.", "Check the address, or start from the first page.")


def not_in_lite(name: str) -> ActionRefused:
    """Return the refusal of a page that needs a server."""
    if name == "connect":
        return ActionRefused(
            422, "A sandbox in the browser has no ports for real clients.", "Start a sandbox on the server."
        )
    return ActionRefused(422, "A sandbox in the browser does not have this page.", "Start a sandbox on the server.")


async def done(future: "Future[T]") -> T:
    """Return the engine's answer without holding the loop."""
    return await asyncio.wrap_future(future)
