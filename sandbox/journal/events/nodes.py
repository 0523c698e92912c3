"""Events of brokers, name servers, clients' connections and their exchanges."""

from typing import NamedTuple

from sandbox.journal.events.event import flow, said
from sandbox.journal.events.shapes import Labels, Long
from sandbox.kernel.sentences import Plural


@said("ok", "broker", "slave {broker_id} of {broker} started at {address}", when="role=SLAVE")
@said("ok", "broker", "{broker} started at {address}")
class BrokerStarted(NamedTuple):
    broker: str
    broker_id: int
    address: str
    role: str


@said("bad", "broker", "{broker} stopped: {how}", "bad", when="broker_id=0")
@said("bad", "broker", "slave {broker_id} of {broker} stopped: {how}", "bad")
class BrokerStopped(NamedTuple):
    broker: str
    broker_id: int
    how: str  # clean, killed, power_cut


@said(
    "ok",
    "recovery",
    Plural("messages", "{broker} recovered {messages} message", "{broker} recovered {messages} messages"),
)
class RecoveryDone(NamedTuple):
    broker: str
    broker_id: int
    kind: str  # normal, abnormal
    from_offset: Long
    truncated_bytes: Long
    messages: int
    steps: Labels


@said("ok", "name server", "{name_server} started")
class NameServerStarted(NamedTuple):
    name_server: str


@said("bad", "name server", "{name_server} stopped", "bad")
class NameServerStopped(NamedTuple):
    name_server: str


@flow
class BrokerRegistered(NamedTuple):
    name_server: str
    broker: str
    broker_id: int
    changed: bool


@said("move", "route", "{name_server}: {broker} {why}")
class RouteChanged(NamedTuple):
    name_server: str
    broker: str
    why: str  # registered, expired, closed, unregistered, permission
    topics: Labels


@said("quiet", "route", "{who} received the route of {topic}")
class RouteLearned(NamedTuple):
    client_id: str
    name_server: str
    topic: str


@said("warn", "link", "from {a} to {b} only: {state}", "warn", when="one_way=true")
@said("warn", "link", "{a} and {b}: {state}", "warn")
class LinkChanged(NamedTuple):
    a: str
    b: str
    state: str  # cut, healed, delayed
    one_way: bool
    delay_ms: int


@said("move", "topic", "{topic} on {broker}: write queues {write_queues}, read queues {read_queues}")
@said("move", "topic", "{topic} deleted on {broker}", when="how=deleted")
@said(
    "warn",
    "topic",
    "{topic} on {broker} was created again ({how}) with {write_queues} write queues and {read_queues} read "
    "queues; the lost topic had {lost_write_queues} and {lost_read_queues}",
    "warn",
    when="lost_write_queues",
)
class TopicChanged(NamedTuple):
    """A topic was created, changed or deleted at a broker.

    `lost_…`: the queues of a topic with this name that the broker lost at its start (`TopicReverted`), else null.
    """

    topic: str
    broker: str
    read_queues: int
    write_queues: int
    permission: int
    how: str  # cluster, broker, automatic, retry, dead_letter, deleted
    lost_read_queues: int | None = None
    lost_write_queues: int | None = None


@said(
    "bad",
    "lost",
    "{broker} lost topic {topic} ({how}); it had {was_write_queues} write queues and {was_read_queues} read queues",
    "bad",
    when="write_queues=null",
)
@said(
    "warn",
    "lost",
    "{broker} has topic {topic} again ({how}): the deletion of the topic was lost",
    "warn",
    when="was_write_queues=null",
)
@said(
    "bad",
    "lost",
    "{broker} lost a change of topic {topic} ({how}); the topic now has {write_queues} write queues and "
    "{read_queues} read queues",
    "bad",
)
class TopicReverted(NamedTuple):
    """A broker started with an older version of a topic, because a change had not been written to disk.

    `read_queues`, `write_queues` and `permission` are null if the topic is gone; `was_…` if it had been deleted.
    """

    topic: str
    broker: str
    how: str  # killed, power_cut, damaged
    read_queues: int | None
    write_queues: int | None
    permission: int | None
    was_read_queues: int | None
    was_write_queues: int | None
    was_permission: int | None
    ends: tuple[tuple[int, Long, Long], ...]  # queue id, min, max as the process before had them


@said(
    "bad",
    "lost",
    Plural(
        "changes",
        "{broker} lost {changes} setting of {group} ({how})",
        "{broker} lost {changes} settings of {group} ({how})",
    ),
    "bad",
)
class GroupReverted(NamedTuple):
    """A broker started with older settings of a group, because a change had not been written to disk.

    `changes`: name in RocketMQ's table, value before, value now.
    """

    group: str
    broker: str
    how: str  # killed, power_cut, damaged
    changes: tuple[tuple[str, str, str], ...]


@said("quiet", "group", "settings of {group} changed on {broker}")
class GroupChanged(NamedTuple):
    group: str
    broker: str
    changes: dict[str, object]


@said("move", "settings", "settings of {broker} changed")
class BrokerConfigChanged(NamedTuple):
    broker: str
    broker_id: int
    changes: dict[str, object]


@said("quiet", "connected", "{who} connected from {address}")
class ClientConnected(NamedTuple):
    client_id: str
    address: str
    transport: str  # loopback, tcp
    language: str
    version: int


@said("quiet", "left", "{who} disconnected: {reason}")
class ClientDisconnected(NamedTuple):
    client_id: str
    address: str
    transport: str
    language: str
    version: int
    reason: str  # closed, expired, cut, protocol


@said("bad", "refused", "{address} refused: {reason}", "warn")
class ConnectionRefused(NamedTuple):
    address: str
    reason: str
    request_code: int | None
    remark: str
