"""Moves of a group's queues, and which of them the starts and stops of members made necessary.

The minimum follows from the run itself: the queues of a member that leaves must move, and so must those that a new
member acquires.  All other moves were between members that stayed.
"""

from collections.abc import Iterable
from typing import NamedTuple

from sandbox.journal.events import MemberStateChanged, QueuesAssigned, QueueTaken
from sandbox.labs.evidence import Evidence, queue_of

NEVER = 2**62  # as the number of an event: after all of them
ENDED = ("stopping", "stopped", "crashed")


class Lives:
    """Processes of a group's members by client id, with the seqs of their start and end events.

    `killed`: the actions that ended a process at once.  `divided`: the first assignment that included the process.
    """

    def __init__(self, evidence: Evidence) -> None:
        n = evidence.numbers
        self.started: dict[str, int] = {}
        self.ended: dict[str, int] = {}
        self.divided: dict[str, int] = {}
        self.killed: set[int | None] = set()
        self._clients = evidence.clients
        for entry in evidence.of(MemberStateChanged, since=0):
            client_id, state = entry.event.client_id, entry.event.state
            if state == "starting":
                self.started[client_id] = entry.seq
            elif state in ENDED:
                self.ended.setdefault(client_id, entry.seq)
            if state == "crashed":
                self.killed.add(entry.cause)
        for assigned in evidence.of(QueuesAssigned, since=0):
            event = assigned.event
            if (event.group, event.topic) == (n["group"], n["topic"]) and event.client_id in event.members:
                self.divided.setdefault(event.client_id, assigned.seq)
        for stop in evidence.actions("StopActor", since=0):  # its process receives it a little later
            if evidence.clients(stop.event.fields["actor"]):
                client_id = self.process(stop.event.fields["actor"], stop.seq)
                self.ended[client_id] = min(stop.seq, self.ended.get(client_id, NEVER))

    def process(self, label: str, before: int = NEVER) -> str:
        """Return the client id of a member's newest process that started before an event."""
        return [client_id for client_id in self._clients(label) if self.started[client_id] < before][-1]

    def has_ended(self, label: str, before: int = NEVER) -> bool:
        return self.ended.get(self.process(label, before), NEVER) < before

    def is_there(self, label: str, before: int = NEVER) -> bool:
        """Return True if the member runs and was part of an assignment."""
        return not self.has_ended(label, before) and self.divided.get(self.process(label, before), NEVER) < before

    def are_there(self, labels: Iterable[str]) -> bool:
        return all(self.is_there(label) for label in labels)


class Move(NamedTuple):
    """Acquisition of one queue.

    `needless`: a member that was there before acquired it from a member that stayed.
    """

    seq: int
    at_ms: int
    queue: str
    source: str | None  # client id of the last owner
    needless: bool


def moves_since(evidence: Evidence, lives: Lives, since: int) -> list[Move]:
    """List the moves of queues in the lab's topic and group since an event."""
    n = evidence.numbers
    had: dict[str, str] = {}
    moves = []
    for taken in evidence.of(QueueTaken, since=0):
        event = taken.event
        if (event.group, event.topic) != (n["group"], n["topic"]):
            continue
        source = had.get(queue_of(event))
        had[queue_of(event)] = event.client_id
        if taken.seq > since:
            stayed = source is not None and lives.ended.get(source, NEVER) > taken.seq
            was_there = lives.divided.get(event.client_id, NEVER) < taken.seq
            moves.append(Move(taken.seq, taken.at_ms, queue_of(event), source, stayed and was_there))
    return moves


def needless(moves: list[Move]) -> int:
    return sum(move.needless for move in moves)


def given_again(evidence: Evidence, since: int) -> int:
    """Count the deliveries, after `since`, of messages that a listener of the group had received before.

    Their outcome does not matter.
    """
    n = evidence.numbers
    delivered: set[tuple[str, int]] = set()
    count = 0
    for row in evidence.deliveries_of(n["group"], since=0):
        if row.queue.startswith(f"{n['topic']}/"):
            count += row.seq > since and (row.queue, row.offset) in delivered
            delivered.add((row.queue, row.offset))
    return count
