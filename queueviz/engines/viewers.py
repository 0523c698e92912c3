"""The web process's part of the live sockets: it passes bytes on between browsers and the hubs of the engines."""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from queueviz.engines import wire
from queueviz.live import frames
from queueviz.live.channel import slug_of
from queueviz.live.database_turns import DatabaseTurns
from queueviz.live.hub import StillSee
from queueviz.live.viewer import Viewer
from sandbox.control.limits import HostLimits, SocketLimits
from sandbox.kernel.errors import SandboxError

if TYPE_CHECKING:
    from queueviz.engines.port import PoolPort

log = logging.getLogger(__name__)

ENGINE_ENDED = 4503  # the page says that the connection is lost, and comes back by itself
JOINED_WITHIN_S = 10.0


class Viewers:
    """Has the methods of `Hub` that a socket calls.  All on one loop, but for `hear`."""

    def __init__(self, port: "PoolPort", *, still_see: StillSee, socket: SocketLimits | None = None,
                 host: HostLimits | None = None) -> None:  # fmt: skip
        self.port = port
        self.limits = socket or SocketLimits()
        self.host = host or HostLimits()
        self.turns = DatabaseTurns(self.host.rights_share)
        self._pool = port.pool
        self._still_see = still_see
        self._loop = asyncio.get_running_loop()
        self._numbers = count(1)
        self._viewers: dict[int, Viewer] = {}
        self._known: dict[Viewer, int] = {}
        self._entered: dict[int, list[int]] = {}  # viewer -> engines that know it; it hears the first one's beats
        self._heard: deque[tuple[int, wire.Message | None]] = deque()
        self._delivering: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._pool.listeners.append(self.hear)

    @property
    def sockets(self) -> int:
        return len(self._viewers)

    def has_room_for(self, address: str) -> bool:
        same = sum(viewer.address == address for viewer in self._viewers.values())
        return len(self._viewers) < self.host.sockets and same < self.host.sockets_per_address

    def enter(self, viewer: Viewer) -> None:
        number = self._known[viewer] = next(self._numbers)
        self._viewers[number] = viewer
        self._entered[number] = []

    def forget(self, viewer: Viewer) -> None:
        viewer.closed = True
        number = self._known.pop(viewer, None)
        if number is None:
            return
        del self._viewers[number]
        for engine in self._entered.pop(number):
            self._pool.say(engine, "forget", number)

    async def join(self, viewer: Viewer, name: str, after: int | None = None) -> None:
        """As `Hub.join`.  Where the engine does not answer the channel ends with `failed`."""
        slug, number = slug_of(name), self._known.get(viewer)
        if slug is None or len(name) > 1_000:
            return await viewer.send(frames.end(name[:1_000], "unknown"))
        if number is None:
            return None
        engine, entered = self._pool.place_of(slug), self._entered[number]
        if engine not in entered:
            self._pool.say(engine, "enter", number, viewer.address, not entered)
            if viewer.hidden:
                self._pool.say(engine, "hide", number, True)
            entered.append(engine)
        joined = asyncio.wrap_future(self._pool.ask(engine, "join", number, name, after))
        try:
            await asyncio.wait_for(joined, JOINED_WITHIN_S)
        except (SandboxError, TimeoutError) as why:
            log.info("%s was not opened: %s", name, why)
            await viewer.send(frames.end(name, "failed"))
        return None

    def leave(self, viewer: Viewer, name: str) -> None:
        self._say(viewer, self._engines_of(viewer, name), "leave", name)

    def acknowledge(self, viewer: Viewer, painted: dict[str, int]) -> None:
        engines = self._entered.get(self._known.get(viewer, 0), [])
        if len(engines) == 1:
            return self._say(viewer, engines, "acknowledge", painted)
        for name, n in painted.items():
            self._say(viewer, self._engines_of(viewer, name), "acknowledge", {name: n})
        return None

    def hide(self, viewer: Viewer, *, hidden: bool) -> None:
        viewer.hidden = hidden
        self._say(viewer, self._entered.get(self._known.get(viewer, 0), []), "hide", hidden)

    async def recheck(self, slug: str) -> None:
        self._pool.say(self._pool.place_of(slug), "recheck", slug)

    # --- what the engines say ----------------------------------------------------------------------------------------

    def hear(self, engine: int, message: wire.Message | None) -> None:
        """Called on the thread that reads from the engine."""
        try:
            self._loop.call_soon_threadsafe(self._take, engine, message)
        except RuntimeError:  # the loop is closed, and its sockets with it
            if self.hear in self._pool.listeners:
                self._pool.listeners.remove(self.hear)

    def _take(self, engine: int, message: wire.Message | None) -> None:
        if message is not None and message[0] in ("may_see", "still_see"):
            self._begin(self._answer(engine, *message))
            return
        self._heard.append((engine, message))
        if self._delivering is None or self._delivering.done():
            self._delivering = self._loop.create_task(self._deliver())

    async def _deliver(self) -> None:
        """In their order.  Nothing here waits for a reader."""
        while self._heard:
            engine, message = self._heard.popleft()
            if message is None:
                await self._engine_ended(engine)
            elif message[0] == "frames":
                for numbers, text in message[1]:
                    for number in numbers:
                        if (viewer := self._viewers.get(number)) is not None:
                            await viewer.send(text)
            elif message[0] == "close" and (viewer := self._viewers.get(message[1])) is not None:
                await self._close(viewer, message[2])

    async def _close(self, viewer: Viewer, code: int) -> None:
        try:
            await viewer.close(code)
        except Exception as why:  # the socket went away; its consumer says so in a moment
            log.debug("closing the socket of %s failed: %s", viewer.address, why)

    async def _engine_ended(self, engine: int) -> None:
        for number, engines in list(self._entered.items()):
            if engine in engines and (viewer := self._viewers.get(number)) is not None:
                await self._close(viewer, ENGINE_ENDED)

    async def _answer(self, engine: int, question: str, number: int, *given: Any) -> None:
        """Where the database does not answer, no right is given, and none is taken away."""
        try:
            answer: Any = await (self._may_see(*given) if question == "may_see" else self._may_still_see(*given))
        except Exception as why:
            log.warning("rights could not be checked: %s", why)
            answer = question == "still_see" and [True] * len(given[0])
        self._pool.say(engine, "answer", number, answer)

    async def _may_see(self, number: int, slug: str) -> bool:
        viewer = self._viewers.get(number)
        return viewer is not None and await viewer.may_see(slug)

    async def _may_still_see(self, asked: Sequence[tuple[int, str]]) -> list[bool]:
        there = [(self._viewers[number].who, slug) for number, slug in asked if number in self._viewers]
        found = iter(await self._still_see(there) if there else [])
        return [number in self._viewers and next(found) for number, _ in asked]

    def _engines_of(self, viewer: Viewer, name: str) -> list[int]:
        slug = slug_of(name)
        engine = self._pool.place_of(slug) if slug is not None else -1
        return [engine] if engine in self._entered.get(self._known.get(viewer, 0), []) else []

    def _say(self, viewer: Viewer, engines: list[int], kind: str, *given: Any) -> None:
        if (number := self._known.get(viewer)) is not None:
            for engine in engines:
                self._pool.say(engine, kind, number, *given)

    def _begin(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
