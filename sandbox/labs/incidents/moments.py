"""Builders of marker functions: each returns a function that finds an event of an incident in the evidence."""

from collections.abc import Callable, Iterator
from heapq import merge
from typing import Any, NamedTuple, TypeVar

from sandbox.journal.events import Event, FindingOpened, MessagesStored, OffsetCommitted
from sandbox.labs.evidence import Delivery, Evidence, Seen, queue_of
from sandbox.labs.incidents.incident import Find, Moment

E = TypeVar("E", bound=Event)


def opens(code: str, says: Find) -> Find:
    """Return a `Find` for the event with which a finding of this code opens; `says` finds the values of its text."""

    def find(evidence: Evidence) -> Moment | None:
        opened = next((entry for entry in evidence.of(FindingOpened) if entry.event.code == code), None)
        moment = says(evidence)
        return None if opened is None or moment is None else Moment(opened.seq, moment.values)

    return find


class Lag(NamedTuple):
    """Lag of a group after an event, in messages stored and not committed."""

    seq: int
    at_ms: int
    messages: int


def act(name: str, number: int = 1, **fields: Any) -> Find:
    """Return a `Find` for the `number`-th action with this name and these fields."""

    def find(evidence: Evidence) -> Moment | None:
        entries = [
            entry
            for entry in evidence.actions(name)
            if all(entry.event.fields[field] == value for field, value in fields.items())
        ]
        return Moment(entries[number - 1].seq, {}) if len(entries) >= number else None

    return find


def fact(
    kind: type[E],
    fits: Callable[[E], bool] = lambda event: True,
    *,
    number: int = 1,
    says: Callable[[E], dict[str, object]] = lambda event: {},
) -> Find:
    """Return a `Find` for the `number`-th event of this kind that `fits`; `says` returns the values of its text."""

    def find(evidence: Evidence) -> Moment | None:
        entries = [entry for entry in evidence.of(kind) if fits(entry.event)]
        return Moment(entries[number - 1].seq, says(entries[number - 1].event)) if len(entries) >= number else None

    return find


def lags(evidence: Evidence, group: str, topic: str) -> Iterator[Lag]:
    """Yield the lag at each event that changes it."""
    stored = [entry for entry in evidence.of(MessagesStored) if entry.event.topic == topic]
    commits = [
        entry for entry in evidence.of(OffsetCommitted) if (entry.event.group, entry.event.topic) == (group, topic)
    ]
    ends: dict[str, int] = {}
    done: dict[str, int] = {}
    changes: Iterator[Seen[Any]] = merge(stored, commits, key=lambda entry: entry.seq)
    for entry in changes:
        queue = queue_of(entry.event)
        if isinstance(entry.event, MessagesStored):
            ends[queue] = entry.event.first_offset + entry.event.count
        else:
            done[queue] = entry.event.offset
        yield Lag(entry.seq, entry.at_ms, sum(end - done.get(queue, 0) for queue, end in ends.items()))


def lag_reaches(group: str, topic: str, messages: int) -> Find:
    """Return a `Find` for the first event with a lag of at least `messages`; its text may contain `lag`."""

    def find(evidence: Evidence) -> Moment | None:
        reached = next((lag for lag in lags(evidence, group, topic) if lag.messages >= messages), None)
        return None if reached is None else Moment(reached.seq, {"lag": reached.messages})

    return find


def lag_falls(group: str, topic: str, messages: int, *, after: Find) -> Find:
    """Return a `Find` for the first event after `after` with a lag of at most `messages`.

    Its text may contain `lag`.
    """

    def find(evidence: Evidence) -> Moment | None:
        since = after(evidence)
        fallen = (
            None
            if since is None
            else next(
                (lag for lag in lags(evidence, group, topic) if lag.seq > since.seq and lag.messages <= messages), None
            )
        )
        return None if fallen is None else Moment(fallen.seq, {"lag": fallen.messages})

    return find


def given_again(evidence: Evidence, group: str, topic: str) -> list[Delivery]:
    """Return the deliveries of messages that a listener of the group had received before, the oldest first."""
    delivered: set[tuple[str, int]] = set()
    again = []
    for row in evidence.deliveries_of(group):
        if row.queue.startswith(f"{topic}/"):
            if (row.queue, row.offset) in delivered:
                again.append(row)
            delivered.add((row.queue, row.offset))
    return again


def lag_at(evidence: Evidence, group: str, topic: str, seq: int) -> int:
    """Return the lag once this event is written, in messages."""
    counts = [lag.messages for lag in lags(evidence, group, topic) if lag.seq <= seq]
    return counts[-1] if counts else 0


def given_keys(rows: list[Delivery], prefix: str) -> set[int]:
    """Return the numbers at the end of the keys that begin with `prefix`."""
    return {int(row.key.removeprefix(prefix)) for row in rows if row.key.startswith(prefix)}
