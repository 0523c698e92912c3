"""Evidence of one attempt, from the journal's entries alone, indexed as they are added.

A check reads nothing else than facts, deliveries and actions.  `since` limits a result to entries after an event.
The default is the event with which the open step began (its prediction, if it has one).
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar, cast

from sandbox.control.rights import is_by
from sandbox.journal.events import (
    ActionTaken,
    Entry,
    Event,
    Keyframe,
    MemberStateChanged,
    MessagesConsumed,
    MessagesStored,
    OffsetCommitted,
    PullSuspended,
    QueuesAssigned,
)
from sandbox.labs.verdict import Numbered

E = TypeVar("E", bound=Event)
T = TypeVar("T")
R = TypeVar("R", bound=Numbered)

NOT_KEPT = frozenset({Keyframe, MessagesConsumed, PullSuspended})
"""Frequent or large, and asked for by no check: what was delivered is in `deliveries`."""

Numbers = Mapping[str, Any]
"""What the seed has drawn for an attempt: names, counts, seconds."""


class Seen(NamedTuple, Generic[E]):
    """Journal entry with an event of one kind."""

    seq: int
    at_ms: int
    cause: int | None
    event: E


class Delivery(NamedTuple):
    """Message that one listener finished; `queue` is a key (`orders/broker-a/3`)."""

    seq: int
    at_ms: int
    started_ms: int
    group: str
    client_id: str
    queue: str
    offset: int
    key: str
    outcome: str
    handler: str


class Evidence:
    """Indexed entries of an attempt.

    `now_ms`: the time of the newest entry; `began`: the seq with which the open step began.
    """

    def __init__(self, numbers: Numbers, began: int = 0) -> None:
        self.numbers = numbers
        self.began = began
        self.now_ms = 0
        self.count = 0  # of entries so far
        self.deliveries: list[Delivery] = []
        self._entries: dict[type[Event], list[Entry]] = {}
        self._labels: dict[str, list[str]] = {}  # label → client ids of its processes
        self._ends: dict[str, int] = {}  # queue → offset after its newest message
        self._commits: dict[tuple[str, str], Seen[OffsetCommitted]] = {}  # the newest
        self._assigned: dict[tuple[str, str, str], Seen[QueuesAssigned]] = {}  # the newest

    @contextmanager
    def at(self, now_ms: int) -> Iterator[None]:
        """Set the time to `now_ms` inside the `with` block, as if no event occurred until then."""
        before, self.now_ms = self.now_ms, now_ms
        try:
            yield
        finally:
            self.now_ms = before

    def add(self, entry: Entry) -> None:
        event = entry.event
        self.now_ms = max(self.now_ms, entry.at_ms)
        self.count += 1
        if type(event) not in NOT_KEPT:
            self._entries.setdefault(type(event), []).append(entry)
        if isinstance(event, MessagesStored):
            self._ends[queue_of(event)] = event.first_offset + event.count
        elif isinstance(event, MessagesConsumed):
            self._add_deliveries(entry, event)
        elif isinstance(event, OffsetCommitted):
            self._commits[event.group, queue_of(event)] = Seen(entry.seq, entry.at_ms, entry.cause, event)
        elif isinstance(event, QueuesAssigned):
            key = event.group, event.topic, event.client_id
            self._assigned[key] = Seen(entry.seq, entry.at_ms, entry.cause, event)
        elif isinstance(event, MemberStateChanged) and event.state == "starting":
            self._name(entry, event)

    def of(self, kind: type[E], /, *, since: int | None = None, **fields: object) -> list[Seen[E]]:
        """Return the entries of this kind, the oldest first; `since` 0: from the attempt's beginning.

        `evidence.of(QueueTaken, group="clerks")` returns those whose event has these fields.
        """
        assert kind not in NOT_KEPT, kind
        entries = _after(self._entries.get(kind, ()), self.began if since is None else since)
        has = _having(fields)
        return [
            Seen(entry.seq, entry.at_ms, entry.cause, cast(E, entry.event)) for entry in entries if has(entry.event)
        ]

    def actions(self, name: str, /, *, since: int | None = None, **fields: object) -> list[Seen[ActionTaken]]:
        """Return the student's actions with this name; those of the lab's own setup and of a teacher are omitted.

        `evidence.actions("CrashActor", actor="left")` returns those with these fields.
        """
        return [
            entry
            for entry in self.of(ActionTaken, since=since, action=name)
            if entry.event.by != SETUP
            and not is_by(entry.event.by, "instructor")
            and all(entry.event.fields.get(field) == value for field, value in fields.items())
        ]

    def deliveries_of(self, group: str, /, *, since: int | None = None, **fields: object) -> list[Delivery]:
        """Return the deliveries to a group, the oldest first: `evidence.deliveries_of("clerks", outcome="SUCCESS")`."""
        has = _having({"group": group, **fields})
        return [row for row in _after(self.deliveries, self.began if since is None else since) if has(row)]

    def passed_s(self, at_ms: int) -> int:
        """Return the whole seconds from `at_ms` until now."""
        return (self.now_ms - at_ms) // 1000

    def assigned(self, group: str, topic: str) -> dict[str, Seen[QueuesAssigned]]:
        """Return the newest assignment of each live member, by client id."""
        states = Counter((entry.event.client_id, entry.event.state) for entry in self.of(MemberStateChanged, since=0))
        dead = {
            client_id
            for client_id, state in states
            if state in ("crashed", "stopping", "stopped") and not self._has_another(states, client_id)
        }
        return {
            client_id: entry
            for (of_group, of_topic, client_id), entry in self._assigned.items()
            if (of_group, of_topic) == (group, topic) and client_id not in dead
        }

    @staticmethod
    def _has_another(states: Counter[tuple[str, str]], client_id: str) -> bool:
        """Return True if several processes had the client id, and not all of them ended."""
        begun = states[client_id, "starting"]
        return begun > 1 and states[client_id, "crashed"] + states[client_id, "stopping"] < begun

    def end(self, queue: str) -> int:
        """Return the offset after the newest message of a queue."""
        return self._ends.get(queue, 0)

    def queues_of(self, topic: str) -> list[str]:
        """Return the keys of the topic's queues in which a message was stored."""
        return sorted(queue for queue in self._ends if queue.split("/")[0] == topic)

    def committed(self, group: str, queue: str) -> Seen[OffsetCommitted] | None:
        return self._commits.get((group, queue))

    def lag(self, group: str, topic: str) -> int:
        """Return the number of messages that are stored and not committed."""
        total = 0
        for queue in self.queues_of(topic):
            commit = self.committed(group, queue)
            total += self.end(queue) - (0 if commit is None else commit.event.offset)
        return total

    def clients(self, label: str) -> list[str]:
        """Return the client ids of an actor's processes so far."""
        return self._labels.get(label, [])

    def _add_deliveries(self, entry: Entry, event: MessagesConsumed) -> None:
        queue = queue_of(event)
        self.deliveries += [
            Delivery(
                entry.seq,
                entry.at_ms,
                event.started_ms,
                event.group,
                event.client_id,
                queue,
                offset,
                key,
                event.outcome,
                event.handler,
            )
            for offset, key in zip(event.offsets, event.keys, strict=True)
        ]

    def _name(self, entry: Entry, event: MemberStateChanged) -> None:
        """Add a process to the actor that its action named, or to the next of that actor's copies."""
        action = next((taken.event for taken in self._entries.get(ActionTaken, ()) if taken.seq == entry.cause), None)
        if not isinstance(action, ActionTaken) or not action.fields.get("actor"):
            return
        wished, copies = action.fields["actor"], action.fields.get("copies", 1)
        number = sum(len(ids) for label, ids in self._labels.items() if label.startswith(f"{wished}."))
        label = wished if copies == 1 else f"{wished}.{number + 1}"
        self._labels.setdefault(label, []).append(event.client_id)


SETUP = "lab"
"""Who carries out the actions of a lab's setup."""


def first(rows: Sequence[T]) -> T | None:
    """Return the oldest row; None if `rows` is empty."""
    return rows[0] if rows else None


def last(rows: Sequence[T]) -> T | None:
    """Return the newest row: `last(evidence.actions("StopActor"))`; None if `rows` is empty."""
    return rows[-1] if rows else None


def _after(rows: Sequence[R], seq: int) -> Sequence[R]:
    """Return the rows after an event; `rows` are in the order of their seqs."""
    return rows[bisect_right(rows, seq, key=lambda row: row.seq) :]


def _having(fields: Mapping[str, object]) -> Callable[[object], bool]:
    """Return a function that checks whether a row has these fields."""
    if not fields:
        return lambda row: True
    read, values = attrgetter(*fields), tuple(fields.values())
    return (lambda row: read(row) == values) if len(values) > 1 else (lambda row: read(row) == values[0])


def queue_of(event: Any) -> str:
    """Return the key of the event's queue."""
    return f"{event.topic}/{event.broker}/{event.queue_id}"
