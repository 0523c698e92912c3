"""Polls of members' running info, requested through their brokers (307)."""

import asyncio
import logging

from sandbox.attached.member_says import MemberSays
from sandbox.attached.picture import Picture
from sandbox.attached.reach import Reach
from sandbox.attached.watch import Watch
from sandbox.client.tasks import Tasks, within
from sandbox.control.limits import AttachedLimits
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import SandboxError

log = logging.getLogger(__name__)

SOON_S = 1.0

Who = tuple[str, str]  # group, client id


class MemberPolls:
    """The polls of members: those of groups with viewers first, then the others in turn.

    A member that did not answer is skipped for a while.  C++ clients answer without queues, others not at all, and
    then their broker waits ten seconds.  So the poll does not wait for answers, and a member with an open request is
    not asked again.
    """

    def __init__(
        self, reach: Reach, picture: Picture, watch: Watch, clock: Clock, limits: AttachedLimits, tasks: Tasks
    ) -> None:
        self._reach = reach
        self._picture = picture
        self._watch = watch
        self._clock = clock
        self._limits = limits
        self._tasks = tasks
        self._not_before_s: dict[Who, float] = {}
        self._mute: dict[Who, float] = {}  # since when; logged once
        self._next = 0

    async def first_round(self) -> bool:
        """Ask the members as `round` does, and wait for quick answers."""
        await within(self._clock, self._heard(self._begin_round()), SOON_S)
        return True

    async def round(self) -> bool:
        self._begin_round()
        return True

    async def _heard(self, asked: list[asyncio.Task[None]]) -> None:
        if asked:
            await asyncio.wait(asked)

    def _begin_round(self) -> list[asyncio.Task[None]]:
        all_members = [
            (group, client_id)
            for group in self._picture.limited_groups(self._limits.groups)
            for client_id in self._picture.members_of(group)
        ]
        self._forget_all_but(set(all_members))
        focused = set(self._watch.groups)
        first = [member for member in all_members if member[0] in focused][: self._limits.members_per_round]
        others = [member for member in all_members if member[0] not in focused]
        room = self._limits.members_per_round - len(first)
        start = self._next % len(others) if others else 0
        self._next = start + room
        now_s = self._clock.monotonic()
        asked: list[asyncio.Task[None]] = []
        for member in [*first, *[*others[start:], *others[:start]][:room]]:
            if self._not_before_s.get(member, 0.0) <= now_s:
                self._not_before_s[member] = now_s + self._limits.mute_s  # until it has answered
                task = self._tasks.spawn(self._ask(member), f"member {member[1]}")
                asked += [task] if task is not None else []
        return asked

    async def _ask(self, member: Who) -> None:
        address = self._picture.place_of(*member)
        if address is None:
            return
        try:
            reported = await self._reach.running_info(address, *member)
        except SandboxError as error:
            if member not in self._mute:
                self._mute[member] = self._clock.monotonic()
                log.info("%s of %s did not report its state: %s", member[1], member[0], error)
            self._picture.says.pop(member, None)
            return
        self._not_before_s.pop(member, None)
        self._mute.pop(member, None)
        self._picture.says[member] = MemberSays.of(reported, self._clock.now_ms())
        self._watch.ring()

    def _forget_all_but(self, present: set[Who]) -> None:
        for table in (self._picture.says, self._not_before_s, self._mute):
            for member in [member for member in table if member not in present]:
                del table[member]
