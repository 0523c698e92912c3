"""Rows of the Rebalance page: assigned and held queues of a group by member, and the moves.

Catalogue 10: `rebalance/<slug>/<group>`.  None: not known.  External clients have the facts of the brokers' tables:
that they are members, since when, and the queues they pulled last; their own assignment is unknown.  A section
without facts is empty.  Queues are named `orders/broker-a/3`; `{broker: n}` means its queues 0 … n−1.  Times
(`…_ms`) are of the sandbox's clock.
"""

from typing import NotRequired, TypedDict

from sandbox.queries.rows.board import LockRow
from sandbox.queries.rows.waits import Wait


class RebalanceGroup(TypedDict):
    """The group and its strategies."""

    group: str
    model: str | None  # CLUSTERING, BROADCASTING
    orderly: bool | None  # members lock queues
    strategy: str | None  # its name on the wire; broadcasting groups have none
    strategies: dict[str, str]  # client id → name, of members that report it
    apart: list[str]  # strategy, subscription: those in which members differ; messages are then lost


class RebalanceLives(TypedDict):
    """The periods in which members rebalance and request routes, in ms."""

    rebalance_ms: int
    route_ms: int


class RebalanceBroker(TypedDict):
    """The members that one master reports."""

    state: str
    members: list[str] | None  # client ids, sorted as clients sort; None: it is down


class RebalanceTopic(TypedDict):
    """One topic that the group reads."""

    queues: dict[str, int] | None  # {broker: n} as brokers have them now
    retry: bool  # the group's retry topic


class MemberCard(TypedDict):
    """The fields of a `MemberRow` that the page shows."""

    actor: str | None
    letter: str
    colour: int
    state: str
    transport: str
    kind: str | None
    language: str
    release: str | None
    since_ms: int | None
    expires_at_ms: int | None


class MemberMind(TypedDict):
    """The state that only the member's own process has."""

    strategy: str | None  # broadcasting members have none
    subscription: dict[str, str] | None  # topic → expression
    due_ms: int | None  # it divides queues again
    route_due_ms: int | None  # it asks for routes again
    rounds: int | None  # how often it has divided


class RebalanceMember(MemberCard, MemberMind):
    """One member."""

    known_to: list[str]  # masters


class MissedRound(TypedDict):
    """A rebalance round without a result."""

    missed_ms: int | None  # None: the last one did not
    missed_why: str | None  # None: no one reported the members, or the route


class Division(MissedRound):
    """The last rebalance round that assigned queues."""

    members: list[str] | None  # client ids, as the member heard
    queues: dict[str, int] | None  # {broker: n} as its route said then
    mine: list[str] | None  # the queues it computed for itself
    asked_ms: int | None
    trigger: str | None  # timer, notified, started, resumed, reset
    index: int | None  # its index in `members`; None: it is not in the list
    agrees: bool | None  # it divides the same lists that brokers have now


class Belief(Division):
    """One member's assignment of one topic."""

    client_id: str
    topic: str
    route: dict[str, int] | None  # {broker: n} as its route says now


class HeldBy(TypedDict):
    """A member with a process queue; an external client is listed if it pulled the queue last."""

    since_ms: int | None
    letting_go: bool | None


class RebalanceQueue(TypedDict):
    """One queue that brokers have or that a member still claims or holds."""

    topic: str
    broker: str
    queue_id: int
    claims: dict[str, int | None]  # client id → since, ms: members that computed it as theirs
    held: dict[str, HeldBy]  # by client id
    due: list[str]  # client ids: its members after every member has rebalanced with the brokers' present tables
    lock: LockRow | None  # None: no one holds one
    trouble: str | None  # twice (two claim or hold it), "nobody", lingers (held unclaimed), waits; None: no trouble
    since_ms: int | None  # of the trouble


class RebalanceWait(Wait):
    """A queue that a member claims and cannot acquire yet."""

    client_id: str


class Happening(TypedDict):
    """An event after which members rebalance."""

    seq: str
    at_ms: int
    what: str  # joined, left, topics, running, strategy, route, topic
    who: str | None  # client id, person, name server
    why: str | None  # how a member left; the broker; the strategy
    topic_changed_ms: NotRequired[int | None]  # of `route`: when the topic changed


class RoundRow(TypedDict):
    """One rebalance round that changed the assignment."""

    seq: str
    at_ms: int
    client_id: str
    topic: str
    trigger: str
    strategy: str | None
    members: int
    queues: int
    added: list[str]
    dropped: list[str]
    because: Happening | None
    behind_ms: int | None  # time since the event in `because`


MoveRow = TypedDict(
    "MoveRow",
    {
        "seq": str,
        "queue": str,
        "from": str | None,  # client id; None: no one had it
        "to": str,  # client id
        "left_ms": int | None,  # None: `from` has it still; later than `taken_ms`: both had it for a while
        "left_why": str | None,  # a reason of QueueDropped, or crashed
        "taken_ms": int,
        "start_offset": str,
        "because": Happening | None,
        "round": str | None,  # seq
    },
)
"""One queue that changed hands."""


class Rebalance(TypedDict):
    """The Rebalance page of one group."""

    group: RebalanceGroup
    lives: RebalanceLives
    brokers: dict[str, RebalanceBroker]  # masters by name
    topics: dict[str, RebalanceTopic]
    members: dict[str, RebalanceMember]  # by client id
    beliefs: dict[str, Belief]  # by `<client id>|<topic>`
    queues: dict[str, RebalanceQueue]
    waits: dict[str, RebalanceWait]  # by `<client id>|<queue>`
    rounds: dict[str, RoundRow]  # by seq, the last 48
    moves: dict[str, MoveRow]  # by seq, the last 40
    labels: NotRequired[dict[str, str]]  # client id → label of former members in rounds and moves
