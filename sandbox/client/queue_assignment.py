"""Which queues of a topic are this member's: the same computation for every kind of consumer."""

from typing import TYPE_CHECKING, NamedTuple, Protocol

from sandbox.client.allocate import AllocateMessageQueueStrategy
from sandbox.client.config import MessageModel
from sandbox.journal.events import QueuesAssigned
from sandbox.message.queue import MessageQueue

if TYPE_CHECKING:
    from sandbox.client.instance import ClientInstance


class Division(NamedTuple):
    """One topic: all its queues, this member's, and the members that counted; broadcasting: only itself.

    `at_ms`: when the list of members arrived.
    """

    queues: list[MessageQueue]
    mine: list[MessageQueue]
    members: list[str]
    at_ms: int


class Round(NamedTuple):
    """A member's newest assignment of one topic.

    `missed_ms`, `missed_why`: a later round that computed nothing; without a reason, no broker returned the members.
    """

    division: Division | None
    trigger: str
    missed_ms: int | None = None
    missed_why: str = ""


class Divider(Protocol):
    """A member that computes its share."""

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
    """Our queues of the topic by the strategy; None when a broker or the route did not answer.

    Raises ClientError when the strategy cannot divide (spec client-behaviour 5.1).
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
    """Writes the result of a rebalance to the journal, if it changed.

    `rounds`: the last one of each topic.
    """

    def __init__(self, member: Divider) -> None:
        self._member = member
        self.rounds: dict[str, Round] = {}
        self._last_written: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def claimed(self) -> list[MessageQueue]:
        """List the queues the last rounds assigned to the member, acquired or not."""
        return sorted(MessageQueue.from_key(key) for _, queues in self._last_written.values() for key in queues)

    def found(self, topic: str, division: Division, trigger: str) -> None:
        """This is what the member acts on from now."""
        self.rounds[topic] = Round(division, trigger)

    def missed(self, topic: str, trigger: str, reason: str = "") -> None:
        """Nothing came of the round, so what the last one found stays in force."""
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
