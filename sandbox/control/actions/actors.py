"""Actions on in-process producers and consumers: add, change, stop, crash."""

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from sandbox.control.actions.action import Action
from sandbox.control.fields import Between, Body, Count, Millis, Name, Offset
from sandbox.kernel.sentences import Plural

StrategyName = Literal["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "CONFIG", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY"]


class Subscription(NamedTuple):
    """Topic with a filter.  `expression`: tags joined by `||`, or for SQL92 a condition on message properties."""

    topic: str
    expression: str = "*"
    kind: Literal["TAG", "SQL92"] = "TAG"


class RowToSend(NamedTuple):
    """Message of `SendMessages(rows=…)`; `body` is text."""

    key: Name = ""
    tag: Name = ""
    body: Body = ""
    born_ms: Offset | None = None


FromWhere = Literal[
    "CONSUME_FROM_LAST_OFFSET",
    "CONSUME_FROM_FIRST_OFFSET",
    "CONSUME_FROM_TIMESTAMP",
    # deprecated: refused with the value RocketMQ uses instead
    "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST",
    "CONSUME_FROM_MIN_OFFSET",
    "CONSUME_FROM_MAX_OFFSET",
]


@dataclass(frozen=True, kw_only=True)
class StartProducer(Action):
    """Start a producer that sends at `rate_per_s`, or the rows of `feed` at its pace times `speed`.

    A `transactional` producer sends half messages.  It leaves one in ten open until the broker checks it.
    """

    verb = "act"
    said = {"": "a producer of {topic} started", "actor": "producer {actor} of {topic} started"}
    topic: Name
    actor: Name | None = None
    rate_per_s: Annotated[float, Between(0, 2_000)] = 5.0
    key: Name = "order-{n}"
    keys: tuple[str, ...] = ()
    tag: Name = ""
    body_bytes: Annotated[int, Between(1, 4 * 1024 * 1024)] = 200
    selector: Literal["round_robin", "hash", "queue", "avoid_faulty"] = "round_robin"
    queue: Name | None = None  # for selector queue: a row such as broker-a:3
    transactional: bool = False
    feed: Literal["flights"] | None = None
    speed: Annotated[float, Between(0, 100_000)] = 600.0


@dataclass(frozen=True, kw_only=True)
class StartConsumer(Action):
    """Start one or more members of a group.  `work_ms`: minimum and maximum processing time of the listener.

    Without `subscriptions` they take over the settings of the group's newest member, except the fields of the action.
    `client_id_of` starts a separate process with the client id of that member, as a copied container has it.
    """

    verb = "act"
    said = {
        "": Plural("copies", "{copies} consumer of {group} started", "{copies} consumers of {group} started"),
        "actor": "consumer {actor} of {group} started",
    }
    group: Name
    subscriptions: tuple[Subscription, ...] = ()
    actor: Name | None = None
    copies: Annotated[int, Between(1, 24)] = 1
    kind: Literal["push", "pull", "lite_pull"] = "push"
    model: Literal["CLUSTERING", "BROADCASTING"] = "CLUSTERING"
    listener: Literal["concurrent", "orderly"] = "concurrent"
    strategy: StrategyName = "AVG"
    from_where: FromWhere = "CONSUME_FROM_LAST_OFFSET"
    timestamp: Offset | None = None
    threads: Annotated[int, Between(1, 1_000)] = 20
    batch: Annotated[int, Between(1, 1_024)] = 1
    offset_store: Literal["default", "memory"] = "default"
    instance: Name | None = None  # share the client of this actor
    client_id_of: Name | None = None
    room: Name | None = None
    work_ms: tuple[Millis, ...] = (50, 200)
    fail_percent: Annotated[float, Between(0, 100)] = 0.0


@dataclass(frozen=True, kw_only=True)
class ChangeActor(Action):
    """Change the fields that have a value; the others stay.

    `slow_key` with `slow_ms` makes one key slow; an empty key ends that.  `slow_queue` (broker-a:3) with `slow_ms`
    makes the member's next message of that queue slow.  A new `expression` has the kind of the old one.

    A transactional producer rolls back `fail_percent` of its messages.  Its `handler` "undecided" leaves all open until
    the broker checks them; "silent" does not respond to the check either.
    """

    verb = "act"
    said = {
        "": "processing of {actor} changed",
        "slow_key": "{actor} takes {slow_ms} for {slow_key}",
        "slow_queue": "{actor} takes {slow_ms} for the next message of {slow_queue}",
        "rate_per_s": "{actor} sends {rate_per_s} messages per second",
        "handler": "the handler of {actor} is now {handler}",
        "expression": "{actor} subscribes with {expression}",
    }
    actor: Name
    rate_per_s: Annotated[float, Between(0, 2_000)] | None = None
    speed: Annotated[float, Between(0, 100_000)] | None = None
    work_ms: tuple[Millis, ...] | None = None
    slow_key: str | None = None
    slow_queue: Name | None = None
    slow_ms: Millis | None = None
    fail_percent: Annotated[float, Between(0, 100)] | None = None
    handler: Name | None = None
    expression: Name | None = None


@dataclass(frozen=True, kw_only=True)
class StopActor(Action):
    """Stop an actor cleanly: interrupt listeners, commit, unlock, unregister."""

    verb = "act"
    said = "{actor} stopped cleanly"
    actor: Name


@dataclass(frozen=True, kw_only=True)
class CrashActor(Action):
    """Kill the actor's process: nothing is committed, unlocked or unregistered."""

    verb = "act"
    said = "{actor} crashed"
    actor: Name


@dataclass(frozen=True, kw_only=True)
class RestartActor(Action):
    """Start an actor again as a new process, with the same label and a new client id."""

    verb = "act"
    said = "{actor} restarted"
    actor: Name


@dataclass(frozen=True, kw_only=True)
class RemoveActor(Action):
    """Remove an actor; if it runs, stop it first."""

    verb = "act"
    said = "{actor} removed"
    actor: Name


@dataclass(frozen=True, kw_only=True)
class HangActor(Action):
    """Hang the process: it sends no heartbeats, pulls and lock renewals; its connections stay open."""

    verb = "act"
    said = "{actor} hung"
    actor: Name


@dataclass(frozen=True, kw_only=True)
class ResumeActor(Action):
    """Resume a hung process."""

    verb = "act"
    said = "{actor} resumed"
    actor: Name


@dataclass(frozen=True, kw_only=True)
class SendMessages(Action):
    """Send `count` generated messages (at `rate_per_s`, or at once), or `rows`."""

    verb = "act"
    said = {
        "": Plural("rows", "{rows} message sent to {topic}", "{rows} messages sent to {topic}"),
        "count": Plural("count", "{count} message sent to {topic}", "{count} messages sent to {topic}"),
    }
    topic: Name
    queue: Name | None = None  # a row such as broker-a:3
    delay_level: Annotated[int, Between(0, 18)] = 0
    batch: bool = False
    count: Count | None = None
    rate_per_s: Annotated[float, Between(0, 2_000)] | None = None
    key: Name = "burst-{n}"
    tag: Name = ""
    body: Body | None = None
    body_bytes: Annotated[int, Between(1, 4 * 1024 * 1024)] = 200
    selector: Literal["round_robin", "hash"] = "round_robin"
    rows: tuple[RowToSend, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SetStrategy(Action):
    """Set the allocation strategy of all members of a group, from their next rebalance on.

    `rooms`: `east` is a room whose queues are consumed, `east@broker-a` assigns a broker to a room.
    `queues_by_member` is for CONFIG: label → rows such as broker-a:3 or keys such as orders/broker-a/3.
    """

    verb = "act"
    said = "{group} assigns its queues by {strategy}"
    group: Name
    strategy: StrategyName
    virtual_nodes: Annotated[int, Between(1, 1_000)] = 10
    rooms: tuple[str, ...] = ()
    queues_by_member: dict[str, object] | None = None
