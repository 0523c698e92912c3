"""Events of messages: stored, pulled, consumed, retried."""

from typing import NamedTuple

from sandbox.journal.events.shapes import Labels, Long, QueueRuns


class MessagesStored(NamedTuple):
    """flow; one per queue and turn"""

    topic: str
    broker: str
    queue_id: int
    first_offset: Long
    count: int  # type: ignore[assignment]  # the catalogue's name; tuple.count is not used here
    physical_offset: Long  # of the first
    bytes: Long


class SendFailed(NamedTuple):
    """flow"""

    client_id: str
    topic: str
    broker: str
    status: str
    attempt: int
    retried: bool


class PullSuspended(NamedTuple):
    """flow"""

    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    offset: Long
    patience_ms: int


class PullAnswered(NamedTuple):
    """flow; `skipped_by_hash` counts by tags: messages excluded by a SQL92 condition are not counted"""

    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    asked: Long
    next_offset: Long
    count: int  # type: ignore[assignment]  # the catalogue's name; tuple.count is not used here
    bytes: Long
    code: int
    held_ms: int
    skipped_by_hash: int
    cold: bool


class MessagesFiltered(NamedTuple):
    """flow; dropped by tag text at the client"""

    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    offsets: tuple[Long, ...]
    tags: Labels


class BodyLeftPacked(NamedTuple):
    """A listener gets a body as stored, because it cannot be decompressed; at most once a second and member."""

    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    offset: Long
    why: str


class MessagesConsumed(NamedTuple):
    """flow; one per batch of a listener, at its end"""

    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    offsets: tuple[Long, ...]
    keys: Labels
    sharding: Labels
    outcome: str  # SUCCESS, LATER, FAILED, TIMEOUT, IGNORED, INTERRUPTED
    reconsume_times: int
    started_ms: int
    thread: int
    handler: str


class CrashRepeated(NamedTuple):
    """After a crash: this many messages of the crashed process came again to listeners, and no more will."""

    group: str
    client_id: str  # the crashed client
    count: int  # type: ignore[assignment]  # the catalogue's name; tuple.count is not used here
    messages: QueueRuns


class FlowControlChanged(NamedTuple):
    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    limit: str | None  # count, size, span
    value: Long
    allowed: Long


class MessagePinned(NamedTuple):
    """The oldest unfinished message of a queue is older than 15 s; once per message."""

    group: str
    topic: str
    broker: str
    queue_id: int
    offset: Long
    key: str
    age_ms: int


class MessageRetried(NamedTuple):
    """flow"""

    group: str
    topic: str
    broker: str
    queue_id: int
    offset: Long
    delay_level: int
    reconsume_times: int
    why: str  # result, timeout
    target: str  # broker, local


class MessageDeadLettered(NamedTuple):
    group: str
    topic: str
    broker: str
    queue_id: int
    offset: Long
    reconsume_times: int


class MessageConsumedOnce(NamedTuple):
    """A member was asked to consume one message (request 309): no offset is committed, no retry follows."""

    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    offset: Long
    result: str  # CR_SUCCESS, CR_LATER, …; a response code's name, or NO_ANSWER without a listener's answer
    took_ms: int
    remark: str | None


class DelayedMessageDue(NamedTuple):
    """flow"""

    delay_level: int
    delay_offset: Long
    topic: str
    broker: str
    queue_id: int


class TransactionPrepared(NamedTuple):
    """A half message is stored; `half_offset` is its place in the half queue."""

    producer_group: str
    transaction_id: str  # the client's UNIQ_KEY
    half_offset: Long


class TransactionChecked(NamedTuple):
    """The broker asked a producer for the state of a transaction; the half message has a new offset since then."""

    producer_group: str
    transaction_id: str
    checks: int
    client_id: str | None  # null: no member of the group was connected


class TransactionEnded(NamedTuple):
    producer_group: str
    transaction_id: str
    half_offset: Long
    outcome: str  # commit, rollback, discarded
    by: str  # producer, check
    checks: int
