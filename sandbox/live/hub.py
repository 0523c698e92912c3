"""All live channels of an engine's sandboxes, on one loop, with one call of the engine per tick for all boards.

The engine's thread only rings a bell.  A board is read when it is due: at once after a quiet time, else after the
channel's interval.  Viewers are called directly, without the channel layer.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from sandbox.control.limits import HostLimits, SandboxLimits, SocketLimits
from sandbox.live import frames
from sandbox.live.bells import Bells
from sandbox.live.channel import slug_of
from sandbox.live.channel_reader import BEAT_S, PATIENCE_S, ChannelReader
from sandbox.live.database_turns import DatabaseTurns
from sandbox.live.fact_channel import FACTS
from sandbox.live.fact_start import start_of_facts
from sandbox.live.membership import Membership
from sandbox.live.socket_costs import Figures
from sandbox.live.viewer import Viewer, has_room
from sandbox.live.visible_parts import Sight

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

log = logging.getLogger(__name__)

TOO_MANY = 4429

StillSee = Callable[[list[tuple[Any, str]]], Awaitable[list[Sight]]]  # of visitors and slugs


class Hub:
    """The entrance to the live channels: viewers join and leave them while they have the right.

    `Membership` has the tables, `ChannelReader` reads for them.
    """

    def __init__(
        self,
        port: "EnginePort",
        *,
        socket: SocketLimits | None = None,
        host: HostLimits | None = None,
        viewers_per_sandbox: int = SandboxLimits().viewers,
        still_see: StillSee | None = None,
    ) -> None:
        self.port = port
        self.still_see = still_see
        self.limits = socket or SocketLimits()
        self.host = host or HostLimits()
        self.figures = Figures()
        self.turns = DatabaseTurns(self.host.rights_share)
        self._viewers_per_sandbox = viewers_per_sandbox
        self._loop = asyncio.get_running_loop()
        self._now = self._loop.time
        self._bells = Bells(port, self._loop, self._rung)
        self._members = Membership(self.limits, self.figures, self._unwatched)
        self._reader = ChannelReader(
            port, self._members, self.limits, self.host, self.figures, self._bells.listen_again
        )
        self._rights: asyncio.Task[None] | None = None

    def has_room_for(self, address: str) -> bool:
        return has_room(self._members.viewers, address, self.host)

    def enter(self, viewer: Viewer) -> None:
        self._members.viewers[viewer] = None
        self._reader.start()
        if self.still_see is not None and (self._rights is None or self._rights.done()):
            self._rights = self._loop.create_task(self._check_rights(self.still_see))

    def forget(self, viewer: Viewer) -> None:
        """Remove a viewer whose socket is gone, without waiting: its task may be killed at its next await."""
        viewer.closed = True
        self._members.viewers.pop(viewer, None)
        for name in [*viewer.watches, *viewer.fact_cursors]:
            self.leave(viewer, name)
        self._reader.look()

    async def join(self, viewer: Viewer, name: str, after: int | None = None) -> None:
        """Open the channel `name` for the viewer from its next frame on, or send the reason for a refusal."""
        slug = slug_of(name)
        if slug is None or len(name) > 1_000:
            return await viewer.send(frames.end(name[:1_000], "unknown"))
        known = name in viewer.watches or name in viewer.fact_cursors
        if not known and viewer.channel_count >= self.limits.channels:
            return await viewer.send(frames.end(name, "too_many_channels"))
        is_there = viewer in self._members.viewers_of(slug)  # then its right is read every second
        if not is_there and not viewer.look(slug, await self.turns.ask(lambda: viewer.may_see(slug))):
            return await viewer.send(frames.end(name, "unknown"))
        with self._members.joining(slug):
            return await self._join(viewer, name, slug, after)

    async def _join(self, viewer: Viewer, name: str, slug: str, after: int | None) -> None:
        facts = name.startswith(f"{FACTS}/")
        start = await start_of_facts(self.port, self._reader.ask, slug, after) if facts else None
        if not await self._bells.listen(slug, PATIENCE_S):
            return await viewer.send(frames.end(name, "unknown"))
        if viewer.closed:
            return None
        viewers = self._members.viewers_of(slug)
        if viewer not in viewers and len(viewers) >= self._viewers_per_sandbox:  # from here to the end no await
            return await viewer.close(TOO_MANY)
        viewer.home = viewer.home or slug
        if start is not None:
            self._members.add_to_facts(viewer, name, slug, start.after)
        else:
            self._members.add_to_board(viewer, name, slug)
        self._reader.look()
        if start is not None and start.rows is not None:
            rows = self._reader.shown_rows(slug, start.rows)
            await viewer.send(frames.facts(name, rows, first=start.after + 1 if start.is_cut else None))
        return None

    async def reach(self, slug: str) -> None:
        """Return at once: the sandbox's engine is this one."""

    def leave(self, viewer: Viewer, name: str) -> None:
        self._members.leave(viewer, name)

    def acknowledge(self, viewer: Viewer, painted: dict[str, int]) -> None:
        for name, n in painted.items():
            watch = viewer.watches.get(name)
            if watch is None:
                continue
            watch.acknowledge(n)
            if watch.behind and not watch.unacknowledged and name in self._members.boards:
                self._members.boards[name].dirty = True  # it has caught up: the newest snapshot now
                self._reader.look()

    def hide(self, viewer: Viewer, *, hidden: bool) -> None:
        viewer.hide(hidden=hidden)
        for name in viewer.watches:
            if name in self._members.boards and not hidden:
                self._members.boards[name].dirty = True
        self._reader.look()

    async def recheck(self, slug: str) -> None:
        """Check the rights to `slug` again.  The channels end for viewers who lost them."""
        viewers = list(self._members.viewers_of(slug))
        if self.still_see is not None:
            sights = await self.still_see([(viewer.who, slug) for viewer in viewers]) if viewers else []
        else:
            sights = [await viewer.may_see(slug) for viewer in viewers]
        for viewer, sight in zip(viewers, sights, strict=True):
            if not viewer.look(slug, sight):
                await self._send_away(viewer, slug)

    async def _check_rights(self, still_see: StillSee) -> None:
        """Remove viewers whose session, grant or sandbox ended without a notice.  The beat does not wait for this."""
        while self._members.viewers:
            await asyncio.sleep(BEAT_S)
            asked = self._members.sights()
            try:
                allowed = await still_see([(viewer.who, slug) for viewer, slug in asked]) if asked else []
            except Exception as error:  # a database that is busy now is asked again in a moment
                log.warning("rights could not be checked: %s", error)
                continue
            for (viewer, slug), sight in zip(asked, allowed, strict=True):
                if not viewer.look(slug, sight):
                    await self._send_away(viewer, slug)

    async def _send_away(self, viewer: Viewer, slug: str) -> None:
        for name in [name for name in (*viewer.watches, *viewer.fact_cursors) if slug_of(name) == slug]:
            self.leave(viewer, name)
            await viewer.send(frames.end(name, "forbidden"))

    def oldest_age_s(self) -> float:
        now_s = self._now()
        return max((viewer.oldest_age_s(now_s) for viewer in self._members.viewers), default=0.0)

    def late_s(self) -> float:
        return self._reader.lateness.worst_s(self._now()) if self._members.viewers else 0.0

    @property
    def sockets(self) -> int:
        return len(self._members.viewers)

    @property
    def channels(self) -> int:
        return len(self._members.channels)

    def counted(self) -> dict[str, int]:
        """Return figures for `/healthz/live`: frames, bytes, snapshots sent again, age of the oldest pending frame."""
        return {
            "sockets": self.sockets,
            "channels": self.channels,
            **vars(self.figures),
            "late_ms": round(self.late_s() * 1000),
            "oldest_unacknowledged_ms": round(self.oldest_age_s() * 1000),
        }

    def _rung(self, slug: str) -> None:
        for channel in self._members.channels:
            if channel.slug == slug:
                channel.dirty = True
        self._reader.look()

    def _unwatched(self, slug: str) -> None:
        self._reader.forget(slug)
        if slug in self._bells:
            self._bells.drop(slug)
