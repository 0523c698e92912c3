"""Events of brokers, name servers, clients' connections and their exchanges."""

from typing import Any, NamedTuple

from sandbox.journal.events.shapes import Labels, Long


class BrokerStarted(NamedTuple):
    broker: str
    broker_id: int
    address: str
    role: str


class BrokerStopped(NamedTuple):
    broker: str
    broker_id: int
    how: str  # clean, killed, power_cut


class RecoveryDone(NamedTuple):
    broker: str
    broker_id: int
    kind: str  # normal, abnormal
    from_offset: Long
    truncated_bytes: Long
    messages: int
    steps: Labels


class NameServerStarted(NamedTuple):
    name_server: str


class NameServerStopped(NamedTuple):
    name_server: str


class BrokerRegistered(NamedTuple):
    """flow"""

    name_server: str
    broker: str
    broker_id: int
    changed: bool


class RouteChanged(NamedTuple):
    name_server: str
    broker: str
    why: str  # registered, expired, closed, unregistered, permission
    topics: Labels


class RouteLearned(NamedTuple):
    client_id: str
    name_server: str
    topic: str


class LinkChanged(NamedTuple):
    a: str
    b: str
    state: str  # cut, healed, delayed
    one_way: bool
    delay_ms: int


class TopicChanged(NamedTuple):
    topic: str
    broker: str
    read_queues: int
    write_queues: int
    permission: int
    how: str  # cluster, broker, automatic, retry, dead_letter, deleted


class GroupChanged(NamedTuple):
    group: str
    broker: str
    changes: dict[str, Any]


class BrokerConfigChanged(NamedTuple):
    broker: str
    broker_id: int
    changes: dict[str, Any]


class ClientConnected(NamedTuple):
    client_id: str
    address: str
    transport: str  # loopback, tcp
    language: str
    version: int


class ClientDisconnected(NamedTuple):
    client_id: str
    address: str
    transport: str
    language: str
    version: int
    reason: str  # closed, expired, cut, protocol


class ConnectionRefused(NamedTuple):
    address: str
    reason: str
    request_code: int | None
    remark: str
