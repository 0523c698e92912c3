"""Events of messages: stored, pulled, consumed, retried."""

from typing import NamedTuple

from sandbox.journal.events.event import flow, said
from sandbox.journal.events.shapes import Labels, Long, QueueRuns
from sandbox.kernel.sentences import Plural


@flow
class MessagesStored(NamedTuple):
    """Messages stored in a queue; one event per queue and turn of the engine."""

    topic: str
    broker: str
    queue_id: int
    first_offset: Long
    count: int  # type: ignore[assignment]  # the catalogue's name; tuple.count is not used here
    physical_offset: Long  # of the first
    bytes: Long


@flow
class SendFailed(NamedTuple):
    client_id: str
    topic: str
    broker: str
    status: str
    attempt: int
    retried: bool


@said(
    "warn",
    "no delay",
    "{topic}: {property} requests a delay by time, which RocketMQ supports from 5.0 on; a message of {client} is "
    "delivered immediately",
    "warn",
)
class DelayIgnored(NamedTuple):
    """An ignored delay by time, set by a client of RocketMQ 5.  At most one per broker and second."""

    topic: str
    broker: str
    property: str
    value: str
    client: str


@flow
class PullSuspended(NamedTuple):
    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    offset: Long
    patience_ms: int


@flow
class PullAnswered(NamedTuple):
    """The response to a pull.  `skipped_by_hash` counts messages skipped by tag, not by an SQL92 condition."""

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


@flow
class MessagesFiltered(NamedTuple):
    """Messages dropped by the client because their tag differs, although the hash is the same."""

    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    offsets: tuple[Long, ...]
    tags: Labels


@said("warn", "still compressed", "{who} received {queue} {offset} with its body as stored: {why}", "warn")
class BodyLeftPacked(NamedTuple):
    """A body that the client cannot decompress; the listener receives it as stored.

    At most one event per second and member.
    """

    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    offset: Long
    why: str


@flow
class MessagesConsumed(NamedTuple):
    """The end of a listener's call; one event per batch."""

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


@said(
    "warn",
    "delivered twice",
    Plural(
        "count",
        "{count} message delivered twice: {who} crashed before the commit",
        "{count} messages delivered twice: {who} crashed before the commit",
    ),
    "warn",
)
class CrashRepeated(NamedTuple):
    """The final number of messages of a crashed process that listeners received again."""

    group: str
    client_id: str  # the crashed client
    count: int  # type: ignore[assignment]  # the catalogue's name; tuple.count is not used here
    messages: QueueRuns


@said("warn", "flow", "{who} pauses pulls of {queue}: {limit} {value}, {allowed} allowed", "warn")
@said("move", "flow", "{who} resumes pulls of {queue}", when="limit=null")
class FlowControlChanged(NamedTuple):
    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    limit: str | None  # count, size, span
    value: Long
    allowed: Long


@said("warn", "pinned", "{queue} pinned at {offset} by {key}", "warn")
class MessagePinned(NamedTuple):
    """The oldest unfinished message of a queue is older than 15 s.  One event per message."""

    group: str
    topic: str
    broker: str
    queue_id: int
    offset: Long
    key: str
    age_ms: int


@flow
class MessageRetried(NamedTuple):
    group: str
    topic: str
    broker: str
    queue_id: int
    offset: Long
    delay_level: int
    reconsume_times: int
    why: str  # result, timeout
    target: str  # broker, local


@said(
    "bad",
    "dead letter",
    Plural(
        "reconsume_times",
        "{queue} {offset} after {reconsume_times} try",
        "{queue} {offset} after {reconsume_times} tries",
    ),
    "bad",
)
class MessageDeadLettered(NamedTuple):
    group: str
    topic: str
    broker: str
    queue_id: int
    offset: Long
    reconsume_times: int


@said("move", "once", "{who} consumed {queue} {offset} again in {took_ms}: {result}", when="remark=null")
@said("warn", "once", "{queue} {offset} consumed again: {result}, {remark}", "warn")
class MessageConsumedOnce(NamedTuple):
    """A member consumed one message on request (309): without a commit and without a retry."""

    group: str
    client_id: str
    topic: str
    broker: str
    queue_id: int
    offset: Long
    result: str  # CR_SUCCESS, CR_LATER, …; a response code's name, or NO_ANSWER without a listener's answer
    took_ms: int
    remark: str | None


@flow
class DelayedMessageDue(NamedTuple):
    delay_level: int
    delay_offset: Long
    topic: str
    broker: str
    queue_id: int


@said("quiet", "prepared", "{producer_group} prepared {transaction_id}")
class TransactionPrepared(NamedTuple):
    """A half message was stored; `half_offset` is its offset in the half queue."""

    producer_group: str
    transaction_id: str  # the client's UNIQ_KEY
    half_offset: Long


@said("move", "checked", "check {checks} of {transaction_id} sent to {who}")
@said(
    "warn",
    "checked",
    "check {checks} of {transaction_id}: no reachable producer in {producer_group}",
    when="client_id=null",
)
class TransactionChecked(NamedTuple):
    """The broker requested the state of a transaction from a producer and stored the half message at a new offset."""

    producer_group: str
    transaction_id: str
    checks: int
    client_id: str | None  # null: no member of the group was connected


@said("ok", "committed", "{transaction_id} of {producer_group} committed", when="outcome=commit")
@said("move", "rolled back", "{transaction_id} of {producer_group} rolled back", when="outcome=rollback")
@said(
    "bad",
    "discarded",
    Plural(
        "checks",
        "{transaction_id} of {producer_group} discarded after {checks} check",
        "{transaction_id} of {producer_group} discarded after {checks} checks",
    ),
    "bad",
    when="outcome=discarded",
)
class TransactionEnded(NamedTuple):
    producer_group: str
    transaction_id: str
    half_offset: Long
    outcome: str  # commit, rollback, discarded
    by: str  # producer, check
    checks: int
