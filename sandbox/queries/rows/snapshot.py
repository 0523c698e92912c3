"""Rows of a whole sandbox or real cluster in one value: first paint, JSON API, keyframes (catalogue 9).

Offsets are text.  Times (`…_ms`) are of the sandbox's clock, for a real cluster of QueueViz's own.  None: not known,
unless the field has another meaning.  A `NotRequired` field exists only for a sandbox or only for a real cluster.
"""

from typing import NotRequired, Required, TypedDict

from sandbox.queries.rows.board import CachedMessages, DownMark, Lock, LockRow, OldestMessage, QueueEnds
from sandbox.queries.rows.member_words import SubscriptionRow


class NoticeRow(TypedDict):
    """A notice to the owner of a sandbox."""

    pattern: str  # English; a translation is filled with `values`
    values: dict[str, object]
    dismissible: bool
    text: NotRequired[str]  # in the reader's language: pages add it


class TroubleRow(TypedDict):
    """A problem of a real cluster."""

    pattern: str
    values: dict[str, object]


class SandboxRow(TypedDict, total=False):
    """The sandbox itself, or the real cluster."""

    slug: Required[str]
    name: str
    template: str | None  # None: of a sandbox whose files cannot be read
    preset: str | None  # None: likewise, or a real cluster
    state: Required[str]  # asleep, waking, live, failed; real cluster: live, unreachable
    expires_at: str | None  # ISO 8601; None: kept for good
    trouble: str | None  # why it has stopped, in English; None: it does not
    trouble_why: str | None  # the operating system's words for it
    notices: list[NoticeRow]
    client_rebalance_interval_ms: int
    failed: str | None  # of one that sleeps: why it could not be opened; None: it can
    killed: bool  # of one that sleeps: its server was killed, so its last state is unknown
    history_until: str  # of one that began with a history: its last event
    lab: str  # the slug of the lab that was begun last
    seen_ms: int | None  # real cluster: when a node answered last
    troubles: list[TroubleRow]


class BrokerHeard(TypedDict):
    """One broker in the tables of a name server."""

    broker: str
    broker_id: int  # 0: master
    last_update_ms: int | None  # its last registration


class NameServerRow(TypedDict):
    """One name server, with the brokers in its tables."""

    name: str
    state: str  # running, stopped, killed, hung; real cluster: unreachable, unknown
    brokers: list[BrokerHeard]
    address: NotRequired[str]  # ip:port
    answered_ms: NotRequired[int | None]  # its last answer
    trouble: NotRequired[str | None]


class LogRow(TypedDict):
    """The begin and end of a broker's log, in bytes, as text."""

    min: str | None
    max: str | None
    flushed: str | None
    replicated: str | None  # None: of a slave, or a master without slaves
    file_bytes: str | None


class DamagedTable(TypedDict):
    """A damaged config file with which a broker does not start."""

    table: str  # consumerOffset
    file: str  # config/consumerOffset.json: the first damaged file
    why: str  # missing, empty, nul_bytes, not_json, not_a_table, not_readable


class BrokerRow(TypedDict):
    """One broker process."""

    broker: str
    broker_id: int  # 0: master
    role: str  # master, slave
    state: str  # running, stopped, killed, hung, power_cut, damaged; real cluster: unreachable, unknown
    address: str  # ip:port
    listening: bool | None  # clients from outside reach it there
    flush: str | None  # ASYNC_FLUSH, SYNC_FLUSH
    replication: str | None  # ASYNC_MASTER, SYNC_MASTER; None: of a slave, too
    property_filter: bool | None  # SQL92 expressions are taken
    disk: str | None  # ok, full, failing; None: it is down
    skew_ms: int | None  # of its clock
    log: LogRow | None  # None: it is down
    damaged: NotRequired[list[DamagedTable]]  # where its state is damaged
    answered_ms: NotRequired[int | None]  # its last answer
    version: NotRequired[str | None]  # `4.9.7`
    used_percent: NotRequired[int | None]  # of its disk
    in_per_s: NotRequired[float | None]  # messages stored
    out_per_s: NotRequired[float | None]  # messages handed out
    trouble: NotRequired[str | None]


class LinkRow(TypedDict):
    """One link that an action cut or delayed."""

    a: str  # node
    b: str
    state: str  # cut, delayed
    one_way: bool  # from `a` to `b` only
    delay_ms: int  # 0: not delayed


class TopicQueueRow(QueueEnds):
    """One queue of a topic."""

    broker: str
    queue_id: int
    known_at_ms: int | None  # its master is down and knew this then; None: it is of now


class TopicRow(TypedDict):
    """One topic over all brokers; queue counts and permission are those of the first broker that has it."""

    topic: str
    kind: str  # normal, retry, dead_letter, delay
    permission: int  # bits: 4 read, 2 write
    read_queues: int
    write_queues: int
    queues: list[TopicQueueRow]
    asked_at: NotRequired[int | None]  # ms, when a real cluster's brokers were asked for the ends


class ProducerRow(TypedDict):
    """One producer; of an external one, the facts of the brokers' tables."""

    client_id: str | None  # None: it never started
    actor: str | None  # label; None: external client
    state: str
    transport: str  # loopback, tcp
    topic: str | None
    rate_per_s: float | None  # messages it means to send
    sent: int | None  # messages
    failed: int | None
    unavailable: dict[str, int]  # broker → ms, not chosen until then
    language: NotRequired[str]
    version: NotRequired[int]


class GroupMemberRow(TypedDict):
    """One member, as `MemberRow` has it."""

    client_id: str  # of an actor that never started, its label
    actor: str | None
    kind: str | None
    state: str
    transport: str
    language: str
    version: int | None
    queues: int | None
    buffered: int | None
    buffered_bytes: int | None
    fullest: int | None
    span: int | None
    busy: int | None
    threads: int | None
    since_ms: int | None
    timers: dict[str, int]
    release: NotRequired[str | None]
    address: NotRequired[str]
    subscriptions: NotRequired[list[SubscriptionRow] | None]  # this and the following: as `MemberWords` has them
    model: NotRequired[str | None]
    listener: NotRequired[str | None]
    dropped: NotRequired[int | None]
    passed_over: NotRequired[int | None]
    same_id: NotRequired[int]  # as `MemberRow` has it


class GroupQueueRow(TypedDict):
    """One queue of a group, as `QueueRow` has it."""

    topic: str
    broker: str
    queue_id: int
    committed: str | None
    from_zero: NotRequired[bool]  # since November 2026; without it a queue with no offset is not known
    in_memory: str | None
    next_pull: str | None
    owner: str | None
    lock: Lock | LockRow | None  # a real cluster's with its renewals
    oldest: OldestMessage | None
    flow_control: str | None
    held_until_ms: int | None
    cause: str | None
    down: DownMark | None
    cells_from: NotRequired[str | None]
    cached: NotRequired[CachedMessages | None]


class GroupCounts(TypedDict):
    """Message counts of a group since the sandbox began."""

    delivered_again: int | None  # listeners have been given them more than once
    retrying: int | None  # in the retry topic, not consumed yet
    dead_letters: int | None  # in the dead-letter topic


class GroupRow(TypedDict):
    """One consumer group."""

    group: str
    model: str | None  # CLUSTERING, BROADCASTING
    listener: str | None  # concurrent, orderly
    strategy: str | None  # its name on the wire
    subscription: list[SubscriptionRow]  # without its retry topic; the newest heartbeat's
    members: list[GroupMemberRow]
    queues: list[GroupQueueRow]
    counts: GroupCounts
    lag: NotRequired[str | None]  # messages of all its topics; None: not known
    queues_known: NotRequired[int]
    queues_all: NotRequired[int]
    lag_last_known: NotRequired[str | None]
    shared_ids: NotRequired[list[str]]  # client ids that several connections have
    members_differ: NotRequired[list[str]]  # settings in which members differ (`rows.member_words`)


class SnapshotLists(TypedDict, total=False):
    """Nodes, links, topics and clients."""

    name_servers: list[NameServerRow]
    brokers: list[BrokerRow]
    links: list[LinkRow]
    topics: list[TopicRow]
    producers: list[ProducerRow]
    groups: list[GroupRow]


class Snapshot(SnapshotLists, total=False):
    """The snapshot of a sandbox or real cluster.

    A sleeping sandbox has the values from the time when it fell asleep; if it never woke, `sandbox` alone.
    """

    sandbox: Required[SandboxRow]
    epoch: str  # changes when the journal does not go on from where it was
    seq: str  # of the newest event
    at_ms: int
    wall_ms: int  # of the clock of the sandbox's machines, which falls behind the server's where that is busy
    machine_ms: int  # of the server's clock; not in a keyframe of a run that can be repeated
    rate: float  # of the clock: seconds of the sandbox per second
    reached_rate: float | None  # rate that a busy machine reaches; None: the full rate
    rate_pinned: bool  # external clients keep the rate at 1
