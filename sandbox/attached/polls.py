"""Polls of a cluster while it has viewers: a task for each node.

A node that does not answer delays no other node: its own task polls less and less often.
"""

import asyncio
from collections.abc import Awaitable, Callable

from sandbox.attached.broker_polls import BrokerPolls
from sandbox.attached.changes import Changes
from sandbox.attached.member_polls import MemberPolls
from sandbox.attached.picture import RUNNING, UNREACHABLE, Brokers, Picture
from sandbox.attached.reach import Reach
from sandbox.attached.watch import Again, Watch
from sandbox.client.tasks import Tasks, within
from sandbox.control.limits import AttachedLimits
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import SandboxError


class Polls:
    """The poll tasks of one cluster.  `start` makes the first round, at once and not spread; then rounds repeat.

    `look`: looks for findings in the picture.
    """

    def __init__(
        self,
        reach: Reach,
        picture: Picture,
        watch: Watch,
        clock: Clock,
        limits: AttachedLimits,
        *,
        changes: Changes,
        look: Callable[[], Awaitable[bool]],
        name: str,
    ) -> None:
        self._reach = reach
        self._picture = picture
        self._watch = watch
        self._clock = clock
        self._limits = limits
        self._changes = changes
        self._look = look
        self._tasks = Tasks(name)
        self._brokers: dict[str, BrokerPolls] = {}
        self._members = MemberPolls(reach, picture, watch, clock, limits, self._tasks)
        self._started = False

    async def start(self) -> None:
        """Poll every name server once, then every broker once, and start the tasks.

        Late answers continue in the background.
        """
        servers = list(self._picture.servers)
        await self._together([self._of_server(address) for address in servers])
        await self._together([polls.whole_round for polls in self._brokers.values()])
        await self._together([self._members.first_round])
        self._started = True
        self._changes.begin()
        for address in servers:
            self._again(self._of_server(address), self._limits.round_s, f"name server {address}")
        for address, polls in self._brokers.items():
            self._keep_asking(address, polls)
        self._again(self._members.round, self._limits.members_s, "members")
        self._again(self._changes.marks, self._limits.round_s, "marks", at_once=True)
        self._again(self._look, self._limits.look_s, "findings", at_once=True)

    async def look_again(self) -> None:
        """Poll all nodes once, now and at the same time.  The regular polls do not change."""
        await self._together([self._of_server(address) for address in self._picture.servers])
        await self._together([polls.whole_round for polls in self._brokers.values()])
        await self._together([self._members.first_round])

    async def close(self) -> None:
        await self._tasks.close()

    async def _together(self, jobs: list[Callable[[], Awaitable[bool]]]) -> None:
        """Run all jobs at the same time, and wait at most the time of a first round."""
        running = [task for job in jobs if (task := self._tasks.spawn(_plainly(job), "first round")) is not None]

        async def all_done() -> None:
            await asyncio.wait(running)

        if running:
            await within(self._clock, all_done(), self._limits.attach_s)

    def _again(self, job: Callable[[], Awaitable[bool]], period_s: float, name: str, *, at_once: bool = False) -> None:
        again = Again(
            self._clock,
            self._watch,
            period_s=period_s,
            backoff_s=(self._limits.first_backoff_s, self._limits.most_backoff_s),
        )
        self._tasks.spawn(again.run(job, first_wait_s=0.0 if at_once else period_s), name)

    # Name servers.

    def _of_server(self, address: str) -> Callable[[], Awaitable[bool]]:
        return lambda: self._ask_server(address)

    async def _ask_server(self, address: str) -> bool:
        before = self._picture.servers[address]
        try:
            reported = await self._reach.cluster_info(address)
        except SandboxError as error:
            self._changes.silent(before.name, before)
            self._picture.servers[address] = before._replace(state=UNREACHABLE, brokers=None, trouble=str(error))
            self._watch.ring()
            return False
        brokers = {name: dict(sorted(data.addresses.items())) for name, data in sorted(reported.brokers.items())}
        self._changes.answered(before.name, before)
        self._picture.seen_ms = self._clock.now_ms()
        self._picture.servers[address] = before._replace(
            state=RUNNING, brokers=brokers, trouble=None, answered_ms=self._picture.seen_ms
        )
        self._picture.clusters |= set(reported.clusters)
        self._learn_brokers()
        self._watch.ring()
        return True

    def _learn_brokers(self) -> None:
        """Update the brokers from all name servers that answer.

        Name servers do not communicate with each other.
        """
        reported: Brokers = {}
        for server in self._picture.servers.values():
            for name, ids in (server.brokers or {}).items():
                reported.setdefault(name, {}).update(ids)
        self._picture.set_brokers(reported, self._limits.brokers, self._clock.now_ms())
        for address in [
            address for address, polls in self._brokers.items() if self._picture.brokers.get(address) is not polls.seen
        ]:
            self._brokers.pop(address).close()
        for address, broker in self._picture.brokers.items():
            if address not in self._brokers:
                polls = BrokerPolls(
                    broker, self._reach, self._picture, self._watch, self._clock, self._limits, self._changes
                )
                self._brokers[address] = polls
                if self._started:
                    self._keep_asking(address, polls, at_once=True)

    def _keep_asking(self, address: str, polls: BrokerPolls, *, at_once: bool = False) -> None:
        self._again(polls.round, self._limits.round_s, f"broker {address}", at_once=at_once)
        if polls.is_master:
            self._again(polls.focus, self._limits.focus_s, f"boards of {address}")


async def _plainly(job: Callable[[], Awaitable[bool]]) -> None:
    await job()
