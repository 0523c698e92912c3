"""The task that reads the channels of a hub when they are due, and publishes what it read."""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from sandbox.control.limits import HostLimits, SocketLimits
from sandbox.control.readings import Reading, Refusal
from sandbox.journal.event_filter import Row, without_score
from sandbox.kernel.errors import SandboxError
from sandbox.live import frames
from sandbox.live.channel import Channel
from sandbox.live.fact_channel import MOST_ROWS, FactChannel
from sandbox.live.fairness import in_fair_order
from sandbox.live.membership import AnyChannel, Membership
from sandbox.live.socket_costs import Figures, Lateness
from sandbox.queries.rows.labs import view_without_score

if TYPE_CHECKING:
    from sandbox.hosting.port import EnginePort

T = TypeVar("T")

log = logging.getLogger(__name__)

BEAT_S = 1.0
TOGETHER_S = 0.01  # channels that become due within it after a turn are read in one call
PATIENCE_S = 2.0  # for the engine
LAB = "lab"
TOO_SLOW = 4408


class ChannelReader:
    """Reads due boards and facts with one call of the engine per turn, and sends a beat each second.

    `listen_again` resets a sandbox's bell before the sandbox is read.
    """

    def __init__(
        self,
        port: "EnginePort",
        membership: Membership,
        socket: SocketLimits,
        host: HostLimits,
        figures: Figures,
        listen_again: Callable[[str], None],
    ) -> None:
        self.lateness = Lateness()
        self._port = port
        self._membership = membership
        self._limits = socket
        self._host = host
        self._figures = figures
        self._listen_again = listen_again
        self._loop = asyncio.get_running_loop()
        self._now = self._loop.time
        self._newest: dict[str, int] = {}  # slug -> seq, for the beat
        self._served_s: dict[str, float] = {}  # slug -> when a board of it was read
        self._rest_until_s = 0.0  # the engine has other work, too
        self._news = asyncio.Event()
        self._beat_at_s = self._turned_at_s = 0.0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the task unless it runs.  It ends when the hub has no viewers."""
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._run())

    def look(self) -> None:
        """Check now for due channels."""
        self._news.set()

    def forget(self, slug: str) -> None:
        self._newest.pop(slug, None)
        self._served_s.pop(slug, None)

    async def _run(self) -> None:
        while self._membership.viewers:
            await self._wait()
            try:
                await self._turn()
            except Exception:  # one bad board must not stop all others
                log.exception("a live turn failed")

    async def _turn(self) -> None:
        now_s = self._turned_at_s = self._now()
        if now_s >= self._rest_until_s:
            await self._read_boards([c for c in self._membership.boards.values() if _is_due(c, now_s)], now_s)
        for facts in [f for f in self._membership.facts.values() if _is_due(f, now_s)]:
            await self._read_facts(facts, now_s)
        if now_s >= self._beat_at_s:
            self._beat_at_s = now_s + BEAT_S
            await self._beat(now_s)

    async def _wait(self) -> None:
        """Wait until something is due: a beat, a changed channel, a re-read."""
        await asyncio.sleep(min(TOGETHER_S, self._turned_at_s + TOGETHER_S - self._now()))
        boards = [at for channel in self._membership.boards.values() if (at := channel.due_at_s()) is not None]
        facts = [at for channel in self._membership.facts.values() if (at := channel.due_at_s()) is not None]
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
            self._listen_again(channel.slug)
        self._figures.reads += 1
        answers = await self.ask(
            self._port.read_within([channel.name for channel in due], self._host.read_turn_ms / 1000)
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
        self._rest_until_s = now_s + cost_s / self._host.read_share

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
        self._listen_again(facts.slug)
        entries = await self.ask(self._port.entries(facts.slug, facts.cursor, MOST_ROWS, facts_only=True))
        if entries is None or not facts.viewers:
            return
        self._newest[facts.slug] = max(entries.next_seq - 1, self._newest.get(facts.slug, 0))
        await facts.publish(self.shown_rows(facts.slug, entries.rows), entries.next_seq)
        if len(entries.rows) == MOST_ROWS:
            facts.dirty = True  # the page was full: read again

    def _withholds(self, slug: str) -> bool:
        """Return True if scores are withheld: all viewers get the same frames, so one without the right suffices."""
        return any(slug in viewer.scoreless for viewer in self._membership.viewers_of(slug))

    def _shown(self, channel: Channel, reading: Reading) -> Reading:
        if not channel.name.startswith(f"{LAB}/") or not self._withholds(channel.slug):
            return reading
        return reading._replace(data=view_without_score(reading.data))

    def shown_rows(self, slug: str, rows: list[Row]) -> list[Row]:
        return [without_score(row) for row in rows] if self._withholds(slug) else rows

    async def _beat(self, now_s: float) -> None:
        server_ms = int(time.time() * 1000)
        texts: dict[str | None, str] = {}
        for viewer in list(self._membership.viewers):
            if viewer.oldest_age_s(now_s) >= self._limits.close_after_s:
                self._figures.closed_slow += 1
                await viewer.close(TOO_SLOW)
                continue
            slug = viewer.home
            if slug not in texts:
                seq = self._newest.get(slug) if slug else None
                texts[slug] = frames.beat(server_ms, seq, len(self._membership.viewers_of(slug)) if slug else 0)
            await viewer.send(texts[slug])

    async def _end(self, channel: Channel, reason: str) -> None:
        for viewer in list(channel.viewers):
            self._membership.leave(viewer, channel.name)
            await viewer.send(frames.end(channel.name, reason))

    async def ask(self, future: Future[T]) -> T | None:
        """Return the engine's answer, or None if it is late or refused.  The board is then read again later."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), PATIENCE_S)
        except (SandboxError, TimeoutError) as error:
            log.info("the engine did not answer the hub: %s", error)
            return None


def _is_due(channel: AnyChannel, now_s: float) -> bool:
    due_at_s = channel.due_at_s()
    return due_at_s is not None and due_at_s <= now_s
