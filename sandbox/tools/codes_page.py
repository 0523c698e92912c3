"""The reference page of request codes and the nodes that serve them, made from the nodes' tables."""

from sandbox.broker.broker import Broker
from sandbox.broker.config import BrokerConfig
from sandbox.client.config import ClientConfig
from sandbox.client.instance import ClientInstance
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.message.msg_id import host_bytes
from sandbox.namesrv.config import NameServerConfig
from sandbox.namesrv.name_server import NameServer
from sandbox.remoting.codes import RequestCode
from sandbox.sim.disk import SimDisk
from sandbox.sim.loop import SimLoop
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import InlineFlusher
from sandbox.store.message_store import MessageStore
from sandbox.transport.loopback import LoopbackNetwork

FIRST_OF_5 = 343  # from here on: sent only by RocketMQ 5.x
ABOUT = (
    "The nodes that serve each request. Brokers and clients answer other codes with 3; a name server sends no",
    f"response. Only peers of RocketMQ 5.x send codes from {FIRST_OF_5} on.",
)


def served() -> dict[RequestCode, tuple[str, ...]]:
    """Return every code of the table with the nodes that serve it: broker, name server, client."""
    loop = SimLoop()
    try:
        clock = ScaledClock(loop, start_ms=0)
        journal, chance, disk = Journal(clock), Chance(0), SimDisk(Chance(0), clock)
        store = MessageStore(
            MessageStoreConfig(),
            disk=disk,
            clock=clock,
            journal=journal,
            broker="b",
            broker_id=0,
            store_host=host_bytes("127.0.0.1", 10911),
            flusher=InlineFlusher(),
        )
        broker = Broker(
            BrokerConfig(name="b", address="127.0.0.1:10911"),
            store=store,
            clock=clock,
            chance=chance,
            journal=journal,
            connector=None,
            name_servers=(),
        )
        name_server = NameServer(NameServerConfig(address="127.0.0.1:9876"), clock=clock, journal=journal, name="n")
        client = ClientInstance(
            ClientConfig(name_servers=()),
            clock=clock,
            chance=chance,
            journal=journal,
            connector=LoopbackNetwork(loop, clock=clock).connector("127.0.0.1"),
        )
        nodes = {"broker": broker.serves, "name server": name_server.serves, "client": client.incoming.serves}
        return {code: tuple(node for node, serves in nodes.items() if serves(code)) for code in RequestCode}
    finally:
        loop.close()


def codes_rows() -> list[tuple[str, ...]]:
    return [(str(int(code)), f"`{code.name}`", ", ".join(nodes) or "no node") for code, nodes in served().items()]
