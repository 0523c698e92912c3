"""Events of group members: life cycle, assignments, locks."""

from typing import NamedTuple

from sandbox.journal.events.event import said
from sandbox.journal.events.shapes import Labels, Long, QueueRuns, Runs
from sandbox.kernel.sentences import Plural

ENDED = frozenset({"stopped", "crashed", "refused"})
"""States of a member whose process is over."""


@said("quiet", "step", "{who} {phase}: {name}, {took_ms}")
class LifecycleStep(NamedTuple):
    group: str
    client_id: str
    phase: str  # start, stop
    step: int
    name: str
    took_ms: int


@said("warn", "member", "{who} is {state}", "bad")
class MemberStateChanged(NamedTuple):
    group: str
    client_id: str
    state: str  # starting, running, hung, stopping, stopped, crashed, refused
    unfinished: QueueRuns


@said("move", "joined", "{who} joined {group} at {broker}")
class MemberJoined(NamedTuple):
    broker: str
    group: str
    client_id: str
    model: str
    kind: str
    from_where: str


@said("move", "left", "{broker} dropped {who} from {group}: {reason}")
@said("bad", "left", "no broker lists {who} in {group} any more", "bad", when="reason=unnamed")
class MemberLeft(NamedTuple):
    broker: str
    group: str
    client_id: str
    reason: str  # unregistered, closed, expired; unnamed: seen from outside


@said("quiet", "notified", "{broker} notified the members of {group}")
class MembersNotified(NamedTuple):
    broker: str
    group: str
    members: Labels
    why: str  # member, topics


@said("quiet", "subscribed", "{who} subscribes to {topic} with {expression}")
@said("quiet", "subscribed", "{who} subscribes to {topic} with {expression}, replacing {replaced}", when="replaced")
class SubscriptionChanged(NamedTuple):
    broker: str
    group: str
    topic: str
    expression: str
    sub_version: Long
    client_id: str
    replaced: str | None


@said(
    "move",
    "rebalance",
    Plural(
        "queues", "{who} has {queues} queue: +{added}, −{dropped}", "{who} has {queues} queues: +{added}, −{dropped}"
    ),
    "move",
)
class QueuesAssigned(NamedTuple):
    """The queues that one member computed for one topic; `queues`, `added` and `dropped` are queue keys."""

    group: str
    client_id: str
    topic: str
    trigger: str  # timer, notified, started, resumed, reset
    strategy: str
    members: Labels
    queues: Labels
    added: Labels
    dropped: Labels


@said("move", "acquired", "{who} acquired {queue} at {start_offset}")
class QueueTaken(NamedTuple):
    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    start_offset: Long
    trace: Labels
    from_where: str


@said("quiet", "released", "{who} released {queue}: {reason}")
class QueueDropped(NamedTuple):
    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    reason: str  # rebalance, idle, illegal_offset, reset, shutdown, unsubscribed
    offset: Long | None
    unfinished: Runs


@said("lock", "lock", "{queue} locked by {who}, {how}", "lock")
class QueueLocked(NamedTuple):
    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    how: str  # free, renewed, taken_over
    previous: str | None
    expires_at_ms: int


@said("lock", "denied", "{who}: lock of {queue} refused, held by {holder} for {left_ms}", "lock")
class LockDenied(NamedTuple):
    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    holder: str
    left_ms: int


@said("lock", "unlock", "lock on {queue} taken from {who} by force", "lock", when="why=forced")
@said("lock", "unlock", "{queue} unlocked by {who}")
class QueueUnlocked(NamedTuple):
    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    why: str  # shutdown, rebalance, forced


@said("lock", "lock expired", "{who} treats its lock on {queue} as expired")
class LockLapsed(NamedTuple):
    """A client treats its own lock as expired, after 30 s without a renewal."""

    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    age_ms: int


@said(
    "lock",
    "locks",
    Plural("count", "{broker} lost {count} lock with its memory", "{broker} lost {count} locks with its memory"),
    "bad",
)
class LocksLost(NamedTuple):
    broker: str
    count: int  # type: ignore[assignment]  # the catalogue's name; tuple.count is not used here
