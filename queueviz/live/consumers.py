"""The socket: who may open it, what it may say.  It checks rights and hands the viewer to the hub."""

import asyncio
import logging
import time
from typing import Any
from urllib.parse import urlparse

import orjson
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from queueviz import access, attaching, engine, visitor
from queueviz.live import frames
from queueviz.live.channel import slug_of
from queueviz.live.hub import TOO_MANY, Hub, hub_of_this_loop
from queueviz.live.viewer import Viewer
from queueviz.rates import Rate
from sandbox.kernel.errors import SandboxError

log = logging.getLogger(__name__)

SUBPROTOCOL = "queueviz.live.1"
NOT_UNDERSTOOD = 4400
MAX_MESSAGE_CHARS = 16_384
MAX_SEQ = 2**63 - 1


class LiveConsumer(AsyncWebsocketConsumer):
    """One tab.  Client messages: hello, sub, unsub, ack, vis, ping (catalogue 10)."""

    viewer: Viewer | None = None
    hub: Hub

    async def connect(self) -> None:
        if not _is_own_origin(self.scope) or SUBPROTOCOL not in self.scope.get("subprotocols", ()):
            await self.close()
            return
        self.visitor = visitor.of_scope(self.scope)
        self.hub = hub_of_this_loop(await sync_to_async(engine.port, thread_sensitive=False)())
        await self.accept(SUBPROTOCOL)
        if not self.hub.has_room_for(self.visitor.address):
            await self.close(TOO_MANY)
            return
        limits = self.hub.limits
        self.rate = Rate(limits.messages_per_s, limits.messages_per_s, what="messages", now=time.monotonic)
        self._woken: set[str] = set()  # sandboxes that this socket's first subscription woke
        self.viewer = Viewer(self.send, self.close, self._may_see, self.visitor.address, limits)
        self.hub.enter(self.viewer)

    async def disconnect(self, code: int) -> None:
        if self.viewer is not None:
            await self.hub.forget(self.viewer)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.viewer is None or self.viewer.closed:
            return
        message = _parsed(text_data)
        if message is None:
            await self.viewer.close(NOT_UNDERSTOOD)
        elif self.rate.admits("socket"):
            await self._heard(self.viewer, message)
        elif message.get("k") == "sub":
            await self.viewer.send(frames.end(str(message.get("ch"))[:1_000], "too_many_messages"))

    async def _heard(self, viewer: Viewer, message: dict[str, Any]) -> None:
        kind, ch = message.get("k"), message.get("ch")
        if kind == "sub" and isinstance(ch, str):
            await self._wake(ch)
            await self.hub.join(viewer, ch, _seq(message.get("after")))
        elif kind == "unsub" and isinstance(ch, str):
            await self.hub.leave(viewer, ch)
        elif kind == "ack" and isinstance(message.get("n"), dict):
            self.hub.acknowledge(viewer, {name: n for name, n in message["n"].items() if isinstance(n, int)})
        elif kind == "vis":
            self.hub.hide(viewer, hidden=bool(message.get("hidden")))
        elif kind == "ping":
            await viewer.send(frames.encode({"k": "pong", "t": message.get("t")}))

    async def _wake(self, ch: str) -> None:
        """A visit, as opening a page is: after a restart of the server an open page finds its sandbox asleep.

        Once for each socket: a page that is open while its sandbox is put to sleep must not wake it again.
        Where waking is refused the channel says so: it ends with `asleep` or `failed`.
        """
        slug = slug_of(ch)
        if slug is None or slug in self._woken or not await database_sync_to_async(_may_wake)(self.visitor, slug):
            return
        try:
            await asyncio.wait_for(asyncio.wrap_future(self.hub.port.wake(slug)), engine.OPENING_PATIENCE_S)
        except (SandboxError, TimeoutError) as why:
            log.info("%s stays asleep: %s", slug, why)
        else:
            self._woken.add(slug)

    async def _may_see(self, slug: str) -> bool:
        return await database_sync_to_async(_may_see)(self.visitor, slug)


def _may_see(who: visitor.Visitor, slug: str) -> bool:
    """Read afresh each time: the session may have ended since the socket opened."""
    try:
        seat = access.seat_at(visitor.afresh(who), slug, "see")
    except (access.NotFound, access.Forbidden):
        return False
    attaching.glance(seat)
    return True


def _may_wake(who: visitor.Visitor, slug: str) -> bool:
    try:
        return access.seat_at(visitor.afresh(who), slug, "see").wakes
    except (access.NotFound, access.Forbidden):
        return False


def _is_own_origin(scope: dict[str, Any]) -> bool:
    """A page of another site may not open our socket; a program sends no Origin and gets no cookies either."""
    headers = dict(scope.get("headers", ()))
    origin = headers.get(b"origin")
    if origin is None:
        return True
    return urlparse(origin.decode("latin-1")).netloc.lower() == headers.get(b"host", b"").decode("latin-1").lower()


def _parsed(text: str | None) -> dict[str, Any] | None:
    if text is None or len(text) > MAX_MESSAGE_CHARS:
        return None
    try:
        message = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return message if isinstance(message, dict) else None


def _seq(value: Any) -> int | None:
    """A seq travels as text; anything else means: from now on."""
    try:
        seq = int(value)
    except (TypeError, ValueError):
        return None
    return seq if -1 <= seq <= MAX_SEQ else None
