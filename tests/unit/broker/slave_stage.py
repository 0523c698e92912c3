"""A master and its slave with one name server, in virtual time."""

from typing import Any

from sandbox.broker.broker import Broker
from sandbox.broker.config import BrokerConfig
from sandbox.kernel.chance import Chance
from sandbox.kernel.process_clock import ProcessClock
from sandbox.message.msg_id import host_bytes
from sandbox.namesrv.config import NameServerConfig
from sandbox.namesrv.name_server import NameServer
from sandbox.sim.disk import SimDisk
from sandbox.sim.network import SimNetwork
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import InlineFlusher
from sandbox.store.message_store import MessageStore
from tests.unit.broker.stage import Client, small_store
from tests.unit.broker.world import Time

NAME_SERVER = "10.0.0.3:9876"
MASTER, SLAVE = "10.0.0.1:10911", "10.0.0.2:10911"
FOLLOWING_S = 11.0  # a slave looks for its master's address after 5 s, and is silent for 5 s after it connected


class SlaveStage:
    """Both brokers run and have registered; `follow` lets the time pass until the slave copies the log."""

    def __init__(self, *, store: MessageStoreConfig | None = None, **config: Any) -> None:
        self.time = Time()
        self.network = SimNetwork(self.time.loop, Chance(5))
        self.name_server = NameServer(
            NameServerConfig(address=NAME_SERVER), clock=self.time.clock, journal=self.time.journal, name="ns-1"
        )
        self.name_server.start()
        self.network.listen(NAME_SERVER, self.name_server)
        self._store_config = store or small_store()
        self._config = config
        self._disks = {address: SimDisk(Chance(address), self.time.clock) for address in (MASTER, SLAVE)}
        self.master = self.start(MASTER, 0)
        self.slave = self.start(SLAVE, 1)

    def start(self, address: str, broker_id: int) -> Broker:
        """A new process of that node."""
        ip, _, port = address.rpartition(":")
        clock = ProcessClock(self.time.clock)
        store = MessageStore(
            self._store_config,
            disk=self._disks[address],
            clock=clock,
            journal=self.time.journal,
            broker="broker-a",
            broker_id=broker_id,
            store_host=host_bytes(ip, int(port)),
            flusher=InlineFlusher(),
        )
        broker = Broker(
            BrokerConfig(name="broker-a", address=address, broker_id=broker_id, **self._config),
            store=store,
            clock=clock,
            chance=Chance(1),
            journal=self.time.journal,
            connector=self.network.connector(ip),
            name_servers=[NAME_SERVER],
        )
        broker.start()
        self.network.listen(address, broker)
        self.network.listen(broker.config.ha_address, broker.ha_listener)
        if broker_id:
            self.slave = broker
        else:
            self.master = broker
        self.settle()
        return broker

    def end(self, broker: Broker, *, kill: bool = False) -> None:
        if kill:
            broker.kill()
        else:
            broker.stop()
        self.network.unlisten(broker.config.address)
        self.network.unlisten(broker.config.ha_address)
        self.settle()

    def follow(self) -> "SlaveStage":
        self.pass_s(FOLLOWING_S)
        assert self.slave.replica is not None
        assert self.slave.replica.connected
        return self

    def client(self, address: str = MASTER, ip: str = "10.0.1.1") -> Client:
        return Client(self, address, ip)  # type: ignore[arg-type]  # of its stage a client uses time and network only

    def settle(self) -> None:
        self.time.loop.run_until_idle()

    def pass_s(self, seconds: float) -> None:
        self.time.pass_s(seconds)

    def events(self, *kinds: type) -> list[Any]:
        return self.time.events(*kinds)
