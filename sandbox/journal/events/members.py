"""Events of group members: life cycle, assignments, locks."""

from typing import NamedTuple

from sandbox.journal.events.shapes import Labels, Long, QueueRuns, Runs


class LifecycleStep(NamedTuple):
    group: str
    client_id: str
    phase: str  # start, stop
    step: int
    name: str
    took_ms: int


class MemberStateChanged(NamedTuple):
    group: str
    client_id: str
    state: str  # starting, running, hung, stopping, stopped, crashed, refused
    unfinished: QueueRuns


class MemberJoined(NamedTuple):
    broker: str
    group: str
    client_id: str
    model: str
    kind: str
    from_where: str


class MemberLeft(NamedTuple):
    broker: str
    group: str
    client_id: str
    reason: str  # unregistered, closed, expired; unnamed: seen from outside


class MembersNotified(NamedTuple):
    broker: str
    group: str
    members: Labels
    why: str  # member, topics


class SubscriptionChanged(NamedTuple):
    broker: str
    group: str
    topic: str
    expression: str
    sub_version: Long
    client_id: str
    replaced: str | None


class QueuesAssigned(NamedTuple):
    """What one member computed for one topic; `queues`, `added` and `dropped` are queue keys."""

    group: str
    client_id: str
    topic: str
    trigger: str  # timer, notified, started, resumed, reset
    strategy: str
    members: Labels
    queues: Labels
    added: Labels
    dropped: Labels


class QueueTaken(NamedTuple):
    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    start_offset: Long
    trace: Labels
    from_where: str


class QueueDropped(NamedTuple):
    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    reason: str  # rebalance, idle, illegal_offset, reset, shutdown, unsubscribed
    offset: Long | None
    unfinished: Runs


class QueueLocked(NamedTuple):
    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    how: str  # free, renewed, taken_over
    previous: str | None
    expires_at_ms: int


class LockDenied(NamedTuple):
    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    holder: str
    left_ms: int


class QueueUnlocked(NamedTuple):
    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    why: str  # shutdown, rebalance, forced


class LockLapsed(NamedTuple):
    """The client no longer trusts its own lock (30 s without a renewal)."""

    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    age_ms: int


class LocksLost(NamedTuple):
    broker: str
    count: int  # type: ignore[assignment]  # the catalogue's name; tuple.count is not used here
