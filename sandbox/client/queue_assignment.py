"""Assignment of a topic's queues to this member: the same computation for every kind of consumer."""

from typing import TYPE_CHECKING, NamedTuple, Protocol

from sandbox.client.allocate import AllocateMessageQueueStrategy
from sandbox.client.config import MessageModel
from sandbox.journal.events import QueuesAssigned
from sandbox.message.queue import MessageQueue

if TYPE_CHECKING:
    from sandbox.client.instance import ClientInstance


class Division(NamedTuple):
    """Computed assignment of one topic: all its queues, this member's queues, and the group's members.

    When broadcasting, `members` is this member only.  `at_ms`: arrival time of the member list.
    """

    queues: list[MessageQueue]
    mine: list[MessageQueue]
    members: list[str]
    at_ms: int


class Round(NamedTuple):
    """Newest assignment of one topic on one member.

    `missed_ms`, `missed_why`: time and reason of a later rebalance that computed nothing.  Without a reason, no
    broker returned the members.
    """

    division: Division | None
    trigger: str
    missed_ms: int | None = None
    missed_why: str = ""


class Divider(Protocol):
    """Member that computes which queues it owns."""

    @property
    def group(self) -> str: ...
    @property
    def client_id(self) -> str: ...
    @property
    def instance(self) -> "ClientInstance": ...
    @property
    def model(self) -> MessageModel: ...
    @property
    def strategy(self) -> AllocateMessageQueueStrategy: ...
    @property
    def may_rebalance(self) -> bool: ...


async def divide(member: Divider, topic: str) -> Division | None:
    """Compute this member's queues of the topic with its strategy; None if a broker or the route did not answer.

    Raises ClientError if the strategy cannot assign queues (spec client-behaviour 5.1).
    """
    queues, clock = member.instance.routes.subscribe_queues(topic), member.instance.clock
    if member.model is MessageModel.BROADCASTING:
        return None if queues is None else Division(queues, queues, [member.client_id], clock.now_ms())
    members = await member.instance.consumer_ids(topic, member.group)
    if queues is None or members is None or not member.may_rebalance:
        return None
    at_ms, members = clock.now_ms(), sorted(members)
    return Division(queues, member.strategy.allocate(member.group, member.client_id, queues, members), members, at_ms)


class AssignmentNews:
    """Results of rebalances; writes each to the journal if it changed.

    `rounds`: the last result of each topic.
    """

    def __init__(self, member: Divider) -> None:
        self._member = member
        self.rounds: dict[str, Round] = {}
        self._last_written: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def claimed(self) -> list[MessageQueue]:
        """Return the queues that the last rebalances assigned to the member, acquired or not."""
        return sorted(MessageQueue.from_key(key) for _, queues in self._last_written.values() for key in queues)

    def found(self, topic: str, division: Division, trigger: str) -> None:
        """Record a computed assignment as the topic's newest one."""
        self.rounds[topic] = Round(division, trigger)

    def missed(self, topic: str, trigger: str, reason: str = "") -> None:
        """Record a rebalance that computed nothing; the topic's last assignment stays valid."""
        known = self.rounds.get(topic, Round(None, trigger))
        self.rounds[topic] = known._replace(missed_ms=self._member.instance.clock.now_ms(), missed_why=reason)

    def report(
        self, topic: str, division: Division, trigger: str, *, added: list[MessageQueue], dropped: list[MessageQueue]
    ) -> None:
        queues, members = _keys(division.mine), tuple(division.members)
        assigned = (members, queues)
        if not added and not dropped and self._last_written.get(topic) == assigned:
            return
        self._last_written[topic] = assigned
        member = self._member
        broadcasting = member.model is MessageModel.BROADCASTING
        member.instance.journal.write(
            QueuesAssigned(
                group=member.group,
                client_id=member.client_id,
                topic=topic,
                trigger=trigger,
                strategy="" if broadcasting else member.strategy.name,
                members=members,
                queues=queues,
                added=_keys(added),
                dropped=_keys(dropped),
            )
        )


def _keys(queues: list[MessageQueue]) -> tuple[str, ...]:
    return tuple(mq.key for mq in queues)
