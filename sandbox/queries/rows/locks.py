"""Rows of the Locks page: the lock holder of each queue of an orderly group (catalogue 10: `locks/<slug>/<group>`).

Offsets are text.  Times (`…_ms`) are of the sandbox's clock.  None: not known, unless the field has another meaning.
"""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from sandbox.queries.rows.board import ActorRow, KnownQueues, LockRow, MasterState, MemberRow


class LockLives(TypedDict):
    """The lifetimes of a lock, in ms."""

    broker_ms: int  # at the broker, without a renewal
    client_ms: int  # its holder trusts it
    renew_ms: int  # its holder renews it so often
    assumed: NotRequired[bool]  # RocketMQ's defaults: a real cluster does not say


class Consuming(TypedDict):
    """The message of a queue that a listener is processing."""

    client_id: str
    thread: int
    offset: str
    key: str  # "": it has none


class LockedQueue(MasterState):
    """One queue of the group, not of its retry topic."""

    topic: str
    assigned: str | None  # client id of the member it belongs to; None: no member
    waiting: list[str]  # client ids of members whose last attempt was refused, a short while ago
    consuming: Consuming | None  # None: no message at the moment, or an external member
    lock: LockRow | None  # None: no one holds one, or its master is down
    suspended_until_ms: int | None  # its listener asked for a pause; None: it did not


class LockAttempt(TypedDict):
    """One request LOCK_BATCH_MQ for one queue, and its result."""

    at_ms: int
    client_id: str
    queue: str  # as `Locks.queues` is keyed; of any other topic `topic/broker-a:3`
    topic: str
    granted: bool
    holder: str  # client id of the holder at that time
    left_ms: int | None  # of the lock another client held; None: it was granted


class ReportedLocks(TypedDict):
    """The known part of a real cluster's locks, and its source."""

    locks: str  # holder, some holders
    waiting: None
    attempts: None


class Locks(TypedDict):
    """All locks of one group."""

    lives: LockLives
    queues: dict[str, LockedQueue]  # by `broker-a:3` of the group's first topic, of any other by `topic/broker-a:3`
    members: Mapping[str, ActorRow | MemberRow]  # by client id
    attempts: dict[str, LockAttempt]  # the last 40 of all brokers, oldest first
    brokers: dict[str, str]  # node → state
    known: NotRequired[KnownQueues]  # sandbox
    told: NotRequired[ReportedLocks]  # real cluster
