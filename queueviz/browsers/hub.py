"""A hub with the boards of browsers beside those of the server: it passes texts between a viewer and the browser."""

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct

from queueviz.browsers.link import Link
from queueviz.browsers.links import link_of
from queueviz.browsers.messages import Say, Shut
from queueviz.slugs import is_in_browser
from sandbox.live import frames
from sandbox.live.channel import slug_of
from sandbox.live.viewer import Viewer
from sandbox.live.visible_parts import Sight

if TYPE_CHECKING:
    from queueviz.browsers.port import BrowserPort
    from queueviz.engines.viewers import Viewers
    from sandbox.live.hub import Hub, StillSee

log = logging.getLogger(__name__)

RIGHTS_EVERY_S = 2.0
MOST_FRAME_CHARS = 400_000
SCORES = "lab/"  # channels that a viewer who may see no scores does not get
OF_NO_CHANNEL = ("beat", "pong")


class Head(Struct):
    """Kind and channel of a frame: the rest is passed on unread."""

    k: str
    ch: str | None = None


class Look(NamedTuple):
    """A viewer's look into one browser: the link, its number there, and its channels."""

    link: Link
    number: int
    channels: set[str]


_head = msgspec.json.Decoder(Head).decode


class BrowserHub:
    """The methods of `Hub` that a socket calls.  Everything but the browsers' boards goes to the server's hub."""

    def __init__(self, hosted: "Hub | Viewers", port: "BrowserPort", still_see: "StillSee") -> None:
        self.hosted = hosted
        self.port = port
        self._still_see = still_see
        self._looks: dict[Viewer, dict[str, Look]] = {}
        self._rights: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.hosted, name)

    async def join(self, viewer: Viewer, name: str, after: int | None = None) -> None:
        """Open a channel as `Hub.join`; without a connected browser it ends with `asleep`."""
        slug = slug_of(name) or ""
        if not is_in_browser(slug):
            return await self.hosted.join(viewer, name, after)
        sight = await self.hosted.turns.ask(lambda: viewer.may_see(slug))
        if not viewer.look(slug, sight) or (sight != Sight.ALL and name.startswith(SCORES)):
            return await viewer.send(frames.end(name[:1_000], "unknown"))
        link = link_of(slug)
        if link is None:
            return await viewer.send(frames.end(name, "asleep"))
        looks = self._looks.setdefault(viewer, {})
        if sum(len(look.channels) for look in looks.values()) + viewer.channel_count >= self.hosted.limits.channels:
            return await viewer.send(frames.end(name, "too_many_channels"))
        look = looks.get(slug)
        if look is None or look.link is not link:
            number = link.open(viewer)
            if number is None:
                return await viewer.send(frames.end(name, "too_many_channels"))
            look = looks[slug] = Look(link, number, set())
        look.channels.add(name)
        link.hear(look.number, {"k": "sub", "ch": name, "after": None if after is None else str(after)})
        self._check_rights_later()
        return None

    def leave(self, viewer: Viewer, name: str) -> None:
        look = self._looks.get(viewer, {}).get(slug_of(name) or "")
        if look is None:
            return self.hosted.leave(viewer, name)
        look.channels.discard(name)
        look.link.hear(look.number, {"k": "unsub", "ch": name})
        if not look.channels:
            self._close(viewer, look.link.slug)
        return None

    def forget(self, viewer: Viewer) -> None:
        for look in self._looks.pop(viewer, {}).values():
            look.link.close(look.number)
        self.hosted.forget(viewer)

    def acknowledge(self, viewer: Viewer, painted: dict[str, int]) -> None:
        for look in self._looks.get(viewer, {}).values():
            if mine := {name: n for name, n in painted.items() if name in look.channels}:
                look.link.hear(look.number, {"k": "ack", "n": mine})
        self.hosted.acknowledge(viewer, painted)

    def hide(self, viewer: Viewer, *, hidden: bool) -> None:
        for look in self._looks.get(viewer, {}).values():
            look.link.hear(look.number, {"k": "vis", "hidden": hidden})
        self.hosted.hide(viewer, hidden=hidden)

    async def reach(self, slug: str) -> None:
        if not is_in_browser(slug):
            await self.hosted.reach(slug)

    async def recheck(self, slug: str) -> None:
        if is_in_browser(slug):
            await self._check_rights()
            if (link := link_of(slug)) is not None:
                link.end_soon("again")  # its student connects again, or may not any more
        await self.hosted.recheck(slug)

    # What browsers say.

    async def take(self, link: Link, message: Say | Shut) -> None:
        """Pass a browser's text on to its viewer, if it is of a channel that the viewer has opened there."""
        viewer = link.viewer_of(message)
        look = None if viewer is None else self._looks.get(viewer, {}).get(link.slug)
        if viewer is None or look is None or look.number != message.v:
            return
        if isinstance(message, Shut):
            await self._end(viewer, look, "failed")
        elif len(message.text) <= MOST_FRAME_CHARS and _is_of(message.text, look.channels):
            await viewer.send(message.text)

    def lost_soon(self, link: Link) -> None:
        """Do `lost` in a task of its own: the caller may be killed at its next await."""
        task = asyncio.get_running_loop().create_task(self._lost(link))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _lost(self, link: Link) -> None:
        """End the looks into a browser that is gone."""
        for viewer in link.lost():
            if (look := self._looks.get(viewer, {}).get(link.slug)) is not None and look.link is link:
                await self._end(viewer, look, "asleep")

    async def _end(self, viewer: Viewer, look: Look, reason: str) -> None:
        self._close(viewer, look.link.slug)
        for name in look.channels:
            await viewer.send(frames.end(name, reason))

    def _close(self, viewer: Viewer, slug: str) -> None:
        looks = self._looks.get(viewer, {})
        if (look := looks.pop(slug, None)) is not None:
            look.link.close(look.number)
        if not looks:
            self._looks.pop(viewer, None)

    # Rights.

    def _check_rights_later(self) -> None:
        if self._rights is None or self._rights.done():
            self._rights = asyncio.get_running_loop().create_task(self._check_while_looked())

    async def _check_while_looked(self) -> None:
        while self._looks:
            await asyncio.sleep(RIGHTS_EVERY_S)
            try:
                await self._check_rights()
            except Exception as error:  # the database is busy: what is open stays open
                log.warning("rights could not be checked: %s", error)

    async def _check_rights(self) -> None:
        asked = [(viewer, slug) for viewer, looks in self._looks.items() for slug in looks]
        sights: Sequence[Sight] = await self._still_see([(viewer.who, slug) for viewer, slug in asked])
        for (viewer, slug), sight in zip(asked, sights, strict=True):
            look = self._looks.get(viewer, {}).get(slug)
            if look is not None and not viewer.look(slug, sight):
                await self._end(viewer, look, "forbidden")


def _is_of(text: str, channels: set[str]) -> bool:
    """Return True if the text is a frame of one of the channels, or of none."""
    try:
        head = _head(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return head.k in OF_NO_CHANNEL if head.ch is None else head.ch in channels
