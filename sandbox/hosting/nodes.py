"""The servers of a sandbox: brokers and name servers, each with the address it keeps for life."""

import logging
from pathlib import Path

from sandbox.broker.broker import Broker
from sandbox.broker.config import BrokerConfig, BrokerLimits
from sandbox.control.limits import SandboxLimits
from sandbox.hosting.ground import Ground, Network
from sandbox.hosting.hibernate import NodeRecord
from sandbox.hosting.presets import Preset
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import ActionRefused
from sandbox.message.msg_id import host_bytes
from sandbox.namesrv.config import NameServerConfig
from sandbox.namesrv.name_server import NameServer
from sandbox.store.config import MessageStoreConfig, physical_memory_bytes
from sandbox.store.message_store import MessageStore

log = logging.getLogger(__name__)

FULL_RATIO = 0.95  # of the limit that stands for the disk; puts are refused from 0.90 on
NODE_IP = "10.0.0.1"  # where brokers' own connections come from; private to the sandbox


class Surroundings:
    """What every node of one sandbox shares."""

    def __init__(self, directory: Path, ground: Ground, network: Network, clock: Clock, chance: Chance,
                 journal: Journal, preset: Preset, limits: SandboxLimits) -> None:
        self.directory = directory
        self.ground = ground
        self.network = network
        self.clock = clock
        self.chance = chance
        self.journal = journal
        self.preset = preset
        self.limits = limits


class BrokerNode:
    """A broker that can be started, stopped and killed; its files outlive it.  `state`: running, stopped, killed."""

    def __init__(self, record: NodeRecord, around: Surroundings, name_servers: list[str]) -> None:
        self.record = record
        self.state = "stopped"
        self.lock_life_ms: int | None = None  # when somebody changed it
        self.ballast_bytes = 0  # what a filled disk holds beside the store
        self._around = around
        self._name_servers = name_servers
        self._starts = 0
        self.broker: Broker | None = None

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def node(self) -> str:
        """`broker-a`, or `broker-a.1` for a slave: how pages and events name it."""
        return self.name if self.record.broker_id == 0 else f"{self.name}.{self.record.broker_id}"

    @property
    def running(self) -> Broker:
        """Raises ActionRefused (409) while it is down."""
        if self.broker is None:
            raise ActionRefused(409, "{broker} is not running.", "Start it first.", broker=self.node)
        return self.broker

    def start(self) -> None:
        """Recover the files, listen, register.  Raises StoreError when the files cannot be opened."""
        assert self.broker is None, "it runs already"
        around = self._around
        self._starts += 1
        store = MessageStore(
            store_config(around.preset, around.limits), disk=around.ground.disk(around.directory / self.node),
            clock=around.clock, journal=around.journal, broker=self.name, broker_id=self.record.broker_id,
            store_host=store_host(self.record.address), flusher=around.ground.flusher)
        broker = Broker(
            BrokerConfig(name=self.name, address=self.record.address, broker_id=self.record.broker_id,
                         limits=broker_limits(around.limits)),
            store=store, clock=around.clock, chance=around.chance.fork(f"{self.node} {self._starts}"),
            journal=around.journal, connector=around.network.connector(NODE_IP), name_servers=self._name_servers)
        around.network.listen(self.record.address, broker)
        try:
            broker.start()
        except BaseException:
            around.network.unlisten(self.record.address)
            raise
        self.broker, self.state = broker, "running"
        if self.lock_life_ms is not None:
            broker.locks.max_live_ms = self.lock_life_ms
        self._load_disk(store)

    def fill_disk(self) -> None:
        """Put something else on the disk until RocketMQ calls it full."""
        cleaning = self.running.store.cleaning
        limit = self._around.limits.store_bytes
        self.ballast_bytes = max(0, int(limit * FULL_RATIO) - cleaning.used_bytes + cleaning.ballast_bytes)
        self._load_disk(self.running.store)

    def free_disk(self) -> None:
        self.ballast_bytes = 0
        self._load_disk(self.running.store)

    def _load_disk(self, store: MessageStore) -> None:
        if store.cleaning.ballast_bytes != self.ballast_bytes:
            store.cleaning.ballast_bytes = self.ballast_bytes
            store.cleaning.check_disk()

    def stop(self) -> None:
        """Cleanly: everything flushed, unregistered, connections closed."""
        if self.broker is not None:
            broker, self.broker, self.state = self.broker, None, "stopped"
            try:
                broker.stop()
            except OSError as why:  # the disk takes no more: what is in the page cache is found by recovery
                log.error("stopping %s cleanly failed: %s", self.node, why)
                self.state = "killed"
                broker.store.crash()
            self._around.network.unlisten(self.record.address)

    def kill(self) -> None:
        """As kill -9: memory is gone, the page cache is not; clients see their connections close."""
        if self.broker is not None:
            broker, self.broker, self.state = self.broker, None, "killed"
            broker.kill()
            self._around.network.unlisten(self.record.address)


class NameServerNode:
    def __init__(self, record: NodeRecord, around: Surroundings) -> None:
        self.record = record
        self.state = "stopped"
        self._around = around
        self.name_server: NameServer | None = None

    @property
    def name(self) -> str:
        return self.record.name

    def start(self) -> None:
        assert self.name_server is None, "it runs already"
        around = self._around
        self.name_server = NameServer(NameServerConfig(address=self.record.address), clock=around.clock,
                                      journal=around.journal, name=self.name)
        around.network.listen(self.record.address, self.name_server)
        self.name_server.start()
        self.state = "running"

    def stop(self) -> None:
        if self.name_server is not None:
            self.name_server.stop()
            self._around.network.unlisten(self.record.address)
            self.name_server, self.state = None, "stopped"


class Nodes:
    """All servers of one sandbox, in the order of their records."""

    def __init__(self, records: list[NodeRecord], around: Surroundings) -> None:
        self.name_servers = [NameServerNode(record, around) for record in records if record.kind == "name_server"]
        self.addresses = [node.record.address for node in self.name_servers]
        self.brokers = [BrokerNode(record, around, self.addresses) for record in records if record.kind == "broker"]

    def start(self) -> None:
        for name_server in self.name_servers:
            name_server.start()
        for broker in self.brokers:
            broker.start()

    def stop(self) -> None:
        for broker in self.brokers:
            broker.stop()
        for name_server in self.name_servers:
            name_server.stop()

    def kill(self) -> None:
        for broker in self.brokers:
            broker.kill()
        for name_server in self.name_servers:
            name_server.stop()

    def broker(self, name: str, broker_id: int = 0) -> BrokerNode:
        """Raises ActionRefused (404)."""
        for node in self.brokers:
            if (node.name, node.record.broker_id) == (name, broker_id):
                return node
        raise ActionRefused(404, "There is no broker {broker}.", field="broker", broker=name)

    def find(self, name: str) -> BrokerNode | None:
        """The broker called `name` (`broker-a`, `broker-a.1`)."""
        return next((node for node in self.brokers if node.node == name), None)

    def masters(self) -> list[BrokerNode]:
        """Masters that run, by name."""
        return sorted((node for node in self.brokers if node.broker is not None and node.record.broker_id == 0),
                      key=lambda node: node.name)


def store_config(preset: Preset, limits: SandboxLimits) -> MessageStoreConfig:
    """RocketMQ's own store, with the sizes of the preset and the disk of the limits."""
    return MessageStoreConfig(
        commit_log_file_bytes=preset.commit_log_file_bytes,
        consume_queue_file_entries=preset.consume_queue_file_entries, index_slots=preset.index_slots,
        index_entries=preset.index_entries, max_message_bytes=preset.max_message_bytes, flush=preset.flush,
        file_reserved_hours=preset.file_reserved_hours, store_limit_bytes=limits.store_bytes,
        memory_bytes=preset.memory_bytes or physical_memory_bytes())


def broker_limits(limits: SandboxLimits) -> BrokerLimits:
    return BrokerLimits(topics=limits.topics, queues_per_topic=limits.queues_per_topic, queues=limits.queues,
                        groups=limits.groups, messages_per_s=limits.stored_messages_per_s)


def store_host(address: str) -> bytes:
    """`ip:port` as a record holds it."""
    ip, _, port = address.rpartition(":")
    return host_bytes(ip, int(port))
