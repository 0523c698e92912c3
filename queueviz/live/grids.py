"""Grids of courses, live: what the engines show of all its sandboxes, twice a second, as one channel `grid/<course>`.

The tiles of a course may be in several engines, and what stands beside them is in the database, so this is the web
process's own: it asks each engine once for all of its tiles, and the database every two seconds.
"""

import asyncio
import logging
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

from channels.db import database_sync_to_async

from queueviz import visitor
from queueviz.access import Forbidden, NotFound
from queueviz.courses.grid import Grid, Student, frame, students_of
from queueviz.courses.models import Course
from queueviz.courses.visits import visit_course
from queueviz.live import frames
from queueviz.live.channel import Channel
from queueviz.live.figures import Figures
from queueviz.live.viewer import Viewer, Watch
from sandbox.control.interventions import LEASE_S
from sandbox.control.limits import SocketLimits
from sandbox.control.readings import Reading
from sandbox.kernel.errors import SandboxError
from sandbox.queries.rows.tile import TileRow

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

log = logging.getLogger(__name__)

GRID = "grid"
EVERY_S = 0.5
RENEW_EVERY_S = 8.0  # three times in a lease
BEAT_EVERY = 2  # readings
DATABASE_EVERY_S = 2.0
PATIENCE_S = 5.0
MOST_GRIDS = 200
EPOCH = "grid"


class Known(NamedTuple):
    """What the database has of a course."""

    course: Course
    students: list[Student]


def course_of(name: str) -> str | None:
    """The course of a channel's name; None where it is no grid's."""
    kind, _, slug = name.partition("/")
    return slug if kind == GRID and slug and "/" not in slug and len(slug) <= 64 else None


class Grids:
    """All on one loop.  A grid is read while someone watches it."""

    def __init__(self, port: "EnginePort", *, limits: SocketLimits | None = None) -> None:
        self.port = port
        self.limits = limits or SocketLimits()
        self.figures = Figures()
        self._channels: dict[str, Channel] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._now = asyncio.get_running_loop().time

    async def join(self, viewer: Viewer, name: str) -> None:
        """Show the grid to its teacher, or send why not."""
        slug = course_of(name)
        if slug is None or not await database_sync_to_async(_may_grade)(viewer.who, slug):
            return await viewer.send(frames.end(name[:1_000], "unknown"))
        if name not in viewer.watches and viewer.channel_count >= self.limits.channels:
            return await viewer.send(frames.end(name, "too_many_channels"))
        if name not in self._channels and len(self._channels) >= MOST_GRIDS:
            return await viewer.send(frames.end(name, "too_many_channels"))
        if viewer.closed:
            return None
        channel = self._channels.get(name)
        if channel is None:
            channel = self._channels[name] = Channel(name, slug, self.limits, self.figures, least_s=EVERY_S)
            self._tasks[name] = asyncio.get_running_loop().create_task(self._run(channel))
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

    async def _run(self, channel: Channel) -> None:
        grid: Grid | None = None
        known: Known | None = None
        read_at_s, renewed_s, seq = float("-inf"), float("-inf"), 0
        while channel.viewers:
            began_s = self._now()
            try:
                if known is None or began_s - read_at_s >= DATABASE_EVERY_S:
                    known, read_at_s = await database_sync_to_async(_known)(channel.slug), began_s
                    await self._check_rights(channel)
                if known is None:
                    await self._end(channel)
                    break
                grid = grid or Grid(len(known.course.labs))
                rows = grid.rows(known.students, await self._tiles(known.students))
                if began_s - renewed_s >= RENEW_EVERY_S:
                    renewed_s = began_s
                    self._renew(known.students)
                seq += 1
                await channel.publish(Reading(seq, 0, 1.0, EPOCH, frame(known.course, rows)), self._now())
                if seq % BEAT_EVERY == 0:
                    await self._beat(channel)
            except Exception:  # one bad reading must not end the lesson
                log.exception("the grid of %s was not read", channel.slug)
            await asyncio.sleep(max(0.0, began_s + EVERY_S - self._now()))

    async def _beat(self, channel: Channel) -> None:
        """For a page that watches no sandbox: no engine says to it that the line is good."""
        text = frames.beat(int(time.time() * 1000), None, len(channel.viewers))
        for viewer in [viewer for viewer in channel.viewers if viewer.home is None]:
            await viewer.send(text)

    async def _tiles(self, students: list[Student]) -> dict[str, TileRow]:
        """Of the sandboxes that are awake; none where the engines do not answer."""
        slugs = [one.slug for one in students if one.slug is not None]
        if not slugs:
            return {}
        try:
            asked = self.port.read([f"tile/{slug}" for slug in slugs])
            found = await asyncio.wait_for(asyncio.wrap_future(asked), PATIENCE_S)
        except (SandboxError, TimeoutError) as why:
            log.info("no tiles: %s", why)
            return {}
        return {slug: one.data["tile"] for slug, one in zip(slugs, found, strict=True) if isinstance(one, Reading)}

    def _renew(self, students: list[Student]) -> None:
        """The teacher's page is there: what was frozen or broken stays so."""
        for one in students:
            if one.slug is not None:
                self.port.renew_hold(one.slug, LEASE_S).add_done_callback(_note_failure)

    async def _check_rights(self, channel: Channel) -> None:
        for viewer in list(channel.viewers):
            if not await database_sync_to_async(_may_grade)(viewer.who, channel.slug):
                self.leave(viewer, channel.name)
                await viewer.send(frames.end(channel.name, "forbidden"))

    async def _end(self, channel: Channel) -> None:
        for viewer in list(channel.viewers):
            viewer.watches.pop(channel.name, None)
            await viewer.send(frames.end(channel.name, "unknown"))
        channel.viewers.clear()
        self._channels.pop(channel.name, None)
        self._tasks.pop(channel.name, None)


def _note_failure(renewed: Future[None]) -> None:
    if not renewed.cancelled() and (why := renewed.exception()) is not None:
        log.info("a hold was not renewed: %s", why)


def _known(slug: str) -> Known | None:
    course = Course.objects.filter(slug=slug).first()
    return None if course is None else Known(course, students_of(course))


def _may_grade(who: Any, slug: str) -> bool:
    """Read afresh each time: the session may have ended since the socket opened."""
    try:
        visit_course(visitor.afresh(who), slug, "grade")
    except (NotFound, Forbidden):
        return False
    return True
