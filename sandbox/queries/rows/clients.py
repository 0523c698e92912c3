"""Rows of a client's page: one process, its start and stop, timers, requests and queues (channel `client/…`).

Offsets are text.  Times (`…_ms`) are of the sandbox's clock.  None: not known, unless the field has another meaning.
For a dead process the rows have the facts of the journal.
"""

from typing import NotRequired, TypedDict

from sandbox.queries.rows.board import OldestMessage
from sandbox.queries.rows.storage import WrittenOffset
from sandbox.queries.rows.waits import Wait


class ClientIdentity(TypedDict):
    """The identity and state of the client of a page."""

    client_id: str | None  # None: it never started
    actor: str | None  # label; None: it has no actor
    kind: str  # consumer, producer, wire, former (an earlier process of an actor)
    state: str
    state_since_ms: int | None
    began_ms: int | None  # time of its first fact in the journal
    lives: bool
    now_client_id: str | None  # of a former process: its actor's present client id, or None
    reason: str | None  # why its last start failed; None: it did not
    group: str | None
    colour: int | None
    transport: str  # loopback, tcp
    language: str | None
    version: int | None
    heard_ms: int | None  # a broker's last heartbeat of it
    since_ms: int | None  # start of its process; wire: its first heartbeat


class ClientSettings(TypedDict):
    """The settings a client started with; if an actor has no process, those of its next one."""

    name_server: str | None  # which it keeps to
    hosts: list[str]  # groups in this process
    address: str | None  # ip:port of an external client; None: an in-process client, too
    pulls: NotRequired[str]  # push, pull, lite; this and the following of consumers
    model: NotRequired[str]
    listener: NotRequired[str]
    from_where: NotRequired[str]
    strategy: NotRequired[str]
    threads: NotRequired[int]
    batch: NotRequired[int]
    offset_store: NotRequired[str]
    busy: NotRequired[int | None]  # threads at work


class ClientRow(ClientIdentity, ClientSettings):
    connections: list[str]  # nodes it is connected with
    expires_at_ms: int | None  # brokers forget it then, if it stays silent; None: it is in no group, too


class StepRow(TypedDict):
    """One step of a start or stop."""

    group: str
    phase: str  # start, stop
    step: int
    name: str
    began_ms: int
    took_ms: int


class StateRow(TypedDict):
    at_ms: int
    state: str
    group: str


class MarkRow(TypedDict):
    """A fact of the journal about the client."""

    seq: str
    at_ms: int
    what: str  # route, assigned, taken, dropped, denied
    topic: NotRequired[str]
    trigger: NotRequired[str]
    count: NotRequired[int]  # queues
    queue: NotRequired[str]  # `orders/broker-a/3`
    offset: NotRequired[str]
    trace: NotRequired[list[str]]  # how the start offset was found (docs/spec/catalogue.md 2)
    reason: NotRequired[str]
    holder: NotRequired[str]  # client id
    left_ms: NotRequired[int]  # of the holder's lock


class TimerLine(TypedDict):
    """A row of the timer table (spec client-behaviour 2.2)."""

    due_ms: int | None
    first_ms: int
    period_ms: int
    runs: int | None  # how often it has begun
    how: str  # runs, empty, off, each (a timer per request)


class PendingRequest(TypedDict):
    """A request without a response."""

    code: int
    name: str | None
    address: str
    to: str  # node
    since_ms: int
    timeout_ms: int
    until_ms: int


class ClientQueuePlace(TypedDict):
    topic: str
    broker: str
    queue_id: int
    committed: str | None
    max: str | None


class ClientQueueHeld(TypedDict):
    """The process's own state of a queue; a wire client does not report it."""

    in_memory: str | None  # offset it would commit now
    next_pull: str
    cached: int  # messages no listener has
    taken: int  # messages listeners have
    bytes: int
    span: int  # offsets between the oldest and the newest
    runs: list[list[str]]  # unfinished offsets, each run with both ends
    runs_more: int  # runs left out
    processing: int
    done_ahead: int  # messages finished before an older one
    oldest: OldestMessage | None  # None: no listener has begun with one
    locked: bool | None  # None: it is not orderly
    trusted_until_ms: int | None  # None: it is not orderly, or not locked
    flow_control: str | None  # count, size, span; None: nothing holds it back
    pause: str  # the reason why its pulls pause; "": they do not
    last_pull_ms: int
    last_consume_ms: int
    taken_at_ms: int
    dropped: bool


class ClientQueueRow(ClientQueuePlace, ClientQueueHeld):
    """One queue that the client holds."""


ClientQueue = ClientQueueRow | ClientQueuePlace
"""Of a wire client: a queue that it pulled last."""


class SubscribedTopic(TypedDict):
    expression: str
    type: str  # TAG, SQL92
    tags: list[str]
    codes: list[int]  # hashes of the tags
    version: str


class ProducerTopic(TypedDict):
    queues: list[str]  # `broker-a:3`, the first 64
    count: int
    next: str | None  # the queue of the next message; None: it has none


class BrokerFault(TypedDict):
    """A producer's latency record of a broker."""

    latency_ms: int  # of the last send
    until_ms: int  # not chosen until then
    avoided: bool


class ProducerCounts(TypedDict):
    selector: str  # round_robin, hash, queue, avoid_faulty
    topic: str | None  # None: it sends to many
    per_s: float | None  # messages it means to send; None: when it is asked to
    sent: int
    failed: int


class ProducerProcess(TypedDict):
    """The state of a producer's process."""

    turn: str
    topics: dict[str, ProducerTopic]
    answers: dict[str, int]  # attempts by their result
    retried: int
    retry_times: int
    avoid_faulty: bool
    brokers: dict[str, BrokerFault]
    compress_over_bytes: int
    max_message_bytes: int
    send_timeout_ms: int


class ProducerRow(ProducerCounts, ProducerProcess):
    """A producer: its queue selection, and the results of its sends."""


ProducerOfClient = ProducerRow | ProducerCounts
"""Without a process only the counts."""


class Client(TypedDict):
    client: ClientRow
    steps: dict[str, StepRow]  # by `group/phase/step`
    states: list[StateRow]
    marks: dict[str, MarkRow]  # by seq
    unfinished: dict[str, list[list[str]]]  # of a dead process: queue → runs of offsets it had not finished
    waits: dict[str, Wait]
    timers: dict[str, TimerLine]
    pending: dict[str, PendingRequest]  # by opaque, the oldest first
    pending_more: int  # requests left out
    queues: dict[str, ClientQueue]  # by `topic/broker/id`
    offsets: dict[str, WrittenOffset] | None  # None: its broker keeps them
    subscriptions: dict[str, SubscribedTopic]  # by topic
    producer: ProducerOfClient | None  # None: it sends nothing
