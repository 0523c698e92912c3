"""The WebSocket of a page: its authorization and its messages.

It checks rights and passes the viewer to the hub.
"""

import asyncio
import logging
import time
from typing import Any, NamedTuple

from channels.db import database_sync_to_async

from queueviz import engine
from queueviz.access import policy, visitor
from queueviz.access.hidden_names import Mask
from queueviz.access.rate_limits import Rate
from queueviz.browsers.hub import BrowserHub
from queueviz.clusters import attached_clusters
from queueviz.courses import presence
from queueviz.links import share_links
from queueviz.live.course_channels import CourseChannels, course_of
from queueviz.live.hubs import course_channels_of_this_loop, hub_of_this_loop
from queueviz.live.own_sockets import OwnSocket
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.live import frames
from sandbox.live.channel import slug_of
from sandbox.live.hub import TOO_MANY
from sandbox.live.viewer import Viewer
from sandbox.live.visible_parts import Sight

log = logging.getLogger(__name__)

SUBPROTOCOL = "queueviz.live.1"
NOT_UNDERSTOOD = 4400
MAX_MESSAGE_CHARS = 16_384
MAX_SEQ = 2**63 - 1


class Slow(NamedTuple):
    """A message of the client that must wait for the engine or the database."""

    kind: str  # sub, unsub, here
    channel: str = ""
    after: object = None  # the last fact its reader has


class LiveConsumer(OwnSocket):
    """The socket of one browser tab.  Client messages: hello, sub, unsub, ack, vis, ping (catalogue 10).

    Behind a live link (`/ws/v/SECRET/`) the visitor has only the link's right and sees another sandbox name
    (`hidden_names`).
    """

    viewer: Viewer | None = None
    mask: Mask | None = None
    hub: BrowserHub
    courses: CourseChannels

    async def connect(self) -> None:
        port = await self.port_of_own(SUBPROTOCOL)
        if port is None:
            return
        self.hub, self.courses = hub_of_this_loop(port), course_channels_of_this_loop(port)
        await self.accept(SUBPROTOCOL)
        if not self.hub.has_room_for(self.visitor.address):
            await self.close(TOO_MANY)
            return
        if (secret := self.scope["url_route"]["kwargs"].get("secret")) is not None:
            self.visitor = visitor.Visitor(address=self.visitor.address, link=secret)
            try:
                self.mask = await self.hub.turns.ask(lambda: database_sync_to_async(_mask_of)(self.visitor))
            except ActionRefused:  # after many guesses
                await self.close(TOO_MANY)
                return
        limits = self.hub.limits
        self.rate = Rate(limits.messages_per_s, limits.messages_per_s, what="messages", now=time.monotonic)
        self._woken: set[str] = set()  # sandboxes that this socket's first subscription woke, or may not wake
        self.viewer = Viewer(self._say, self.close, self._may_see, self.visitor.address, limits, self.visitor)
        self.hub.enter(self.viewer)
        self._waiting: asyncio.Queue[Slow] = asyncio.Queue(limits.waiting_messages)
        self._work = asyncio.create_task(self._carry_out(self.viewer))

    def leave(self) -> None:
        if self.viewer is not None:
            self._work.cancel()
            self.courses.forget(self.viewer)
            self.hub.forget(self.viewer)

    async def _say(self, text: str) -> None:
        text = text if self.mask is None else self.mask.frame(text)
        if self.send_at_once is None:
            await self.send(text)
        else:  # past ASGI each frame costs a third
            self.send_at_once(text)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.viewer is None or self.viewer.closed:
            return
        message = _parsed(text_data)
        if message is not None and self.mask is not None:
            message = self.mask.message(message)
        if message is None:
            await self.viewer.close(NOT_UNDERSTOOD)
        elif self.rate.admits("socket"):
            await self._heard(self.viewer, message)
        elif message.get("k") == "sub":
            await self.viewer.send(frames.end(str(message.get("ch"))[:1_000], "too_many_messages"))

    async def _heard(self, viewer: Viewer, message: dict[str, object]) -> None:
        """Process a client message without waiting for the engine or the database.

        Otherwise the end of the socket would wait for them too.
        """
        kind, ch = message.get("k"), message.get("ch")
        if isinstance(kind, str) and kind in ("sub", "unsub") and isinstance(ch, str):
            try:
                self._waiting.put_nowait(Slow(kind, ch, message.get("after")))
            except asyncio.QueueFull:
                await viewer.send(frames.end(ch[:1_000], "too_many_messages"))
        elif kind == "ack" and isinstance(received := message.get("n"), dict):
            painted = {name: n for name, n in received.items() if isinstance(n, int)}
            self.courses.acknowledge(viewer, painted)
            self.hub.acknowledge(viewer, painted)
        elif kind == "vis":
            self.hub.hide(viewer, hidden=bool(message.get("hidden")))
        elif kind == "ping":
            await viewer.send(frames.encode({"k": "pong", "t": message.get("t")}))
            if self.visitor.session is not None and self._waiting.empty():
                self._waiting.put_nowait(Slow("here"))

    async def _carry_out(self, viewer: Viewer) -> None:
        """Process slow messages one after the other, in the order received, until the socket ends."""
        while True:
            kind, ch, after = await self._waiting.get()
            try:
                if kind == "here":
                    await self.hub.turns.ask(lambda: database_sync_to_async(_note)(self.visitor))
                elif kind == "unsub":
                    (self.hub if course_of(ch) is None else self.courses).leave(viewer, ch)
                elif course_of(ch) is not None:
                    await self.courses.join(viewer, ch)
                else:
                    await self._wake(ch)
                    await self.hub.join(viewer, ch, _seq(after))
            except Exception:  # one channel that cannot be opened must not silence the others
                log.exception("opening a channel failed")
                await viewer.send(frames.end(ch[:1_000], "failed"))

    async def _wake(self, ch: str) -> None:
        """Wake the channel's sandbox as a visit does.

        After a restart of the server an open page has a sleeping sandbox.  This happens once for each socket: a page
        must not wake a sandbox that is stopped while the page is open.  If waking is refused, the channel ends with
        `asleep` or `failed`.
        """
        slug = slug_of(ch)
        if slug is None or slug in self._woken:
            return
        if not await self.hub.turns.ask(lambda: database_sync_to_async(_may_wake)(self.visitor, slug)):
            self._woken.add(slug)
            return
        try:
            await self.hub.reach(slug)
            await asyncio.wait_for(asyncio.wrap_future(self.hub.port.wake(slug)), engine.OPENING_PATIENCE_S)
        except (SandboxError, TimeoutError) as error:
            log.info("%s stays asleep: %s", slug, error)
        else:
            self._woken.add(slug)

    async def _may_see(self, slug: str) -> Sight:
        sight: Sight = await database_sync_to_async(_may_see)(self.visitor, slug)
        return sight


def _mask_of(requester: visitor.Visitor) -> Mask | None:
    """Return the mask of the visitor's live link.  None: the link is not valid and shows nothing."""
    assert requester.link is not None
    try:
        link = share_links.find(requester, requester.link)
    except policy.NotFound:
        return None
    return Mask(link.sandbox.slug, requester.link) if link.kind == share_links.LIVE else None


def _may_see(requester: visitor.Visitor, slug: str) -> Sight:
    """Return what the visitor sees of the sandbox or cluster.

    Session and user are read again each time: the session may have ended since the socket opened.
    """
    try:
        visit = policy.visit_at(visitor.afresh(requester), slug, "see")
    except (policy.NotFound, policy.Forbidden):
        return Sight.NOTHING
    attached_clusters.glance(visit)
    return visit.sight


def _note(requester: visitor.Visitor) -> bool:
    presence.note(requester)
    return True


def _may_wake(requester: visitor.Visitor, slug: str) -> bool:
    try:
        return policy.visit_at(visitor.afresh(requester), slug, "see").wakes
    except (policy.NotFound, policy.Forbidden):
        return False


def _parsed(text: str | None) -> dict[str, object] | None:
    if text is None or len(text) > MAX_MESSAGE_CHARS:
        return None
    try:
        message = json_bytes.loads(text)
    except json_bytes.JSONDecodeError:
        return None
    return message if isinstance(message, dict) else None


def _seq(value: Any) -> int | None:
    """Return the event number in a message, which is text.  None for any other value: facts are sent from now on."""
    try:
        seq = int(value)
    except (TypeError, ValueError):
        return None
    return seq if -1 <= seq <= MAX_SEQ else None
