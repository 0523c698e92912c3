"""Rows of the Board: one group on one topic, its queues and members (channel `board/<slug>/<group>/<topic>`).

Catalogue 9, 10.  Offsets and counts that may pass 2^53 are text.  Times (`…_ms`) are of the sandbox's clock.  None:
not known, unless the field has another meaning.  A `NotRequired` field exists only for a sandbox or only for a real
cluster.
"""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from sandbox.queries.rows.member_words import MemberWords


class Lock(TypedDict):
    """A queue's lock, in the form of a snapshot."""

    holder: str  # client id
    expires_at_ms: int  # at the broker
    trusted_until_ms: int | None  # by its holder; None: the holder does not trust it, or is external


class LockRow(Lock):
    """A queue's lock with its renewals."""

    granted_at_ms: int | None
    renew_at_ms: int | None  # None: its holder is an external client
    known_by: NotRequired[str]  # `holder`: a real cluster's brokers do not show their locks


class OldestMessage(TypedDict):
    """The oldest unfinished message that a listener has received."""

    offset: str
    key: str  # "": it has none
    since_ms: int  # its listener began


class DownMark(TypedDict):
    """The mark of a queue whose master is down."""

    known_at_ms: int  # time of the master's last report
    reads: str | None  # slave (members pull from it), slave_idle (it has the queue, no one has pulled yet), "nobody";
    # no_lock (an ordered group: only a master grants locks)
    lag: str | None  # messages, by that report; None: the group has no offset in the queue
    behind: str | None  # messages that the slave does not have; None: no slave, or not known


class MasterState(TypedDict):
    """The state of the queue's master."""

    down: DownMark | None  # None: it does


class QueueEnds(TypedDict):
    """The queue itself, independent of groups."""

    min: str | None  # offset of the oldest message
    max: str | None  # offset after the newest one
    rate_per_s: float | None  # messages stored


class QueuePosition(TypedDict):
    """The group's position in the queue."""

    committed: str | None  # offset; None: none is stored
    from_zero: bool  # none is stored, and the lag counts from offset 0, as mqadmin's (`rows.lag`)
    oldest_stored_ms: int | None  # store time of the oldest message that waits; None: none does, or not known


class CachedMessages(TypedDict):
    """The messages of a queue that a member of a real cluster reports to have cached."""

    count: int
    min: str  # the smallest offset
    max: str  # the largest


class Held(TypedDict):
    """The queue as the owner's process reports it; a wire client reports none of this."""

    in_memory: str | None  # offset it would commit now
    cells: str | None  # runs of done, processing, buffered messages: `3d4p5b`
    cells_from: str | None  # offset of the first cell; None: no cells
    oldest: OldestMessage | None  # None: no listener has begun with one
    flow_control: str | None  # the limit that stops its pulls: count, size, span; None: no limit reached


class QueuePulls(TypedDict):
    """The pulls of the queue."""

    next_pull: str | None  # offset
    held_until_ms: int | None  # the broker holds a pull until then; None: none is held


class AtBroker(MasterState, QueueEnds, QueuePosition, QueuePulls):
    """The part of a row that the queue's broker reports; if the broker is down, its last report."""

    owner: str | None  # client id of the member that holds its process queue; wire: pulled it last; None: no member
    lock: LockRow | None  # None: no one holds one
    cause: str | None  # seq of the last fact about the row; None: none yet


class QueueRow(AtBroker, Held):
    """One queue of one group; in broadcasting, of one member."""

    assigned: str | None  # client id of its member by the brokers' present tables; None: no member


class ReportedQueueRow(QueueRow):
    """One queue of one group of a real cluster."""

    cached: CachedMessages | None  # beside `cells`


class SlowKey(TypedDict):
    """A message key for which the listener is slow."""

    key: str | None  # None: every key
    queue: str | None  # None: every queue
    ms: int
    met: bool  # a message with it has come since it was named


class PullLimits(TypedDict):
    """The limits of a member's pulls, per queue."""

    count: int | None  # messages
    bytes: int | None
    span: int | None  # offsets between the oldest and the newest it holds


class MemberQueues(TypedDict):
    """The queues and messages that a member holds.  None: an external client that does not report it."""

    queues: int | None  # how many it holds; wire: pulled last
    buffered: int | None  # messages
    fullest: int | None  # messages of its fullest queue
    span: int | None  # offsets, of its widest queue


class MemberRow(MemberQueues, MemberWords):
    """One member of a group, as its card shows it."""

    actor: str | None  # label; None: external client
    kind: str | None  # push, pull, lite
    letter: str
    colour: int  # 0 … 5
    state: str  # starting, running, hung, stopping, stopped, crashed, refused
    transport: str  # loopback, tcp
    language: str
    version: int | None  # as its heartbeat has it
    release: NotRequired[str | None]  # `4.9.8`, of external clients
    address: NotRequired[str]  # ip:port, real cluster
    buffered_bytes: int | None
    fullest_bytes: int | None  # of its fullest queue
    busy: int | None  # threads at work
    threads: int | None
    since_ms: int | None  # start of its process; wire: its first heartbeat
    timers: dict[str, int]  # name → due_ms
    limits: PullLimits | None  # None: it pulls by hand, or does not report them
    work_ms: list[int] | None  # a listener's shortest and longest time for a message
    slow: SlowKey | None  # None: for no key
    same_id: int  # connections with its client id at one broker; of 2 and more each computes the same queues
    expires_at_ms: int | None  # brokers forget it then, if it stays silent
    reason: str | None  # why its start was refused; None: it was not


class ActorRow(MemberRow):
    """A member of a sandbox."""

    state_since_ms: int | None


class KnownQueues(TypedDict):
    """The number of a group's queues whose end and committed offset are known now."""

    queues_known: int
    queues_all: int
    lag_last_known: str | None  # messages of queues whose masters are down, by their last report


class NewMember(TypedDict):
    """The settings of a further member of the group: those of the newest one, running or not."""

    kind: str  # push, pull, lite_pull
    model: str
    listener: str
    strategy: str
    from_where: str
    threads: int
    batch: int
    work_ms: list[int]
    offset_store: str


class BoardHeader(KnownQueues):
    """Figures of the whole board.  For a topic without a group, every figure of a group is None."""

    group: str | None
    topic: str
    model: str | None  # CLUSTERING, BROADCASTING
    listener: str | None  # concurrent, orderly
    strategy: str | None  # its name on the wire
    lag: str | None  # messages stored and not committed, with those in the retry topic; None: not known (`rows.lag`)
    retrying: str | None  # messages of them in the retry topic
    oldest_since_ms: int | None  # store time of the oldest message that waits; None: none does
    redelivered_on_crash: int | None  # messages listeners have been given that would come again
    redelivered_notes: list[str]  # slave: counted from a slave's offsets; unknown: without queues of a dead master
    in_per_s: float | None  # messages stored, of this topic
    out_per_s: float | None  # consumed, of all topics of the group
    delivered_per_s: float | None  # handed out, of all topics
    differs: bool  # more is handed out than consumed
    e2e_p50_ms: int | None  # from store to consumed
    e2e_p99_ms: int | None
    delivered_again: int | None  # messages listeners have been given more than once
    rate: float  # of the clock: seconds of the sandbox per second
    shared_ids: list[str]  # client ids that several connections have
    members_differ: list[str]  # settings in which running members differ (`rows.member_words`)
    next_actor: str | None  # label of the next actor to be started; None: a real cluster starts none
    like: NewMember | None  # None: the group never had an in-process member


class ReportedBoardHeader(BoardHeader):
    """Figures of the whole board of a real cluster."""

    asked_at: int | None  # ms, when its brokers were asked for the topic's ends


class Board(TypedDict):
    """The board: one group on one topic, all values of one turn."""

    header: BoardHeader | ReportedBoardHeader
    queues: Mapping[str, QueueRow | ReportedQueueRow]  # by `broker-a:3`; broadcasting: by `broker-a:3@<client id>`
    members: Mapping[str, ActorRow | MemberRow]  # by client id; of an actor that never started, by its label; of a
    # second connection with one client id by `<client id> <address>`
