"""Detection of changes of a cluster between two polls, which are written to its journal here."""

from sandbox.attached.picture import RUNNING, BrokerSeen, Picture, ServerSeen
from sandbox.attached.snapshot.group_reports import GroupSeen
from sandbox.attached.snapshot.groups import Waiting
from sandbox.control.limits import AttachedLimits
from sandbox.journal.events import LagMarked, MemberJoined, MemberLeft, NodeAnswered, NodeSilent
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock

UNNAMED = "unnamed"


class Changes:
    """The detected changes: nodes that stop and start answering, members that join and leave, lag over the mark.

    The first poll gives no events.  Without an open page no node is polled, so events have the time of their detection.
    """

    def __init__(self, journal: Journal, picture: Picture, clock: Clock, limits: AttachedLimits) -> None:
        self._journal = journal
        self._clock = clock
        self._picture = picture
        self._limits = limits
        self._members: dict[str, set[str]] = {}
        self._over: set[str] = set()
        self._begun = False

    def begin(self) -> None:
        """Start to write events: the first poll is done."""
        self._begun = True

    def silent(self, name: str, node: BrokerSeen | ServerSeen) -> None:
        """Write that a node does not answer.  `node`: its last known state."""
        if node.state == RUNNING and node.answered_ms is not None:
            self._journal.write(NodeSilent(name, node.address, self._clock.now_ms() - node.answered_ms))

    def answered(self, name: str, node: BrokerSeen | ServerSeen) -> None:
        if node.state != RUNNING and self._begun:
            silent_ms = None if node.answered_ms is None else self._clock.now_ms() - node.answered_ms
            self._journal.write(NodeAnswered(name, node.address, silent_ms))

    def members(self, group: str, broker: str) -> None:
        """Compare the group's members by the last answers of all its brokers; `broker` has just answered.

        While one of them does not answer, it is unknown whether a member left.
        """
        present = {
            connection.client_id: (connection, reported)
            for reported in self._picture.connections(group)
            for connection in reported.connections
        }
        known = self._members.get(group)
        masters = self._picture.masters()
        names = self._picture.brokers_of_group(group)
        left = (known or set()) - set(present)
        if any(name in masters and masters[name].state != RUNNING for name in names):
            left = set()
        self._members[group] = ((known or set()) - left) | set(present)
        if known is None:
            return
        for client_id in sorted(set(present) - known):
            connection, reported = present[client_id]
            self._journal.write(
                MemberJoined(
                    broker, group, client_id, reported.message_model, reported.consume_type, connection.client_address
                )
            )
        for client_id in sorted(left):
            self._journal.write(MemberLeft(broker, group, client_id, UNNAMED))

    async def marks(self) -> bool:
        """Write an event for each group whose lag has passed the mark.

        A group is under the mark again at half of it, so that each crossing is one event.
        """
        mark = self._limits.lag_mark
        for group in self._picture.limited_groups(self._limits.groups):
            lag = Waiting(GroupSeen(self._picture, group)).lag
            if lag.messages is None:
                continue
            if group not in self._over and lag.messages >= mark:
                self._over.add(group)
                self._journal.write(LagMarked(group, "over", lag.messages, mark, lag.queues, lag.of))
            elif group in self._over and lag.messages < mark / 2 and lag.queues == lag.of:
                self._over.discard(group)
                self._journal.write(LagMarked(group, "under", lag.messages, mark, lag.queues, lag.of))
        return True
