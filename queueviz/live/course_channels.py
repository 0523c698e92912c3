"""Channels of courses.  This process reads each once for all viewers, at the pace of its kind.

Their content is in the database and, for a grid's tiles, in several engines.  So they belong to no single sandbox.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from channels.db import database_sync_to_async

from queueviz.courses.course_access import allowed
from queueviz.live import rights
from queueviz.live.classrooms import Classroom
from queueviz.live.grids import LiveGrid
from sandbox.control.limits import SocketLimits
from sandbox.control.readings import Reading
from sandbox.live import frames
from sandbox.live.channel import Channel
from sandbox.live.socket_costs import Figures
from sandbox.live.viewer import Viewer, Watch

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

log = logging.getLogger(__name__)

BEAT_S = 1.0
MOST_CHANNELS = 400
EPOCH = "course"


class Source(Protocol):
    """The source of one channel's content."""

    async def read(self) -> Mapping[str, object] | None:
        """Return the channel's current content, or None if the course does not exist any more."""


class Kind(NamedTuple):
    """A kind of channel.

    `verb`: the right that its viewers need; `rights_every_s`: the interval of checks of that right.
    """

    verb: str
    every_s: float
    rights_every_s: float
    source: Callable[["EnginePort", str], Source]


KINDS = {
    "grid": Kind("grade", 0.4, 2.0, LiveGrid),  # so that 99 of 100 tiles are seen within 0.5 s
    "class": Kind("see", 0.5, 10.0, Classroom),
}


def course_of(name: str) -> str | None:
    """Return the course in a channel's name, or None if it is not a channel of a course."""
    kind, _, slug = name.partition("/")
    return slug if kind in KINDS and slug and "/" not in slug and len(slug) <= 64 else None


def _kind(name: str) -> Kind:
    return KINDS[name.partition("/")[0]]


class CourseChannels:
    """The channels of courses, all on one loop.  A channel is read while it has viewers."""

    def __init__(self, port: "EnginePort", *, limits: SocketLimits | None = None) -> None:
        self.port = port
        self.limits = limits or SocketLimits()
        most_bytes = self.limits.course_bytes
        self._sizes = replace(self.limits, snapshot_bytes=most_bytes, frame_bytes=most_bytes)
        self.figures = Figures()
        self._channels: dict[str, Channel] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._now = asyncio.get_running_loop().time

    async def join(self, viewer: Viewer, name: str) -> None:
        """Open the channel for a viewer with the right to it.  Otherwise send the reason for the refusal."""
        slug = course_of(name)
        if slug is None or not await self._may(viewer, name, slug):
            return await viewer.send(frames.end(name[:1_000], "unknown"))
        if name not in viewer.watches and viewer.channel_count >= self.limits.channels:
            return await viewer.send(frames.end(name, "too_many_channels"))
        if name not in self._channels and len(self._channels) >= MOST_CHANNELS:
            return await viewer.send(frames.end(name, "too_many_channels"))
        if viewer.closed:
            return None
        channel = self._channels.get(name)
        if channel is None:
            kind = _kind(name)
            channel = self._channels[name] = Channel(name, slug, self._sizes, self.figures, least_s=kind.every_s)
            self._tasks[name] = asyncio.get_running_loop().create_task(self._run(channel, kind))
        viewer.watches[name] = Watch()
        channel.viewers[viewer] = None
        return None

    def leave(self, viewer: Viewer, name: str) -> None:
        viewer.watches.pop(name, None)
        channel = self._channels.get(name)
        if channel is None:
            return
        channel.viewers.pop(viewer, None)
        if not channel.viewers:
            del self._channels[name]
            self._tasks.pop(name).cancel()

    def forget(self, viewer: Viewer) -> None:
        for name in [name for name in viewer.watches if course_of(name)]:
            self.leave(viewer, name)

    def acknowledge(self, viewer: Viewer, painted: dict[str, int]) -> None:
        for name, n in painted.items():
            if course_of(name) and (watch := viewer.watches.get(name)) is not None:
                watch.acknowledge(n)

    async def _run(self, channel: Channel, kind: Kind) -> None:
        source = kind.source(self.port, channel.slug)
        seq, checked_s, beaten_s = 0, self._now(), float("-inf")
        while channel.viewers:
            began_s = self._now()
            try:
                if began_s - checked_s >= kind.rights_every_s:
                    checked_s = began_s
                    await self._check_rights(channel)
                content = await source.read()
                if content is None:
                    await self._end(channel, "unknown")
                    break
                seq += 1
                reason = await channel.publish(Reading(seq, 0, 1.0, EPOCH, content), self._now())
                if reason is not None:
                    await self._end(channel, reason)
                    break
                if began_s - beaten_s >= BEAT_S:
                    beaten_s = began_s
                    await self._beat(channel)
            except Exception:  # one bad reading must not end the lesson
                log.exception("%s was not read", channel.name)
            await asyncio.sleep(max(0.0, began_s + kind.every_s - self._now()))

    async def _beat(self, channel: Channel) -> None:
        """Send the beat to viewers that watch no sandbox: no engine sends them one."""
        text = frames.beat(int(time.time() * 1000), None, len(channel.viewers))
        for viewer in [viewer for viewer in channel.viewers if viewer.home is None]:
            await viewer.send(text)

    async def _may(self, viewer: Viewer, name: str, slug: str) -> bool:
        [may] = await database_sync_to_async(_may)([viewer.who], slug, _kind(name).verb)
        return bool(may)

    async def _check_rights(self, channel: Channel) -> None:
        """Check the rights of all viewers in one database call, and remove those who lost them."""
        viewers = list(channel.viewers)
        verb = _kind(channel.name).verb
        answers = await database_sync_to_async(_may)([viewer.who for viewer in viewers], channel.slug, verb)
        for viewer in [viewer for viewer, may in zip(viewers, answers, strict=True) if not may]:
            self.leave(viewer, channel.name)
            await viewer.send(frames.end(channel.name, "forbidden"))

    async def _end(self, channel: Channel, reason: str) -> None:
        for viewer in list(channel.viewers):
            viewer.watches.pop(channel.name, None)
            await viewer.send(frames.end(channel.name, reason))
        channel.viewers.clear()
        self._channels.pop(channel.name, None)
        self._tasks.pop(channel.name, None)


def _may(visitors: list[Any], slug: str, verb: str) -> list[bool]:
    """Return, for each visitor, True if the visitor may do `verb` in the course.

    Session and user are read again each time: a session may have ended since its socket opened.
    """
    return allowed(rights.afresh(visitors), slug, verb)
