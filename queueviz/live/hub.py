"""All live channels of an engine's sandboxes, on one loop, with one call of the engine per tick for all boards.

The engine's thread only rings a bell.  A board is read when it is due: at once after a quiet time, else after the
channel's interval.  Viewers are called directly, without the channel layer.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from queueviz.live import frames
from queueviz.live.bells import Bells
from queueviz.live.channel import Channel, slug_of
from queueviz.live.database_turns import DatabaseTurns
from queueviz.live.fact_channel import FACTS, MOST_ROWS, FactChannel
from queueviz.live.fact_start import FactStart, start_of_facts
from queueviz.live.fairness import in_fair_order
from queueviz.live.socket_costs import Figures, Lateness
from queueviz.live.viewer import Viewer, Watch, has_room
from queueviz.live.visible_parts import Sight
from sandbox.control.limits import HostLimits, SandboxLimits, SocketLimits
from sandbox.control.readings import Reading, Refusal
from sandbox.journal.event_filter import Row, without_score
from sandbox.kernel.errors import SandboxError
from sandbox.queries.rows.labs import view_without_score

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

T = TypeVar("T")

log = logging.getLogger(__name__)

BEAT_S = 1.0
TOGETHER_S = 0.01  # what falls due within it of the turn before is read in one crossing
PATIENCE_S = 2.0  # for the engine
LAB = "lab"
TOO_SLOW = 4408
TOO_MANY = 4429

StillSee = Callable[[list[tuple[Any, str]]], Awaitable[list[Sight]]]  # of visitors and slugs


class Hub:
    """The live channels, their viewers, and the one task that reads for them."""

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
        self.figures, self.lateness = Figures(), Lateness()
        self._viewers_per_sandbox = viewers_per_sandbox
        self._loop = asyncio.get_running_loop()
        self._now = self._loop.time
        self._viewers: dict[Viewer, None] = {}
        self._channels: dict[str, Channel] = {}
        self._facts: dict[str, FactChannel] = {}
        self._places: dict[str, Counter[Viewer]] = {}  # slug -> its viewers -> how many of its channels each watches
        self._joining: Counter[str] = Counter()  # slug -> viewers on their way to it
        self.turns = DatabaseTurns(self.host.rights_share)
        self._bells = Bells(port, self._loop, self._heard)
        self._newest: dict[str, int] = {}  # slug -> seq, for the beat
        self._served_s: dict[str, float] = {}  # slug -> when a board of it was read
        self._rest_until_s = 0.0  # the engine has other work, too
        self._news = asyncio.Event()
        self._beat_at_s = self._turned_at_s = 0.0
        self._task: asyncio.Task[None] | None = None
        self._rights: asyncio.Task[None] | None = None

    # --- viewers -----------------------------------------------------------------------------------------------------

    def has_room_for(self, address: str) -> bool:
        return has_room(self._viewers, address, self.host)

    def enter(self, viewer: Viewer) -> None:
        self._viewers[viewer] = None
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._run())
        if self.still_see is not None and (self._rights is None or self._rights.done()):
            self._rights = self._loop.create_task(self._check_rights(self.still_see))

    def forget(self, viewer: Viewer) -> None:
        """Remove a viewer whose socket is gone, without waiting: its task may be killed at its next await."""
        viewer.closed = True
        self._viewers.pop(viewer, None)
        for name in [*viewer.watches, *viewer.fact_cursors]:
            self.leave(viewer, name)
        self._news.set()

    async def join(self, viewer: Viewer, name: str, after: int | None = None) -> None:
        """Open the channel `name` for the viewer from its next frame on, or send the reason for a refusal."""
        slug = slug_of(name)
        if slug is None or len(name) > 1_000:
            return await viewer.send(frames.end(name[:1_000], "unknown"))
        known = name in viewer.watches or name in viewer.fact_cursors
        if not known and viewer.channel_count >= self.limits.channels:
            return await viewer.send(frames.end(name, "too_many_channels"))
        is_there = viewer in self._places.get(slug, ())  # then its right is read every second
        if not is_there and not viewer.look(slug, await self.turns.ask(lambda: viewer.may_see(slug))):
            return await viewer.send(frames.end(name, "unknown"))
        self._joining[slug] += 1
        try:
            return await self._join(viewer, name, slug, after)
        finally:
            self._joining[slug] -= 1
            self._drop_unwatched(slug)

    async def _join(self, viewer: Viewer, name: str, slug: str, after: int | None) -> None:
        start = await start_of_facts(self.port, self._ask, slug, after) if name.startswith(f"{FACTS}/") else None
        if not await self._bells.listen(slug, PATIENCE_S):
            return await viewer.send(frames.end(name, "unknown"))
        if viewer.closed:
            return None
        viewers = self._places.get(slug, ())
        if viewer not in viewers and len(viewers) >= self._viewers_per_sandbox:  # from here to the end no await
            return await viewer.close(TOO_MANY)
        viewer.home = viewer.home or slug
        if start is not None:
            self._add_to_facts(viewer, name, slug, start)
        else:
            self._add_to_board(viewer, name, slug)
        self._news.set()
        if start is not None and start.rows is not None:
            rows = self._shown_rows(slug, start.rows)
            await viewer.send(frames.facts(name, rows, first=start.after + 1 if start.is_cut else None))
        return None

    async def reach(self, slug: str) -> None:
        """Return at once: this engine serves the sandbox."""

    def leave(self, viewer: Viewer, name: str) -> None:
        viewer.watches.pop(name, None)
        viewer.fact_cursors.pop(name, None)
        table: dict[str, Channel] | dict[str, FactChannel] = self._channels
        if name in self._facts:
            table = self._facts
        channel = table.get(name)
        if channel is None or viewer not in channel.viewers:
            return
        del channel.viewers[viewer]
        if not channel.viewers:
            del table[name]
        viewers = self._places[channel.slug]
        viewers[viewer] -= 1
        if not viewers[viewer]:
            del viewers[viewer]
        self._drop_unwatched(channel.slug)

    def acknowledge(self, viewer: Viewer, painted: dict[str, int]) -> None:
        for name, n in painted.items():
            watch = viewer.watches.get(name)
            if watch is None:
                continue
            watch.acknowledge(n)
            if watch.behind and not watch.unacknowledged and name in self._channels:
                self._channels[name].dirty = True  # it has caught up: the newest snapshot now
                self._news.set()

    def hide(self, viewer: Viewer, *, hidden: bool) -> None:
        viewer.hide(hidden=hidden)
        for name in viewer.watches:
            if name in self._channels and not hidden:
                self._channels[name].dirty = True
        self._news.set()

    async def recheck(self, slug: str) -> None:
        """Check the rights to `slug` again.  The channels end for viewers who lost them."""
        for viewer in list(self._places.get(slug, ())):
            if not viewer.look(slug, await viewer.may_see(slug)):
                await self._send_away(viewer, slug)

    async def _check_rights(self, still_see: StillSee) -> None:
        """Remove viewers whose session, grant or sandbox ended without a notice.  The beat does not wait for this."""
        while self._viewers:
            await asyncio.sleep(BEAT_S)
            asked = [(viewer, slug) for slug, viewers in self._places.items() for viewer in viewers]
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
        return max((viewer.oldest_age_s(now_s) for viewer in self._viewers), default=0.0)

    def late_s(self) -> float:
        return self.lateness.worst_s(self._now()) if self._viewers else 0.0

    @property
    def sockets(self) -> int:
        return len(self._viewers)

    @property
    def channels(self) -> int:
        return len(self._channels) + len(self._facts)

    def counted(self) -> dict[str, int]:
        """Return figures for `/healthz/live`: frames, bytes, snapshots sent again, age of the oldest pending frame."""
        return {
            "sockets": self.sockets,
            "channels": self.channels,
            **vars(self.figures),
            "late_ms": round(self.late_s() * 1000),
            "oldest_unacknowledged_ms": round(self.oldest_age_s() * 1000),
        }

    # --- the one task ------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while self._viewers:
            await self._wait()
            try:
                await self._turn()
            except Exception:  # one bad board must not stop all others
                log.exception("a live turn failed")

    async def _turn(self) -> None:
        now_s = self._turned_at_s = self._now()
        if now_s >= self._rest_until_s:
            await self._read_boards([c for c in self._channels.values() if _is_due(c, now_s)], now_s)
        for facts in [f for f in self._facts.values() if _is_due(f, now_s)]:
            await self._read_facts(facts, now_s)
        if now_s >= self._beat_at_s:
            self._beat_at_s = now_s + BEAT_S
            await self._beat(now_s)

    async def _wait(self) -> None:
        """Wait until something is due: a beat, a changed channel, or another read."""
        await asyncio.sleep(min(TOGETHER_S, self._turned_at_s + TOGETHER_S - self._now()))
        boards = [at for channel in self._channels.values() if (at := channel.due_at_s()) is not None]
        facts = [at for channel in self._facts.values() if (at := channel.due_at_s()) is not None]
        soonest_s = min([max(at, self._rest_until_s) for at in boards] + facts + [self._beat_at_s])
        alarm = self._loop.call_later(max(0.0, soonest_s - self._now()), self._news.set)
        await self._news.wait()
        alarm.cancel()
        self._news.clear()

    async def _read_boards(self, due: list[Channel], now_s: float) -> None:
        if not due:
            return
        due = in_fair_order(due, self._served_s, now_s)
        before_s = {channel: channel.read_at_s for channel in due}
        payers = {channel: channel.lookers for channel in due}
        for channel in due:
            channel.dirty, channel.read_at_s = False, now_s
            channel.waits_from_s = channel.waits_from_s or now_s
            self._bells.listen_again(channel.slug)
        self.figures.reads += 1
        answers = await self._ask(
            self.port.read_within([channel.name for channel in due], self.host.read_turn_ms / 1000)
        )
        if answers is None:
            return
        for channel in due[len(answers) :]:  # there was no time for these
            channel.dirty, channel.read_at_s = True, before_s[channel]
        cost_s = 0.0
        for channel, read in zip(due, answers, strict=False):
            began_s = self._now()
            await self._show(channel, read.answer)
            own_s = read.took_s + self._now() - began_s
            for viewer in payers[channel]:
                viewer.charge(own_s / len(payers[channel]), now_s)
            cost_s += own_s
        self._rest_until_s = now_s + cost_s / self.host.read_share

    async def _show(self, channel: Channel, reading: Reading | Refusal) -> None:
        if not channel.viewers:
            return  # they have left meanwhile
        now_s = self._served_s[channel.slug] = self._now()
        waits_from_s, channel.waits_from_s = channel.waits_from_s, None
        if isinstance(reading, Refusal):
            if reading.reason != "waking":  # then it is read again when it is open, or has failed
                await self._end(channel, reading.reason)
            return
        self.lateness.note(now_s, now_s - (waits_from_s or now_s))
        self._newest[channel.slug] = max(reading.seq, self._newest.get(channel.slug, 0))
        reason = await channel.publish(self._shown(channel, reading), now_s)
        if reason is not None:
            await self._end(channel, reason)

    async def _read_facts(self, facts: FactChannel, now_s: float) -> None:
        facts.dirty, facts.read_at_s = False, now_s
        self._bells.listen_again(facts.slug)
        entries = await self._ask(self.port.entries(facts.slug, facts.cursor, MOST_ROWS, facts_only=True))
        if entries is None or not facts.viewers:
            return
        self._newest[facts.slug] = max(entries.next_seq - 1, self._newest.get(facts.slug, 0))
        await facts.publish(self._shown_rows(facts.slug, entries.rows), entries.next_seq)
        if len(entries.rows) == MOST_ROWS:
            facts.dirty = True  # the page was full: read again

    def _withholds(self, slug: str) -> bool:
        """Return True if scores are withheld: all viewers get the same frames, so one without the right suffices."""
        return any(slug in viewer.scoreless for viewer in self._places.get(slug, ()))

    def _shown(self, channel: Channel, reading: Reading) -> Reading:
        if not channel.name.startswith(f"{LAB}/") or not self._withholds(channel.slug):
            return reading
        return reading._replace(data=view_without_score(reading.data))

    def _shown_rows(self, slug: str, rows: list[Row]) -> list[Row]:
        return [without_score(row) for row in rows] if self._withholds(slug) else rows

    async def _beat(self, now_s: float) -> None:
        server_ms = int(time.time() * 1000)
        texts: dict[str | None, str] = {}
        for viewer in list(self._viewers):
            if viewer.oldest_age_s(now_s) >= self.limits.close_after_s:
                self.figures.closed_slow += 1
                await viewer.close(TOO_SLOW)
                continue
            slug = viewer.home
            if slug not in texts:
                seq = self._newest.get(slug) if slug else None
                texts[slug] = frames.beat(server_ms, seq, len(self._places.get(slug, ())) if slug else 0)
            await viewer.send(texts[slug])

    def _add_to_board(self, viewer: Viewer, name: str, slug: str) -> None:
        channel = self._channels.get(name)
        if channel is None:
            channel = self._channels[name] = Channel(name, slug, self.limits, self.figures)
        viewer.watches[name] = Watch()
        self._put(viewer, channel)

    def _add_to_facts(self, viewer: Viewer, name: str, slug: str, start: FactStart) -> None:
        facts = self._facts.get(name)
        if facts is None:
            facts = self._facts[name] = FactChannel(name, slug, self.figures)
        viewer.fact_cursors[name] = start.after
        self._put(viewer, facts)

    def _put(self, viewer: Viewer, channel: Channel | FactChannel) -> None:
        if viewer not in channel.viewers:
            channel.viewers[viewer] = None
            self._places.setdefault(channel.slug, Counter())[viewer] += 1
        channel.dirty = True

    # --- bells -------------------------------------------------------------------------------------------------------

    def _heard(self, slug: str) -> None:
        for channel in self._all():
            if channel.slug == slug:
                channel.dirty = True
        self._news.set()

    def _drop_unwatched(self, slug: str) -> None:
        if self._joining[slug]:
            return
        del self._joining[slug]
        if not self._places.get(slug):
            self._places.pop(slug, None)
            self._newest.pop(slug, None)
            self._served_s.pop(slug, None)
            if slug in self._bells:
                self._bells.drop(slug)

    async def _end(self, channel: Channel, reason: str) -> None:
        for viewer in list(channel.viewers):
            self.leave(viewer, channel.name)
            await viewer.send(frames.end(channel.name, reason))

    def _all(self) -> list[Channel | FactChannel]:
        return [*self._channels.values(), *self._facts.values()]

    async def _ask(self, future: Future[T]) -> T | None:
        """Return the engine's answer, or None if it is late or refused.  The board is then read again later."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), PATIENCE_S)
        except (SandboxError, TimeoutError) as error:
            log.info("the engine did not answer the hub: %s", error)
            return None


def _is_due(channel: Channel | FactChannel, now_s: float) -> bool:
    due_at_s = channel.due_at_s()
    return due_at_s is not None and due_at_s <= now_s
