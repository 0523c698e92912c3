"""The topics of each broker, from the brokers' registrations."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import BrokerRefused
from sandbox.remoting.bodies import (
    BrokerData,
    ClusterInfo,
    DataVersion,
    QueueData,
    TopicConfig,
    TopicConfigTable,
    TopicRouteData,
)
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import ResponseCode
from sandbox.remoting.headers import RegisterBrokerHeader

MAX_ADDRESSES = 1_024  # of brokers; any client may register one
MAX_ROUTES = 200_000  # topics times brokers
MAX_NAME_LENGTH = 255
MASTER_ID = 0
PERM_WRITE = 2
READ_WRITE = 6


@dataclass(slots=True)
class BrokerLive:
    """One registered address, and the time of its last registration."""

    broker: str
    broker_id: int
    last_update_ms: int
    version: DataVersion
    channel: Channel
    ha_address: str


class Registration(NamedTuple):
    """The result of a registration, and the master's addresses for a slave."""

    topics: tuple[str, ...]  # new, or with another number of queues or other permissions
    new_address: bool
    master_address: str | None
    master_ha_address: str | None


class Removal(NamedTuple):
    """A removed address, and the topics whose route changed by it."""

    broker: str
    address: str
    topics: tuple[str, ...]


class RouteInfoManager:
    """The name server's tables of brokers and topics.  RocketMQ: `RouteInfoManager`.

    Registrations merge: topics that a later one does not name stay.  Name servers do not communicate; each has only
    the registrations that brokers sent to it.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.topic_queues: dict[str, dict[str, QueueData]] = {}  # topic, broker name
        self.brokers: dict[str, BrokerData] = {}
        self.clusters: dict[str, list[str]] = {}
        self.live: dict[str, BrokerLive] = {}  # by address
        self._routes = 0
        self._topics_of: dict[str, set[str]] = {}  # and the next: by broker name, for a fast removal
        self._clusters_of: dict[str, set[str]] = {}
        self._cluster_info: bytes | None = None  # cached answer, until an address is added or removed

    def register(self, header: RegisterBrokerHeader, table: TopicConfigTable, channel: Channel) -> Registration:
        """Take over a broker's registration.  Only a master's topics count, and only if its version is new.

        Raises BrokerRefused (1) if the name server has too many brokers; topics beyond MAX_ROUTES are left out.
        """
        self._admit(header)
        before = self.live.get(header.address)
        if before is not None and before.broker != header.broker:
            self._remove(header.address, before.broker, before.broker_id)  # an address belongs to one broker
        names = self.clusters.setdefault(header.cluster, [])
        joined = header.broker not in names
        if joined:
            names.append(header.broker)
            self._clusters_of.setdefault(header.broker, set()).add(header.cluster)
        known = self.brokers.get(header.broker)
        broker = known or BrokerData(header.broker, header.cluster, {})
        self.brokers[header.broker] = broker
        for broker_id in [i for i, a in broker.addresses.items() if a == header.address and i != header.broker_id]:
            del broker.addresses[broker_id]
        new_address = broker.addresses.get(header.broker_id) != header.address
        if new_address or joined:
            self._cluster_info = None
        broker.addresses[header.broker_id] = header.address
        before = self.live.get(header.address)
        topics: tuple[str, ...] = ()
        if header.broker_id == MASTER_ID and (before is None or new_address or before.version != table.version):
            topics = self._merge(header.broker, table.topics.values())
        self.live[header.address] = BrokerLive(
            header.broker, header.broker_id, self._clock.now_ms(), table.version, channel, header.ha_address
        )
        if header.broker_id == MASTER_ID:
            return Registration(topics, new_address, None, None)
        master = broker.addresses.get(MASTER_ID)
        live = self.live.get(master) if master else None
        return Registration(topics, new_address, master, live.ha_address if live else None)

    def unregister(self, broker_name: str, address: str, broker_id: int) -> Removal | None:
        """Remove an address that its broker unregisters; return None if it was not registered there."""
        broker = self.brokers.get(broker_name)
        if broker is None or broker.addresses.get(broker_id) != address:
            self.live.pop(address, None)
            return None
        return self._remove(address, broker_name, broker_id)

    def channel_closed(self, channel: Channel) -> list[Removal]:
        """Remove at once the addresses registered over a closed connection, and return the removals."""
        gone = [(address, live) for address, live in self.live.items() if live.channel is channel]
        return [self._remove(address, live.broker, live.broker_id) for address, live in gone]

    def scan(self, expired_ms: int) -> list[tuple[Removal, Channel]]:
        """Remove addresses not renewed for `expired_ms`; return them with their connections, which must be closed."""
        silent_since_ms = self._clock.now_ms() - expired_ms
        gone = [(address, live) for address, live in self.live.items() if live.last_update_ms < silent_since_ms]
        return [(self._remove(address, live.broker, live.broker_id), live.channel) for address, live in gone]

    def route(self, topic: str) -> TopicRouteData | None:
        """Return the queues of every broker that has an address; None if no broker has the topic."""
        rows = self.topic_queues.get(topic, {})
        queues = tuple(rows[name] for name in sorted(rows) if name in self.brokers)
        if not queues:
            return None
        return TopicRouteData(queues, tuple(self.brokers[row.broker] for row in queues))

    def cluster_info(self) -> bytes:
        """Return `ClusterInfo`, encoded and cached, because it is requested often and changes seldom."""
        if self._cluster_info is None:
            clusters = {name: tuple(brokers) for name, brokers in self.clusters.items()}
            self._cluster_info = ClusterInfo(self.brokers, clusters).encode()
        return self._cluster_info

    def topics_of_cluster(self, cluster: str) -> list[str]:
        names = set(self.clusters.get(cluster, ()))
        return sorted(topic for topic, rows in self.topic_queues.items() if names & rows.keys())

    def topics_where(self, matches: Callable[[int], bool]) -> list[str]:
        """Return the topics whose sys flag at one of their brokers matches."""
        firsts = ((topic, next(iter(rows.values()), None)) for topic, rows in self.topic_queues.items())
        return sorted(topic for topic, row in firsts if row is not None and matches(row.sys_flag))

    def version_of(self, address: str) -> DataVersion | None:
        """Return the version of the table last registered by the address; None without one."""
        live = self.live.get(address)
        return live.version if live else None

    def still_there(self, address: str) -> None:
        """Renew the registration of an address whose table is unchanged."""
        if address in self.live:
            self.live[address].last_update_ms = self._clock.now_ms()

    def delete_topic(self, topic: str, cluster: str | None) -> list[str]:
        """Remove a topic, of one cluster's brokers or of all; return the brokers that had it."""
        rows = self.topic_queues.get(topic, {})
        brokers = sorted(name for name in rows if cluster is None or name in self.clusters.get(cluster, ()))
        for name in brokers:
            del rows[name]
            self._topics_of[name].discard(topic)
            self._routes -= 1
        if not rows:
            self.topic_queues.pop(topic, None)
        return brokers

    def set_write_permission(self, broker: str, *, allowed: bool) -> list[str]:
        """Make all topics of a broker read-only, or readable and writable; return the topics."""
        topics = self._topics_of.get(broker, set())
        for topic in topics:
            row = self.topic_queues[topic][broker]
            permission = READ_WRITE if allowed else row.permission & ~PERM_WRITE
            self.topic_queues[topic][broker] = row._replace(permission=permission)
        return sorted(topics)

    def _admit(self, header: RegisterBrokerHeader) -> None:
        longest = max(map(len, (header.broker, header.address, header.cluster, header.ha_address)))
        if longest > MAX_NAME_LENGTH:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, f"a name of {longest} characters is too long")
        if len(self.brokers) >= MAX_ADDRESSES or len(self.clusters) >= MAX_ADDRESSES:
            self._forget_dead()
        full = (
            (header.address not in self.live and len(self.live) >= MAX_ADDRESSES)
            or (header.broker not in self.brokers and len(self.brokers) >= MAX_ADDRESSES)
            or (header.cluster not in self.clusters and len(self.clusters) >= MAX_ADDRESSES)
        )
        if full:
            raise BrokerRefused(ResponseCode.SYSTEM_ERROR, f"a name server knows at most {MAX_ADDRESSES} brokers")

    def _forget_dead(self) -> None:
        """Remove broker names without a live address (RocketMQ keeps them), to make room for others."""
        for broker in list(self.brokers.values()):
            if not any(address in self.live for address in broker.addresses.values()):
                for broker_id, address in list(broker.addresses.items()):
                    self._remove(address, broker.name, broker_id)

    def _merge(self, broker: str, topics: Iterable[TopicConfig]) -> tuple[str, ...]:
        changed = []
        for topic in topics:
            known = broker in self.topic_queues.get(topic.topic, ())
            if not known and (self._routes >= MAX_ROUTES or len(topic.topic) > MAX_NAME_LENGTH):
                continue
            self._routes += not known
            row = QueueData(broker, topic.read_queues, topic.write_queues, topic.permission, topic.sys_flag)
            rows = self.topic_queues.setdefault(topic.topic, {})
            if rows.get(broker) != row:
                rows[broker] = row
                self._topics_of.setdefault(broker, set()).add(topic.topic)
                changed.append(topic.topic)
        return tuple(sorted(changed))

    def _remove(self, address: str, name: str, broker_id: int) -> Removal:
        """Remove an address.

        With the last one of a broker name its queues are removed; with the last broker of a topic, the topic.
        """
        self._cluster_info = None
        self.live.pop(address, None)  # it may have unregistered with a wrong name
        broker = self.brokers.get(name)
        if broker is not None and broker.addresses.get(broker_id) == address:
            del broker.addresses[broker_id]
        if broker is None or broker.addresses:
            return Removal(name, address, tuple(sorted(self._topics_of.get(name, ()))))
        del self.brokers[name]
        for cluster in self._clusters_of.pop(name, ()):
            self.clusters[cluster].remove(name)
            if not self.clusters[cluster]:
                del self.clusters[cluster]
        gone = self._topics_of.pop(name, set())
        self._routes -= len(gone)
        for topic in gone:
            del self.topic_queues[topic][name]
            if not self.topic_queues[topic]:
                del self.topic_queues[topic]
        return Removal(name, address, tuple(sorted(gone)))
