"""Calls of a course's server to the engine in a student's browser: each by name, with JSON values in and out."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from sandbox.control.actions import parse_action
from sandbox.control.interventions import Intervention
from sandbox.control.questions import parse_question
from sandbox.control.readings import Refusal
from sandbox.control.rights import Actor
from sandbox.hosting.port import EnginePort
from sandbox.journal.event_filter import EventFilter, Term
from sandbox.kernel.errors import ActionRefused

Args = Any  # the JSON object of a call


class ClassCalls:
    """The methods of `EnginePort` that `queueviz.browsers.port` calls.

    `late_ms`: how much the server's clock is behind that of this machine; a planned time is moved by it.
    """

    def __init__(self, port: EnginePort, slug: str) -> None:
        self._port = port
        self._slug = slug
        self.late_ms = 0

    async def answer(self, verb: str, args: Args) -> Any:
        """Return the value of a call.  Raises ActionRefused: 404 if there is no such method, else as it does."""
        method: Callable[[Args], Awaitable[Any]] | None = getattr(self, f"do_{verb}", None)
        if method is None:
            raise ActionRefused(404, "A sandbox in the browser does not have this page.", "Ask the server.")
        return await method(args)

    async def do_act(self, args: Args) -> int:
        return await asyncio.wrap_future(self._port.act(self._slug, parse_action(args["fields"]), Actor(*args["by"])))

    async def do_intervene(self, args: Args) -> Any:
        what = Intervention(*args["what"])
        what = what._replace(at_wall_ms=what.at_wall_ms + self.late_ms)
        return await asyncio.wrap_future(self._port.intervene(self._slug, what, Actor(*args["by"])))

    async def do_renew_hold(self, args: Args) -> None:
        await asyncio.wrap_future(self._port.renew_hold(self._slug, args["lease_s"]))

    async def do_read(self, args: Args) -> list[Any]:
        answers = await asyncio.wrap_future(self._port.read(args["names"]))
        return [answer.reason if isinstance(answer, Refusal) else answer for answer in answers]

    async def do_snapshot(self, args: Args) -> Any:
        return await asyncio.wrap_future(self._port.snapshot(self._slug))

    async def do_ask(self, args: Args) -> Any:
        return await asyncio.wrap_future(self._port.ask(self._slug, parse_question(**args["question"])))

    async def do_newest_seq(self, args: Args) -> int:
        return await asyncio.wrap_future(self._port.newest_seq(self._slug))

    async def do_kept(self, args: Args) -> Any:
        return await asyncio.wrap_future(self._port.kept(self._slug))

    async def do_entries(self, args: Args) -> Any:
        return await asyncio.wrap_future(self._port.entries(self._slug, **args))

    async def do_look_back(self, args: Args) -> Any:
        terms = tuple(Term(text, frozenset(kinds), frozenset(values)) for text, kinds, values in args["terms"])
        others = {name: value for name, value in args.items() if name not in ("terms", "event_filter")}
        looked = EventFilter(terms=terms, **args["event_filter"])
        return await asyncio.wrap_future(self._port.look_back(self._slug, looked, **others))
