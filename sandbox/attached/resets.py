"""Resets of a group's offsets on a real cluster, the only change ever made there.

Three ways, as the brokers can (spec remoting 2.2; RocketMQ: `Broker2Client.resetOffset`, 5.x `resetOffsetInner`):

* online on brokers that notify their members (4.9): request 222 with a time or the end, for each broker;
* on brokers that write offsets themselves (5.x): 222 queue by queue, with members online or not;
* offline otherwise: 15 queue by queue, while no member of the group is online.
"""

import asyncio
from collections.abc import Awaitable

from sandbox.attached.confirmation import confirmed
from sandbox.attached.member_says import HeldQueue
from sandbox.attached.picture import Picture
from sandbox.attached.reach import Reach
from sandbox.attached.reset_plan import BrokerFacts, Facts, ask_brokers, draw_plan, plan_reset
from sandbox.attached.snapshot.queues import Causes
from sandbox.client.tasks import Tasks
from sandbox.commands.reset.apply import WATCH_S
from sandbox.commands.reset.targets import Targets, or_never, reset_fact, targets_of
from sandbox.commands.reset.undo import UndoPoint, checked_point, undo_targets
from sandbox.control.actions import Action, ResetOffsets, UndoReset, fields_of, name_of
from sandbox.journal.events import ActionTaken, ResetStepDone
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import ActionRefused, SandboxError
from sandbox.message.queue import MessageQueue

TO_THE_END = -1
CAUSES_KEPT = 4_096


Befores = dict[MessageQueue, int | None]
Requests = dict[str, Awaitable[Targets]]
"""To be sent, by broker; the result are the new offsets by its own answer."""


class Resets:
    """The resets of one cluster.  They are executed one at a time, and each is written to the journal."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._began_ms = clock.now_ms()
        self._one_at_a_time = asyncio.Lock()
        self._tasks = Tasks("resets")
        self.causes: Causes = {}

    def close(self) -> None:
        self._tasks.cancel()

    async def act(self, reach: Reach, picture: Picture, action: Action, by: str, undo: UndoPoint | None) -> int:
        """Execute a reset, or an undo to the offsets of `undo`; return the seq of its ActionTaken.

        Raises ActionRefused: 403 for every other action, else as a sandbox does.
        """
        if not isinstance(action, ResetOffsets | UndoReset):
            raise ActionRefused(
                403,
                "Real clusters are read-only, except for offsets.",
                "Use the cluster's own tools, or a sandbox.",
            )
        async with self._one_at_a_time:
            if isinstance(action, UndoReset):
                return await self._undo(reach, picture, action, by, undo)
            return await self._reset(reach, picture, action, by)

    async def _reset(self, reach: Reach, picture: Picture, action: ResetOffsets, by: str) -> int:
        confirmed(action.confirm, action.group)
        plan, facts = await plan_reset(reach, picture, action)
        targets = targets_of(
            plan,
            action,
            lambda fresh: draw_plan(self._journal.next_seq - 1, self._clock.now_ms(), action, fresh, facts),
        )
        by_members = plan.method == "online" and not _write_themselves(facts)
        method = plan.method if by_members or plan.method == "offline" else "server"
        requests = _by_members(reach, facts, action) if by_members else _by_queue(reach, facts, action.group, targets)
        seq, before, after = await self._carry_out(
            action, by, action.group, method, facts, requests, reason=action.reason
        )
        if by_members:
            for client_id in plan.online_members:
                self._journal.write(ResetStepDone(self._id(seq), client_id, "told"))
        if plan.online_members:
            self._watch(reach, picture, self._id(seq), action.group, action.topic, before, after, plan.online_members)
        return seq

    async def _undo(self, reach: Reach, picture: Picture, action: UndoReset, by: str, undo: UndoPoint | None) -> int:
        """Set each queue back to the offset before the reset; return the seq of its ActionTaken.

        With online members, all brokers must accept an exact offset (5.x).
        """
        point = checked_point(undo, action.reset_id, self._clock.now_ms())
        confirmed(action.confirm, point.group)
        facts = await ask_brokers(reach, picture, point.group, point.topic)
        targets = undo_targets(point, lambda mq: facts[mq.broker].ends_of(mq)[0] if mq.broker in facts else None)
        online = any(current.members is not None for current in facts.values())
        if online and not _write_themselves(facts):
            raise ActionRefused(
                409,
                "Members of the group are online and would overwrite the offsets.",
                "Stop all members of the group, then undo the reset.",
            )
        seq, _, _ = await self._carry_out(
            action,
            by,
            point.group,
            "undo",
            facts,
            _by_queue(reach, facts, point.group, targets),
            reason=f"undo of {action.reset_id}",
        )
        return seq

    def _id(self, seq: int) -> str:
        """Return the id of the reset with this ActionTaken, different from the ids of other runs of the engine."""
        return f"r{self._began_ms:x}-{seq}"

    async def _carry_out(
        self, action: Action, by: str, group: str, method: str, facts: Facts, requests: Requests, *, reason: str
    ) -> tuple[int, Befores, Targets]:
        """Send the requests of a reset.  Write ActionTaken before them, and OffsetsReset with the brokers' answers.

        Raises ActionRefused (502) when a broker failed; the others' changes are in the journal then, after `seq`.
        """
        seq = self._journal.write(ActionTaken(name_of(action), fields_of(action), by))
        targets, failures = await _send(requests)
        before = {mq: facts[mq.broker].committed(group, mq) for mq in targets}
        if targets:
            with self._journal.caused_by(seq):
                at = self._journal.write(
                    reset_fact(self._id(seq), group, method, before, targets, reason=reason, by=by)
                )
            self._remember(group, before, at)
        if failures:
            broker, remark = sorted(failures.items())[0]
            raise ActionRefused(
                502,
                "Broker {broker} did not reset its queues: {why}.",
                "Check the offsets; other brokers may have reset theirs.",
                details={"began": str(seq)},
                broker=broker,
                why=remark.removesuffix("."),
            )
        return seq, before, targets

    def _remember(self, group: str, before: Befores, seq: int) -> None:
        for mq in before:
            self.causes.pop((group, mq), None)
            self.causes[group, mq] = seq
        while len(self.causes) > CAUSES_KEPT:
            del self.causes[next(iter(self.causes))]

    def _watch(
        self,
        reach: Reach,
        picture: Picture,
        reset_id: str,
        group: str,
        topic: str,
        before: Befores,
        targets: Targets,
        members: tuple[str, ...],
    ) -> None:
        """Compare the targets with the state a minute later, member by member, and write the result to the journal.

        Reported: a late commit before the target; or one beyond messages its member has not finished.  In the second
        case a Java member's pull was held at the broker during the reset, came back empty, and the member committed
        the end of that pull (RocketMQ: `DefaultMQPushConsumerImpl.correctTagsOffset`).

        No verdict for a queue that was set back and is at its old offset: its messages were all consumed again, or
        the reset did not reach its member.  A 5.x broker sends it with one pull only, which may have been the held
        pull of a member that has left.
        """

        async def compare() -> None:
            await self._clock.sleep(WATCH_S)
            try:
                facts = await ask_brokers(reach, picture, group, topic)
            except SandboxError:
                return  # unknown
            for client_id in members:
                says = await _says(reach, picture, group, client_id)
                mine = {mq: held for mq, held in (says or {}).items() if mq in targets and mq.broker in facts}
                committed = {mq: facts[mq.broker].committed(group, mq) for mq in mine}
                if any(_is_overwritten(held, committed[mq], targets[mq]) for mq, held in mine.items()):
                    self._journal.write(ResetStepDone(reset_id, client_id, "overwritten"))
                elif says is not None and not any(targets[mq] < or_never(before[mq]) == committed[mq] for mq in mine):
                    self._journal.write(ResetStepDone(reset_id, client_id, "verified"))

        self._tasks.spawn(compare(), reset_id)


async def _says(reach: Reach, picture: Picture, group: str, client_id: str) -> dict[MessageQueue, HeldQueue] | None:
    """Return the queues that a member reports now, or None without a report."""
    address = picture.place_of(group, client_id)
    try:
        current = await reach.running_info(address, group, client_id) if address is not None else None
    except SandboxError:
        return None
    return None if current is None else {MessageQueue(*queue): held for queue, held in current.queues.items()}


def _is_overwritten(held: HeldQueue, committed: int | None, target: int) -> bool:
    """Return True if a commit has overwritten the reset of a queue.

    `held` was reported after `committed`, so its unfinished offsets cannot have been committed correctly.
    """
    unfinished = [
        low
        for low, count in ((held.cached_min_offset, held.cached_count), (held.taken_min_offset, held.taken_count))
        if count
    ]
    return or_never(committed) < target or any(low < or_never(committed) for low in unfinished)


def _write_themselves(facts: Facts) -> bool:
    return all(current.writes_itself for current in facts.values())


def _by_members(reach: Reach, facts: Facts, action: ResetOffsets) -> Requests:
    """Return requests that make each broker compute its targets and send them to its members (222).

    The brokers compute the targets again, as for the plan.
    """
    time_ms = TO_THE_END if action.target == "latest" else action.value or 0
    return {
        name: reach.reset_by_time(current.seen.address, action.group, action.topic, time_ms)
        for name, current in facts.items()
    }


def _by_queue(reach: Reach, facts: Facts, group: str, targets: Targets) -> Requests:
    """Return requests that set the offsets queue by queue.

    Brokers that can write offsets do so; others get a commit in the group's name.
    """

    async def one(current: BrokerFacts, mine: Targets) -> Targets:
        request = reach.reset_queue if current.writes_itself else reach.commit
        for mq, offset in sorted(mine.items()):
            await request(current.seen.address, group, mq, offset)
        return mine

    return {
        name: one(facts[name], {mq: offset for mq, offset in targets.items() if mq.broker == name})
        for name in sorted({mq.broker for mq in targets})
    }


async def _send(requests: Requests) -> tuple[Targets, dict[str, str]]:
    """Send the requests to all brokers in parallel; return the new offsets, and the errors by broker.

    The error of one broker does not lose the results of the others.
    """
    answers = await asyncio.gather(*requests.values(), return_exceptions=True)
    targets: Targets = {}
    failures: dict[str, str] = {}
    for name, answer in zip(requests, answers, strict=True):
        if isinstance(answer, SandboxError):
            failures[name] = str(answer)[:300]
        elif isinstance(answer, BaseException):
            raise answer
        else:
            targets |= answer
    return targets, failures
