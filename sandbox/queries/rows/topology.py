"""Rows of the Topology page: nodes, links, and the tables of name servers (catalogue 10: `topology/<slug>`).

Nodes have the names that links have (`NodeNames`).  Offsets are text.  Times (`…_ms`) are of the sandbox's clock.
None: not known, unless the field has another meaning.  Values of a running process are None while it does not run.
"""

from typing import NotRequired, TypedDict

from sandbox.queries.rows.snapshot import DamagedTable


class Lives(TypedDict):
    """The periods and timeouts between name servers and brokers, in ms."""

    expiry_ms: int  # a silent broker is believed in for so long
    scan_ms: int  # period of a name server's scan for silent brokers
    register_ms: int  # a broker registers so often
    assumed: NotRequired[bool]  # RocketMQ's defaults: a real cluster does not say


class ServerNode(TypedDict):
    """One name server."""

    state: str
    address: str | None  # ip:port
    next_scan_ms: int | None
    topics: int | None  # in its tables


class BrokerOfTopology(TypedDict):
    """One broker process."""

    broker: str
    broker_id: int  # 0: master
    role: str  # master, slave
    state: str
    address: str  # ip:port
    flush: str | None
    replication: str | None
    skew_ms: int | None  # of its clock
    disk: str | None  # ok, full, failing
    used_percent: int | None  # of its disk
    min: str | None  # of its log
    max: str | None
    flushed: str | None
    replicated: str | None  # None: of a slave, too
    locks: int | None  # queues locked at it
    behind: str | None  # bytes a slave is behind its master
    replica: str | None  # how a slave follows; lost: its master does not know it; None: of a master, too
    damaged: NotRequired[list[DamagedTable]]  # where its state is damaged
    answered_ms: NotRequired[int | None]  # real cluster, as `BrokerRow` has them
    version: NotRequired[str | None]
    in_per_s: NotRequired[float | None]
    out_per_s: NotRequired[float | None]
    trouble: NotRequired[str | None]


class ClientMember(TypedDict):
    """One actor, or one group of an external client."""

    label: str
    kind: str  # consumer, producer
    group: str
    state: str


class ClientRounds(TypedDict):
    """The route requests and heartbeats of a process."""

    name_server: str | None  # which it keeps to
    route_runs: int | None
    route_due_ms: int | None
    heartbeat_runs: int | None
    heartbeat_due_ms: int | None


class ClientNode(ClientRounds):
    """One client process."""

    kind: str  # consumer, producer, wire
    state: str
    client_id: str | None  # None: it never started
    colour: int | None  # None: of a producer, or an external client
    members: list[ClientMember]


class View(TypedDict):
    """One broker in the tables of one running name server."""

    last_update_ms: int | None  # its last registration; None: it does not know the broker, or does not say
    known_as: str | None  # the node's name in its tables; None: it does not know it


class LinkState(TypedDict):
    """The state of a link and the changes made to it.  None: a real cluster does not report it."""

    a: str
    b: str
    kind: str  # data (client and broker), route (client and name server), register (broker and it), replica
    connections: int
    logs: int  # of its connections carry the log
    there_cut: bool | None  # from `a` to `b`
    there_ms: int | None  # delay, 0: none
    back_cut: bool | None
    back_ms: int | None


class Link(LinkState):
    """A link that has an open connection, or that an action changed."""

    heard_ms: int | None  # the broker's last heartbeat of that client; None: it is no such link, too


class Topology(TypedDict):
    """All nodes and their links."""

    lives: Lives
    name_servers: dict[str, ServerNode]
    brokers: dict[str, BrokerOfTopology]
    clients: dict[str, ClientNode]  # by process: actors that share one are in one row
    views: dict[str, View]  # by `ns-1~broker-a`; of a name server that is down there are none
    links: dict[str, Link]  # by `a~b`
