"""The web process's part of the live sockets: it passes bytes between browsers and the hubs of the engines."""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from queueviz.engine import answer
from queueviz.engines import wire
from queueviz.engines.engine_side import ENGINE_ENDED
from queueviz.engines.port import Place
from sandbox.control.limits import HostLimits, SocketLimits
from sandbox.kernel.errors import EngineBusy, SandboxError
from sandbox.live import frames
from sandbox.live.channel import slug_of
from sandbox.live.database_turns import DatabaseTurns
from sandbox.live.hub import StillSee
from sandbox.live.socket_costs import together
from sandbox.live.viewer import Viewer, has_room
from sandbox.live.visible_parts import Sight

if TYPE_CHECKING:
    from queueviz.engines.port import PoolPort

log = logging.getLogger(__name__)

SEAT_AGAIN_S = 0.5
JOINED_WITHIN_S = 30.0  # a class opens its boards at once, on a machine that has other work


class Entered(NamedTuple):
    """A viewer's number in the engines, and the engines that have it.  Only the first engine sends it beats."""

    number: int
    engines: list[Place]


NOT_ENTERED = Entered(0, [])


class Viewers:
    """All viewers, with the methods of `Hub` that a socket calls.  All methods but `hear` run on one loop."""

    def __init__(
        self,
        port: "PoolPort",
        *,
        still_see: StillSee,
        socket: SocketLimits | None = None,
        host: HostLimits | None = None,
    ) -> None:
        self.port = port
        self.limits = socket or SocketLimits()
        self.host = host or HostLimits()
        self.turns = DatabaseTurns(self.host.rights_share)
        self._pool = port.pool
        self._still_see = still_see
        self._loop = asyncio.get_running_loop()
        self._numbers = count(1)
        self._entered: dict[Viewer, Entered] = {}
        self._by_number: dict[int, Viewer] = {}
        self._heard: deque[tuple[Place, wire.Message | None]] = deque()
        self._delivering: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._pool.listeners.append(self.hear)

    def counted(self) -> dict[str, int]:
        """Return the counters of all engines, as `Hub.counted`.  Raises EngineBusy."""
        far: list[dict[str, int]] = answer(self.port.figures())
        return {**together(far), "sockets": len(self._entered)}  # one may have channels in several engines

    def has_room_for(self, address: str) -> bool:
        return has_room(self._entered, address, self.host)

    def enter(self, viewer: Viewer) -> None:
        self._entered[viewer] = Entered(next(self._numbers), [])
        self._by_number[self._entered[viewer].number] = viewer

    def forget(self, viewer: Viewer) -> None:
        viewer.closed = True
        if (entered := self._entered.pop(viewer, None)) is not None:
            del self._by_number[entered.number]
            for engine in entered.engines:
                self._pool.say(engine, "forget", entered.number)

    async def join(self, viewer: Viewer, name: str, after: int | None = None) -> None:
        """Open a channel as `Hub.join`.  If the engine does not answer, the channel ends with `failed`."""
        if (entered := self._entered.get(viewer)) is None:
            return None
        try:
            await self.reach(slug_of(name) or "")
        except EngineBusy as error:
            log.info("%s was not opened: %s", name, error)
            return await viewer.send(frames.end(name[:1_000], "failed"))
        engine = self._engine_of(name)
        if engine not in entered.engines:
            self._pool.say(engine, "enter", entered.number, viewer.address, not entered.engines)
            entered.engines.append(engine)
            if viewer.hidden:
                self.hide(viewer, hidden=True)
        joined = asyncio.wrap_future(self._pool.ask(engine, "join", entered.number, name, after))
        try:
            await asyncio.wait_for(joined, JOINED_WITHIN_S)
        except (SandboxError, TimeoutError) as error:
            log.info("%s was not opened: %s", name, error)
            await viewer.send(frames.end(name[:1_000], "failed"))

    async def reach(self, slug: str) -> None:
        """Wait until an engine serves the sandbox.  The lease of a lost engine is valid for some more seconds.

        Raises EngineBusy if no engine gets it in time.
        """
        if not slug:
            return
        ends_s = self._loop.time() + JOINED_WITHIN_S
        while True:
            try:
                await asyncio.wrap_future(self._pool.seat(slug, again=True))
                return
            except EngineBusy:
                if self._loop.time() > ends_s:
                    raise
                await asyncio.sleep(SEAT_AGAIN_S)

    def leave(self, viewer: Viewer, name: str) -> None:
        self._do(viewer, "leave", name, at=self._engine_of(name))

    def acknowledge(self, viewer: Viewer, painted: dict[str, int]) -> None:
        """Send acknowledgements to each engine of the viewer, which selects its own channels."""
        self._do(viewer, "acknowledge", painted)

    def hide(self, viewer: Viewer, *, hidden: bool) -> None:
        viewer.hidden = hidden
        self._do(viewer, "hide", hidden=hidden)

    async def recheck(self, slug: str) -> None:
        self._pool.say(self._pool.place_of(slug), "recheck", slug)

    # --- what the engines say ----------------------------------------------------------------------------------------

    def hear(self, engine: Place, message: wire.Message | None) -> None:
        """Queue a message of an engine; None: the engine ended.  Called in the thread that reads from the engine."""
        try:
            self._loop.call_soon_threadsafe(self._take, engine, message)
        except RuntimeError:  # the loop is closed, and its sockets with it
            if self.hear in self._pool.listeners:
                self._pool.listeners.remove(self.hear)

    def _take(self, engine: Place, message: wire.Message | None) -> None:
        if message is not None and message[0] in ("may_see", "still_see"):
            self._begin(self._answer(engine, *message))
            return
        self._heard.append((engine, message))
        if self._delivering is None or self._delivering.done():
            self._delivering = self._loop.create_task(self._deliver())

    async def _deliver(self) -> None:
        """Deliver messages to viewers in their order, without waiting for a reader."""
        while self._heard:
            engine, message = self._heard.popleft()
            if message is None:
                await self._engine_ended(engine)
            elif message[0] == "frames":
                for numbers, text in message[1]:
                    for number in numbers:
                        if (viewer := self._by_number.get(number)) is not None:
                            await viewer.send(text)
            elif message[0] == "close" and (viewer := self._by_number.get(message[1])) is not None:
                await self._close(viewer, message[2])

    async def _close(self, viewer: Viewer, code: int) -> None:
        try:
            await viewer.close(code)
        except Exception as error:  # the socket went away; its consumer says so in a moment
            log.debug("closing the socket of %s failed: %s", viewer.address, error)

    async def _engine_ended(self, engine: Place) -> None:
        for viewer, entered in list(self._entered.items()):
            if engine in entered.engines:
                await self._close(viewer, ENGINE_ENDED)

    async def _answer(self, engine: Place, question: str, number: int, *args: Any) -> None:
        """Answer an engine's question about rights.  If the database fails, no right is granted and none is revoked."""
        try:
            answer: Any = await (self._may_see(*args) if question == "may_see" else self._may_still_see(*args))
        except Exception as error:
            log.warning("rights could not be checked: %s", error)
            answer = [Sight.NO_SCORES] * len(args[0]) if question == "still_see" else Sight.NOTHING
        self._pool.say(engine, "answer", number, answer)

    async def _may_see(self, number: int, slug: str) -> Sight:
        viewer = self._by_number.get(number)
        return Sight.NOTHING if viewer is None else await viewer.may_see(slug)

    async def _may_still_see(self, asked: Sequence[tuple[int, str]]) -> list[Sight]:
        visitors = {number: self._by_number[number].who for number, _ in asked if number in self._by_number}
        sights = iter(await self._still_see([(visitors[number], slug) for number, slug in asked if number in visitors]))
        return [next(sights) if number in visitors else Sight.NOTHING for number, _ in asked]

    def _engine_of(self, name: str) -> Place:
        """Return the engine of the channel's sandbox, or one that reports the sandbox as unknown."""
        return self._pool.place_of(slug_of(name) or "")

    def _do(self, viewer: Viewer, does: str, *args: Any, at: Place = None, **named: Any) -> None:
        """Call a hub's method for the viewer in every engine that has it, or only in the engine `at`."""
        entered = self._entered.get(viewer, NOT_ENTERED)
        for engine in entered.engines:
            if at in (None, engine):
                self._pool.say(engine, "viewer", entered.number, does, args, named)

    def _begin(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
