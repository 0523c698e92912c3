"""The socket of a lab's engine in a student's browser (`queueviz.lite.1`): one for each run, the newest one counts."""

import asyncio
import logging
import time

from channels.db import database_sync_to_async
from django.utils import timezone

from queueviz.access.rate_limits import Rate
from queueviz.browsers import links
from queueviz.browsers.begin_message import begin_message
from queueviz.browsers.hub import BrowserHub
from queueviz.browsers.link import Link
from queueviz.browsers.messages import (
    CameMessage,
    Did,
    Hello,
    LabMessage,
    Received,
    Refused,
    Say,
    Shut,
    TileMessage,
    parse,
)
from queueviz.browsers.news import course_of
from queueviz.browsers.run_state import Elsewhere, RunState
from queueviz.live.consumers import NOT_UNDERSTOOD
from queueviz.live.hubs import hub_of_this_loop
from queueviz.live.keepers import arrivals_of_this_loop, keeper_of_this_loop, news_of_this_loop
from queueviz.live.own_sockets import OwnSocket
from sandbox.control.limits import HostLimits
from sandbox.live.hub import TOO_MANY

log = logging.getLogger(__name__)

SUBPROTOCOL = "queueviz.lite.1"
NOT_YOURS = 4403
ENDED = 4410  # with an `end` message before it
HELLO_WITHIN_S = 10.0
TILES_PER_BEAT = 4  # a browser that hears nothing for 15 s connects again
LIMITS = HostLimits()
TILES = Rate(2, 10, what="tiles")
ROWS = Rate(2, 20, what="labs")
MESSAGES = Rate(60, 900, what="messages")  # after a cut, all entries since then come at once


class BrowserConsumer(OwnSocket):
    """The socket of one browser's engine.  Only the student whose work the run is may open it."""

    link: Link | None = None
    state: RunState | None = None
    hub: BrowserHub
    _counted = False
    _late: asyncio.TimerHandle | None = None
    _entering = False
    _tiles = 0

    async def connect(self) -> None:
        port = await self.port_of_own(SUBPROTOCOL)
        if port is None:
            return
        self.slug: str = self.scope["url_route"]["kwargs"]["slug"]
        self.hub, self.keeper, self.news = hub_of_this_loop(port), keeper_of_this_loop(), news_of_this_loop()
        await self.accept(SUBPROTOCOL)
        if not self.keeper.has_room(self.visitor.address, LIMITS):
            await self.close(TOO_MANY)
            return
        self.keeper.count(self.visitor.address, 1)
        self._counted = True
        loop = asyncio.get_running_loop()
        self._key = self.visitor.address  # until it is known whose run it is
        self._late = loop.call_later(HELLO_WITHIN_S, lambda: loop.create_task(self.close(NOT_UNDERSTOOD)))

    def leave(self) -> None:
        if self._late is not None:
            self._late.cancel()
        if self._counted:
            self._counted = False
            self.keeper.count(self.visitor.address, -1)
        link, self.link = self.link, None
        if link is not None and self.state is not None:
            links.leave(link)
            self.keeper.leave(self.state)
            self.news.leave(course_of(self.state)[0], link)
            self.hub.lost_soon(link)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if not self._counted:
            return
        if not MESSAGES.admits(self._key):
            await self.close(TOO_MANY)
            return
        message = parse(text_data)
        if message is None or (isinstance(message, Hello) == (self.link is not None or self._entering)):
            await self.close(NOT_UNDERSTOOD)
        elif isinstance(message, Hello):
            self._entering = True
            await self._enter(message)
        elif self.link is not None and self.state is not None:
            await self._take(self.link, self.state, message)

    async def _enter(self, hello: Hello) -> None:
        """Make this socket the run's, and send what the browser does not have."""
        if self._late is not None:
            self._late.cancel()
        known = await arrivals_of_this_loop().ask(self.hub.turns, self.visitor, self.slug)
        if known is None:
            await self.close(NOT_YOURS)
            return
        self._key = self.slug  # a new socket has no new budget
        before = links.link_of(self.slug)
        state = RunState(*known)
        if hello.runs and not _is_same_run(hello, state, before):
            await self._end("elsewhere")
            return
        link = Link(self.slug, self._say, self._end_soon, hello.instance, state.note_teacher)
        links.enter(link)
        if before is not None:
            before.end("again" if before.instance == hello.instance else "elsewhere")
        self.link, self.state = link, state
        self.keeper.enter(state)
        if hello.engine != state.run.engine:
            state.note("engine")
        if hello.runs:
            due_ms = None if state.due_at is None else round(state.due_at.timestamp() * 1000)
            link.say("go", length=len(state.receipts), receipt=state.receipt, due_ms=due_ms, now_ms=_now_ms())
        else:
            begin = await database_sync_to_async(begin_message)(state.run)
            link.say("begin", **begin, now_ms=_now_ms())
        self.news.enter(*course_of(state), link)

    async def _take(self, link: Link, state: RunState, message: Received) -> None:
        match message:
            case CameMessage():
                await self._came(link, state, message)
            case TileMessage() if TILES.admits(self._key):
                link.take_tile(message)
                state.see(message)
                self._tiles += 1
                if self._tiles % TILES_PER_BEAT == 1:
                    link.say("beat")
            case LabMessage() if ROWS.admits(self._key):
                self.keeper.add_row(state, message.row)
            case Did() | Refused():
                link.take_answer(message)
            case Say() | Shut():
                await self.hub.take(link, message)

    async def _came(self, link: Link, state: RunState, message: CameMessage) -> None:
        try:
            row = state.take(message, timezone.now())
        except Elsewhere:
            return await self._end("elsewhere")

        def kept() -> None:
            link.say("receipt", n=state.stored, receipt=state.receipts[state.stored - 1])

        if row is not None:
            self.keeper.add(state, row, kept, lambda: self._end_soon("again"))
        elif message.n <= state.stored:
            kept()
        return None

    def _say(self, text: str) -> None:
        if self.send_at_once is None:
            asyncio.get_running_loop().create_task(self.send(text))
        else:
            self.send_at_once(text)

    def _end_soon(self, reason: str) -> None:
        asyncio.get_running_loop().create_task(self._end(reason))

    async def _end(self, reason: str) -> None:
        """End the socket with a reason: `elsewhere`, `removed`, or `again` if the browser is to connect once more."""
        try:
            await self.send(f'{{"k":"end","reason":"{reason}"}}')
            await self.close(ENDED)
        except Exception as error:  # the socket went away
            log.debug("ending the socket of %s failed: %s", self.slug, error)


def _is_same_run(hello: Hello, state: RunState, before: Link | None) -> bool:
    """Return True if the browser's run has all the server's entries, and no other browser has begun it since."""
    if before is not None and before.instance != hello.instance:
        return False
    if not hello.known <= len(state.receipts) <= hello.length:
        return False
    return hello.receipt == (state.receipts[hello.known - 1] if hello.known else "")


def _now_ms() -> int:
    return int(time.time() * 1000)
