"""Servers of a sandbox: name servers and brokers, each with its permanent address."""

from typing import Any

from sandbox.cluster.broker_node import BrokerNode
from sandbox.cluster.context import Context
from sandbox.cluster.last_known import LastKnown
from sandbox.cluster.record import NodeRecord
from sandbox.kernel.errors import ActionRefused
from sandbox.namesrv.config import NameServerConfig
from sandbox.namesrv.name_server import NameServer

NODE_NETWORK = "10.0.1"  # source addresses of brokers' own connections, one each; private to the sandbox


class NameServerNode:
    def __init__(self, record: NodeRecord, context: Context) -> None:
        self.record = record
        self.state = "stopped"
        self._context = context
        self.name_server: NameServer | None = None

    @property
    def name(self) -> str:
        return self.record.name

    def start(self) -> None:
        assert self.name_server is None, "it runs already"
        context = self._context
        self.name_server = NameServer(
            NameServerConfig(address=self.record.address), clock=context.clock, journal=context.journal, name=self.name
        )
        context.network.listen(self.record.address, self.name_server)
        context.listeners.up(self.record.address, self.name_server)
        self.name_server.start()
        self.state = "running"

    def stop(self) -> None:
        if self.name_server is not None:
            self.name_server.stop()
            self._context.network.unlisten(self.record.address)
            self._context.listeners.down(self.record.address)
            self.name_server, self.state = None, "stopped"


class Nodes:
    """Servers of one sandbox, in the order of their records."""

    def __init__(self, records: list[NodeRecord], context: Context) -> None:
        self._records = records
        self.name_servers = [NameServerNode(record, context) for record in records if record.kind == "name_server"]
        self.addresses = [node.record.address for node in self.name_servers]
        self.brokers = [
            BrokerNode(record, context, self.addresses, f"{NODE_NETWORK}.{number}")
            for number, record in enumerate(records, start=1)
            if record.kind == "broker"
        ]
        with_slaves = {node.name for node in self.brokers if not node.is_master}
        for node in self.brokers:
            node.slave_id_of, node.has_slave = self._slave_id_of, node.name in with_slaves

    def start(self) -> None:
        """Start all nodes that were not down: name servers, masters, then slaves.

        Slaves find their masters by the name servers.  A broker whose tables cannot be read stays down; the others
        start.
        """
        for name_server in self.name_servers:
            name_server.start()
        for broker in self._masters_first():
            if broker.last_known is None:
                broker.try_start()

    def stop(self) -> None:
        """Stop all nodes cleanly, slaves first; a hung node is killed."""
        for broker in reversed(self._masters_first()):
            if broker.state == "hung":
                broker.kill()
            broker.stop()
        for name_server in self.name_servers:
            name_server.stop()

    def restart(self) -> None:
        """Restart the running brokers one after the other, so that changed machine settings apply."""
        for broker in self._masters_first():
            if broker.broker is not None:
                broker.stop()
                broker.try_start()

    def kill(self) -> None:
        for broker in self.brokers:
            broker.kill()
        for name_server in self.name_servers:
            name_server.stop()

    def _masters_first(self) -> list[BrokerNode]:
        return sorted(self.brokers, key=lambda node: not node.is_master)

    def power_cut(self, node: BrokerNode) -> None:
        """Cut a broker's power.  A slave's messages count as confirmed by its master, if that runs."""
        master = next((each for each in self.masters() if each.name == node.name and each is not node), None)
        node.power_cut(None if master is None else master.running.store.unanswered)

    def promote(self, slave: BrokerNode) -> dict[str, str]:
        """Stop `slave`, to be started as master; its master, which is down, becomes its slave.

        Return the changed names, old → new.
        """
        master = self.broker(slave.name)
        slave.stop()
        names = {slave.node: master.node, master.node: slave.node}
        self._rename(slave, master.record.broker_id, master, slave.record.broker_id)
        return names

    def _rename(self, first: BrokerNode, first_id: int, second: BrokerNode, second_id: int) -> None:
        for node, broker_id in ((first, first_id), (second, second_id)):
            at = self._records.index(node.record)
            node.record = self._records[at] = node.record._replace(broker_id=broker_id, home=node.record.directory)

    def broker(self, name: str, broker_id: int = 0) -> BrokerNode:
        """Return the broker with this name and id.  Raises ActionRefused (404) if it does not exist."""
        for node in self.brokers:
            if (node.name, node.record.broker_id) == (name, broker_id):
                return node
        raise ActionRefused(404, "Broker {broker} does not exist.", field="broker", broker=name)

    def find(self, name: str) -> BrokerNode | None:
        """Return the broker with this node name (`broker-a`, `broker-a.1`), or None."""
        return next((node for node in self.brokers if node.node == name), None)

    def masters(self) -> list[BrokerNode]:
        """Return the running masters, by name."""
        return sorted(
            (node for node in self.brokers if node.broker is not None and node.is_master), key=lambda node: node.name
        )

    def down_masters(self) -> dict[str, LastKnown]:
        """Return the last known state of masters that are down, by name."""
        return {
            node.name: node.last_known
            for node in sorted(self.brokers, key=lambda node: node.name)
            if node.is_master and node.last_known is not None
        }

    def slave_of(self, name: str) -> BrokerNode | None:
        """Return the running slave of a broker with the lowest id, or None."""
        slaves = [node for node in self.brokers if node.name == name and not node.is_master and node.broker is not None]
        return min(slaves, key=lambda node: node.record.broker_id, default=None)

    def last_known(self) -> dict[str, LastKnown]:
        """Return the last known state of the brokers that are down, by directory."""
        return {node.record.directory: node.last_known for node in self.brokers if node.last_known is not None}

    def stay_down(self, known: dict[str, list[Any]]) -> None:
        """Restore `last_known` from JSON."""
        for node in self.brokers:
            if node.record.directory in known:
                node.stay_down(LastKnown(*known[node.record.directory]))

    def skews(self) -> dict[str, int]:
        """Return the clock errors in ms, by directory; correct clocks are omitted."""
        return {node.record.directory: node.clock.skew_ms for node in self.brokers if node.clock.skew_ms}

    def skew(self, skews: dict[str, int]) -> None:
        for node in self.brokers:
            node.clock.skew_ms = skews.get(node.record.directory, 0)

    def lock_lives(self) -> dict[str, int]:
        """Return the lock expiry of brokers in ms, by directory; defaults are omitted."""
        return {node.record.directory: node.lock_life_ms for node in self.brokers if node.lock_life_ms is not None}

    def keep_locks(self, lives: dict[str, int]) -> None:
        """Set the lock expiry of brokers, from their next start on."""
        for node in self.brokers:
            node.lock_life_ms = lives.get(node.record.directory)

    def name_server(self, name: str) -> NameServerNode:
        """Return the name server with this name.  Raises ActionRefused (404) if it does not exist."""
        for node in self.name_servers:
            if node.name == name:
                return node
        raise ActionRefused(404, "Name server {name_server} does not exist.", field="name_server", name_server=name)

    def names(self) -> list[str]:
        """Return the names of the name servers, then of the brokers."""
        return [*(node.name for node in self.name_servers), *(node.node for node in self.brokers)]

    def name_at(self, address: str) -> str | None:
        """Return the node that listens at `ip:port`, or whose own connections come from it; else None."""
        for server in self.name_servers:
            if address in (server.record.address, server.record.own):
                return server.name
        ip = address.rpartition(":")[0]
        for node in self.brokers:
            if ip == node.ip or address in (node.record.address, node.record.own, node.ha_address):
                return node.node
        return None

    def _slave_id_of(self, remote: str) -> int:
        ip = remote.rpartition(":")[0]
        return next((node.record.broker_id for node in self.brokers if node.ip == ip), 0)
