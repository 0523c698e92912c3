"""Polls of one broker: slow rounds of everything, and polls each second of the data that viewers watch."""

import logging
from collections.abc import Awaitable, Callable

from sandbox.attached.changes import Changes
from sandbox.attached.picture import MASTER, RUNNING, UNREACHABLE, BrokerSeen, Picture
from sandbox.attached.reach import Reach
from sandbox.attached.watch import Watch
from sandbox.control.limits import AttachedLimits
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import BrokerRefused, NotKnownThere, SandboxError, UnreadableAnswer
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ConsumeStats, TopicOffset
from sandbox.remoting.codes import ResponseCode

log = logging.getLogger(__name__)

MOST_SAID = 64

Request = Callable[[], Awaitable[None]]


class BrokerPolls:
    """The polls of one broker: two rounds on one connection.

    A slave is asked for its state only; its master has the rest.
    """

    def __init__(
        self,
        broker: BrokerSeen,
        reach: Reach,
        picture: Picture,
        watch: Watch,
        clock: Clock,
        limits: AttachedLimits,
        changes: Changes,
    ) -> None:
        self.seen = broker
        self._reach = reach
        self._picture = picture
        self._watch = watch
        self._clock = clock
        self._limits = limits
        self._changes = changes
        self._next_topic = 0
        self._next_group = 0
        self._round_s: float | None = None
        self._gone = False
        self._said: set[str] = set()  # refusals already logged

    @property
    def is_master(self) -> bool:
        return self.seen.broker_id == MASTER

    def close(self) -> None:
        """End the polls: the broker was removed."""
        self._gone = True

    async def whole_round(self) -> bool:
        return await self.round(spread_s=0.0)

    async def round(self, spread_s: float | None = None) -> bool:
        """Poll everything, with the requests spread over half the time until the next round.

        After a long time without viewers they are not spread.  Return False if the connection was lost.
        """
        if self._gone:
            return True
        now_s = self._clock.monotonic()
        was_away = self._round_s is None or now_s - self._round_s > 3 * self._limits.round_s
        self._round_s = now_s
        if spread_s is None:
            spread_s = 0.0 if was_away else self._limits.round_s / 2
        refused: list[str] = []
        try:
            await self._each(self._first_requests(), 0.0, refused)
            more = self._later_requests() if self.is_master else []
            await self._each(more, spread_s / max(1, len(more)), refused)
        except SandboxError as error:
            self._lost(error)
            return False
        self.seen.trouble = refused[0] if refused else None
        self._watch.ring()
        return True

    async def focus(self) -> bool:
        """Poll the offsets and members for the channels with viewers.  Return False if the connection was lost."""
        if self._gone or self.seen.state == UNREACHABLE:
            return True  # the slow round detects its return
        table = self._picture.topics.get(self.seen.name, {})
        requests = [self._of_topic(topic) for topic in self._watch.topics if topic in table]
        requests += [
            request
            for group in self._watch.groups
            if self.seen.name in self._picture.brokers_of_group(group)
            for request in (self._of_group(group), self._of_stats(group))
        ]
        if not requests:
            return True
        try:
            await self._each(requests, 0.0, [])
        except SandboxError as error:
            self._lost(error)
            return False
        self._watch.ring()
        return True

    async def _each(self, requests: list[Request], gap_s: float, refused: list[str]) -> None:
        """Send the requests one after the other.

        A refused request leaves its value unknown; a lost connection ends the round.
        """
        for request in requests:
            try:
                await request()
            except (BrokerRefused, UnreadableAnswer) as error:
                refused.append(str(error)[:200])
                if refused[-1] not in self._said:
                    log.info("%s refuses: %s", self.seen.node, error)
                    self._said = {*self._said, refused[-1]} if len(self._said) < MOST_SAID else {refused[-1]}
            self._heard()
            if gap_s:
                await self._clock.sleep(gap_s)

    def _heard(self) -> None:
        if self.seen.state != RUNNING:
            self._changes.answered(self.seen.node, self.seen)
            self.seen.state, self.seen.trouble = RUNNING, None
        self._picture.seen_ms = self.seen.answered_ms = self._clock.now_ms()

    def _lost(self, error: SandboxError) -> None:
        self._changes.silent(self.seen.node, self.seen)
        self.seen.state, self.seen.trouble = UNREACHABLE, str(error)[:200]
        self._picture.forget_tables(self.seen)
        self._watch.ring()

    # Requests.

    def _first_requests(self) -> list[Request]:
        if not self.is_master:
            return [self._runtime]
        return [self._runtime, self._topics, self._groups, self._offsets, self._producers]

    def _later_requests(self) -> list[Request]:
        """Return the requests for a part of the broker's topics and groups; the next round continues after it."""
        picture, name = self._picture, self.seen.name
        mine = picture.topics.get(name, {})
        topics = [topic for topic in picture.limited_topics(self._limits) if topic in mine]
        groups = [
            group for group in picture.limited_groups(self._limits.groups) if name in picture.brokers_of_group(group)
        ]
        chosen_topics, self._next_topic = in_turn(topics, self._next_topic, self._limits.topics_per_round)
        chosen_groups, self._next_group = in_turn(groups, self._next_group, self._limits.groups_per_round)
        stats = map(self._of_stats, chosen_groups) if self._watch.all_groups else ()
        return [*map(self._of_topic, chosen_topics), *map(self._of_group, chosen_groups), *stats]

    async def _runtime(self) -> None:
        self.seen.runtime = await self._reach.runtime(self.seen.address)

    async def _topics(self) -> None:
        self._picture.topics[self.seen.name] = await self._reach.topic_configs(self.seen.address)
        if self.seen.name not in self._picture.system_topics:
            self._picture.system_topics[self.seen.name] = frozenset(await self._reach.system_topics(self.seen.address))

    async def _groups(self) -> None:
        self._picture.groups[self.seen.name] = await self._reach.group_names(self.seen.address)

    async def _offsets(self) -> None:
        self._picture.set_offsets(self.seen.name, await self._reach.all_offsets(self.seen.address))

    async def _producers(self) -> None:
        try:
            self._picture.producers[self.seen.name] = await self._reach.producers(self.seen.address)
        except NotKnownThere:  # an older release: unknown
            self._picture.producers.pop(self.seen.name, None)

    def _of_topic(self, topic: str) -> Request:
        async def ask() -> None:
            self._note_ends(topic, await self._reach.topic_ends(self.seen.address, topic))

        return ask

    def _of_group(self, group: str) -> Request:
        """Return a request for the group's members at this broker.

        The answer that there are none here (206) is stored, too.
        """

        async def ask() -> None:
            table = self._picture.members.setdefault(self.seen.name, {})
            try:
                table[group] = await self._reach.members(self.seen.address, group)
            except BrokerRefused as error:
                table.pop(group, None)
                if error.code != ResponseCode.CONSUMER_NOT_ONLINE:
                    raise
            self._picture.asked_for_members.setdefault(self.seen.name, set()).add(group)
            self._changes.members(group, self.seen.name)

        return ask

    def _of_stats(self, group: str) -> Request:
        async def ask() -> None:
            self._note_stats(group, await self._reach.consume_stats(self.seen.address, group))

        return ask

    def _note_ends(self, topic: str, ends: dict[int, TopicOffset]) -> None:
        self._picture.ends[self.seen.name, topic] = ends
        self._picture.ends_ms[self.seen.name, topic] = self._clock.now_ms()
        for queue_id, row in ends.items():
            self._picture.rates.note(MessageQueue(topic, self.seen.name, queue_id), row.max_offset)

    def _note_stats(self, group: str, reported: ConsumeStats) -> None:
        """Store the group's statistics and their offsets.

        0 may be an offset or mean that none is stored here; only the table of all offsets distinguishes them.
        """
        table = self._picture.offsets.setdefault(self.seen.name, {})
        for (topic, _, queue_id), row in reported.queues.items():
            known = table.get(group, {}).get(topic, {})
            if row.consumer_offset > 0 or queue_id in known:
                table.setdefault(group, {}).setdefault(topic, {})[queue_id] = row.consumer_offset
                self._picture.is_at_least(self.seen.name, topic, queue_id, row.broker_offset)
                self._picture.commits.note((group, topic, self.seen.name, queue_id), row.consumer_offset)
        self._picture.stats.setdefault(self.seen.name, {})[group] = reported


def in_turn(names: list[str], start: int, most: int) -> tuple[list[str], int]:
    """Return at most `most` of the names from `start` on, and the next start.

    >>> in_turn(["a", "b", "c"], 2, 2)
    (['c', 'a'], 4)
    """
    if not names:
        return [], 0
    first = start % len(names)
    return [*names[first:], *names[:first]][:most], first + most
