"""The engine's side of the connection to one web process: calls of the port's methods, and channels of viewers.

This runs on the engine's loop, as does the hub of the sandboxes: it reads, compares and encodes in the engine, and
the web process only passes bytes on.  Other modules transport the messages: a socket pair (`process`), or Ray
(`actor`).
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from queueviz.engines import wire
from sandbox.live.channel import slug_of
from sandbox.live.hub import Hub
from sandbox.live.viewer import Viewer
from sandbox.live.visible_parts import Sight

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

log = logging.getLogger(__name__)

WEB_WITHIN_S = 5.0  # for its answer about rights
ENGINE_ENDED = 4503  # the page says that the connection is lost, and comes back by itself
BEAT = '{"k":"beat"'


class Side:
    """The engine's side of one web process.  `send` takes a packed message for the web process and never waits."""

    def __init__(self, port: "EnginePort", send: Callable[[bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._port = port
        self._send = send
        self._hub = Hub(port, still_see=self._still_see)
        self._viewers: dict[int, Viewer] = {}
        self._joined: dict[int, set[str]] = {}
        self._frames: list[tuple[list[int], str]] = []
        self._questions: dict[int, asyncio.Future[Any]] = {}
        self._numbers = count()
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, message: wire.Message) -> None:
        """Process a message of the web process."""
        kind, *rest = message
        try:
            getattr(self, f"_on_{kind}")(*rest)
        except Exception:
            log.exception("a message of the web process was not carried out: %s", kind)

    @property
    def late_ms(self) -> int:
        """The longest wait of a frame in the last seconds, in ms."""
        return round(self._hub.late_s() * 1_000)

    def moved(self, slug: str) -> None:
        """Close the sockets of a sandbox that another engine serves now.

        Their clients connect again, to that engine.
        """
        for number in [number for number, slugs in self._joined.items() if slug in slugs]:
            self._begin(self._close(number, ENGINE_ENDED))

    def end(self) -> None:
        """Remove all viewers and tasks of the web process, which is gone."""
        for number in list(self._viewers):
            self._on_forget(number)
        for task in self._tasks:
            task.cancel()

    # --- calls -------------------------------------------------------------------------------------------------------

    def _on_call(self, number: int, verb: str, args: tuple[Any, ...], named: dict[str, object]) -> None:
        future: Future[Any]
        try:
            future = getattr(self._port, verb)(*args, **named)
        except Exception as error:
            self._send(wire.pack_failure(number, error))
        else:
            future.add_done_callback(partial(self._answer, number))

    def _on_figures(self, number: int) -> None:
        self._done(number, self._hub.counted())

    def _answer(self, number: int, done: "Future[Any]") -> None:
        error = done.exception()
        if error is not None:
            return self._send(wire.pack_failure(number, error))
        return self._done(number, done.result())

    def _done(self, number: int, value: Any) -> None:
        try:
            answer = wire.pack(("done", number, value))
        except Exception as failed:
            log.exception("an answer does not travel")
            answer = wire.pack_failure(number, failed)
        self._send(answer)

    # --- viewers -----------------------------------------------------------------------------------------------------

    def _on_enter(self, number: int, address: str, hears_beats: bool) -> None:
        """Add a viewer.  `hears_beats`: this engine sends the viewer its beats, and no other engine does."""
        viewer = Viewer(
            partial(self._show, number, hears_beats),
            partial(self._close, number),
            lambda slug: self._ask_web("may_see", number, slug),
            address,
            self._hub.limits,
            who=number,
        )
        self._viewers[number] = viewer
        self._hub.enter(viewer)

    def _on_forget(self, number: int) -> None:
        if (viewer := self._viewers.pop(number, None)) is not None:
            self._hub.forget(viewer)
        self._joined.pop(number, None)

    def _on_join(self, call: int, number: int, name: str, after: int | None) -> None:
        if number in self._viewers:
            self._joined.setdefault(number, set()).add(slug_of(name) or "")
        self._begin(self._join(call, number, name, after))

    async def _join(self, call: int, number: int, name: str, after: int | None) -> None:
        """Open a channel for a viewer.  A refusal goes to the viewer; the answer only confirms the call."""
        try:
            if (viewer := self._viewers.get(number)) is not None:
                await self._hub.join(viewer, name, after)
        except Exception as error:
            log.exception("opening a channel failed")
            return self._send(wire.pack_failure(call, error))
        return self._done(call, None)

    def _on_viewer(self, number: int, does: str, args: tuple[Any, ...], named: dict[str, object]) -> None:
        """Call the hub's method `does` for the viewer.  It must return nothing."""
        if (viewer := self._viewers.get(number)) is not None:
            getattr(self._hub, does)(viewer, *args, **named)

    def _on_recheck(self, slug: str) -> None:
        self._begin(self._hub.recheck(slug))

    def _on_answer(self, number: int, value: Any) -> None:
        if (waiting := self._questions.pop(number, None)) is not None and not waiting.done():
            waiting.set_result(value)

    async def _show(self, number: int, hears_beats: bool, text: str) -> None:
        """Queue a text for a viewer.

        The texts of one turn of the loop are sent together, and a text for many viewers only once.
        """
        if not hears_beats and text.startswith(BEAT):
            return
        if not self._frames:
            self._loop.call_soon(self._flush)
        if self._frames and self._frames[-1][1] is text:
            self._frames[-1][0].append(number)
        else:
            self._frames.append(([number], text))

    def _flush(self) -> None:
        if self._frames:
            frames, self._frames = self._frames, []
            self._send(wire.pack(("frames", frames)))

    async def _close(self, number: int, code: int) -> None:
        self._flush()  # in their order
        self._send(wire.pack(("close", number, code)))

    async def _still_see(self, asked: Sequence[tuple[Any, str]]) -> list[Sight]:
        return list(await self._ask_web("still_see", list(asked)))

    async def _ask_web(self, question: str, *args: Any) -> Any:
        """Return the web process's answer to a question.

        Only the web process has the database.  Raises TimeoutError.
        """
        number = next(self._numbers)
        waiting = self._questions[number] = self._loop.create_future()
        self._send(wire.pack((question, number, *args)))
        try:
            return await asyncio.wait_for(waiting, WEB_WITHIN_S)
        finally:
            self._questions.pop(number, None)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
