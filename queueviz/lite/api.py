"""The JSON API of a sandbox in the browser: what pages' scripts read, with the bodies of the server's API."""

from typing import TYPE_CHECKING, get_args

from queueviz.boards.api_bodies import (
    MOST_LINES,
    MOST_SEARCH,
    changes_body,
    journal_body,
    recorded_range,
    state_body,
    stretches_body,
    trimmed_body,
)
from queueviz.boards.journal_search import terms_of
from queueviz.lite.pages import Pages, done
from queueviz.lite.request import LIMITS, NDJSON, Answer, Fields, Request, json
from queueviz.whole_numbers import event_number
from sandbox.control.questions import parse_question
from sandbox.control.recipe_text import pack
from sandbox.journal.event_filter import EventFilter, Show
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

SHOWS: tuple[Show, ...] = get_args(Show)
LINES_AT_ONCE = 1_000


class Api:
    """The JSON API of one sandbox."""

    def __init__(self, port: "EnginePort", slug: str, name: str, pages: Pages) -> None:
        self._port = port
        self._slug = slug
        self._name = name
        self._pages = pages

    async def answer(self, request: Request, parts: tuple[str, ...]) -> Answer:
        """Return the answer to a request below `api/`.  Raises ActionRefused (404) if there is no such request."""
        match request.method, parts:
            case "GET", ():
                return await self._snapshot()
            case "POST", ("actions",):
                return json({"seq": str(await self._pages.act(_object(request.body)))})
            case "GET", ("ask", question):
                return json(await done(self._port.ask(self._slug, parse_question(question, request.GET.texts()))))
            case "GET", ("events",):
                return await self._events(request.GET)
            case "GET", ("journal",):
                return await self._journal(request.GET)
            case "GET", ("state",):
                past = await done(self._port.state_at(self._slug, _number(request.GET, "at")))
                return json(state_body(past, self._slug, self._name))
            case "GET", ("stretches",):
                return json(stretches_body(await done(self._port.line(self._slug))))
            case "GET", ("changes",):
                first, last = _number(request.GET, "from") or 0, _number(request.GET, "to")
                return json(changes_body(await done(self._port.changes(self._slug, first, last))))
            case "GET", ("recipe",):
                return json({"text": await self._recipe(_number(request.GET, "at"))})
            case "GET", ("recording",):
                return await self._recording(_number(request.GET, "from") or 0, _number(request.GET, "to"))
        raise ActionRefused(404, "No page has this address.", "See /api/docs.")

    async def _snapshot(self) -> Answer:
        whole = await done(self._port.snapshot(self._slug))
        whole["sandbox"] = {**whole["sandbox"], "slug": self._slug, "name": self._name, "expires_at": None}
        return json(whole)

    async def _recipe(self, at: int | None) -> str:
        """Return the run up to event `at`, or up to now, as the text of a link."""
        if at is None:
            at = await done(self._port.newest_seq(self._slug))
        return pack(await done(self._port.recipe(self._slug, at)), LIMITS)

    async def _recording(self, first: int, last: int | None) -> Answer:
        """Return the events that a recording will have.  The page has it made by a second worker."""
        first, last = recorded_range(await done(self._port.kept(self._slug)), first, last)
        return json({"from": str(first), "to": str(last)})

    async def _events(self, query: Fields) -> Answer:
        """Return events after `after` as lines of JSON: 10 000, or `most`."""
        after = _number(query, "after")
        left = max(1, min(_number(query, "most") or MOST_LINES, LIMITS.journal_lines))
        entries = await done(self._port.entries(self._slug, -1 if after is None else after, min(LINES_AT_ONCE, left)))
        if after is not None and after + 1 < entries.first_seq:
            return json(trimmed_body(entries.first_seq), 410)
        lines: list[str] = []
        while True:
            lines += [json_bytes.dumps(row).decode() + "\n" for row in entries.rows]
            left -= len(entries.rows)
            if left <= 0 or len(entries.rows) < LINES_AT_ONCE:
                return Answer(200, {"Content-Type": NDJSON}, "".join(lines))
            entries = await done(self._port.entries(self._slug, entries.next_seq - 1, min(LINES_AT_ONCE, left)))

    async def _journal(self, query: Fields) -> Answer:
        """Return events, newest first."""
        show, search = query.get("show", "told"), query.get("search", "")
        if show not in SHOWS:
            raise ActionRefused(
                422, "This request is not valid.", "Choose one of: {choices}.", field="show", choices=", ".join(SHOWS)
            )
        page = await done(
            self._port.look_back(
                self._slug,
                EventFilter(show, terms_of(search[:MOST_SEARCH])),
                before=_number(query, "before"),
                after=-1 if (after := _number(query, "after")) is None else after,
                most=_number(query, "most") or 100,
            )
        )
        return json(journal_body(page, page.rows))


def _number(query: Fields, name: str) -> int | None:
    """Return the whole number in a field, or None without it.  -1 is before the first event."""
    text = query.get(name)
    return None if text is None else -1 if text == "-1" else event_number(text, field=name)


def _object(body: str) -> dict[str, object]:
    """Return the JSON object in `body`.  Raises ActionRefused (400)."""
    try:
        value = json_bytes.loads(body.encode())
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ActionRefused(400, "The body is not a JSON object.", "The body must be one JSON object.")
    return value
