"""Rows of the Connect page: clients on real connections, their progress, refusals (channel `connect/<slug>`).

Times (`…_ms`) are of the sandbox's clock.
"""

from typing import NotRequired, TypedDict


class ListenerRow(TypedDict):
    """The listener for real clients: if it is open, and its addresses."""

    open: bool
    state: str  # open, closed
    name_servers: list[str]  # ip:port, for the client's configuration
    shared: bool  # all nodes of the sandbox are behind one port
    beyond: NotRequired[bool]  # other machines reach it
    access_key: NotRequired[str | None]  # access key of clients; None: requests need no signature
    repeatable: NotRequired[bool]  # opening the port leads it to the machine's time
    rate: NotRequired[float]  # of the clock
    connections: int


class PortRow(TypedDict):
    node: str | None  # the node that listens there
    state: str  # open, closed
    trouble: str | None  # in the words of the operating system; None: nothing is wrong


class ConnectionRow(TypedDict):
    """One connection, open or ended.

    `route`, `heartbeat`, `send`, `pull`: time of the first such request; None without one.
    """

    no: int
    node: str | None
    address: str  # ip:port of the client
    client_id: str | None  # None: it has not said its name
    opened_ms: int
    heard_ms: int
    first_code: int | None
    first: str | None  # name of its first request
    first_ms: int | None
    route: int | None
    heartbeat: int | None
    send: int | None
    pull: int | None
    denied: int  # requests access control refused
    denial: str | None  # unsigned, unknown_key, signature, permission; None: none was refused
    unserved: list[str]  # code and name of requests no one here answers
    ended_ms: int | None  # None: it is open
    why: str | None  # how it ended


class ConnectedClient(TypedDict):
    """A client that has sent its client id, with all its connections."""

    language: str | None
    version: int | None
    release: str | None
    groups: list[str]
    addresses: list[str]
    since_ms: int
    heard_ms: int


class RefusedRow(TypedDict):
    """A connection or request that was refused."""

    at_ms: int
    address: str
    reason: str  # of ConnectionRefused
    request_code: int | None
    request: str | None
    remark: str


class LimitCount(TypedDict):
    now: int | None  # used; None: not counted
    allowed: int | None  # None: it is no number
    refused: int


class Connect(TypedDict):
    listener: ListenerRow
    ports: dict[str, PortRow]  # by ip:port
    connections: dict[str, ConnectionRow]  # by number: those that are open and the last that ended
    clients: dict[str, ConnectedClient]  # by client id
    refused: dict[str, RefusedRow]  # by number
    counts: dict[str, LimitCount]  # by limit
