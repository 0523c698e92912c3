"""A small cluster in virtual time: one name server, one broker, real clients of both.

Everything is the product's own code over a loopback network; only time and disk are the simulation's.
"""

from collections import Counter
from collections.abc import Coroutine, Iterator
from typing import Any, Protocol

import pytest

from sandbox.broker.acl_config import AclConfig
from sandbox.broker.broker import Broker
from sandbox.broker.config import BrokerConfig
from sandbox.client.config import ClientConfig, ConsumeFromWhere, ProducerConfig, PushConsumerConfig
from sandbox.client.instance import ClientInstance
from sandbox.client.producer import Producer
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus, SendResult
from sandbox.journal.events import Event
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.message.message import Message
from sandbox.message.msg_id import host_bytes
from sandbox.message.queue import MessageQueue
from sandbox.namesrv.config import NameServerConfig
from sandbox.namesrv.name_server import NameServer
from sandbox.remoting.bodies import TopicConfig
from sandbox.remoting.channel import Connector, Listener
from sandbox.sim.disk import SimDisk
from sandbox.sim.loop import SimLoop
from sandbox.sim.network import SimNetwork
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import InlineFlusher
from sandbox.store.message_store import MessageStore
from sandbox.transport.loopback import LoopbackNetwork

NAME_SERVER = "10.0.0.1:9876"
BROKER = "broker-a"
BROKER_ADDRESS = "10.0.0.2:10911"
START_MS = 1_700_000_000_000
SMALL = MessageStoreConfig(
    commit_log_file_bytes=1 << 20,
    consume_queue_file_entries=1_000,
    index_slots=100,
    index_entries=400,
    memory_bytes=64 << 20,
)


class Files:
    """Offset files of broadcasting members."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}

    def read(self, name: str) -> bytes | None:
        return self.content.get(name)

    def write(self, name: str, content: bytes) -> None:
        self.content[name] = content


class Work:
    """A listener that takes `usual_s` per message, or `slow[key]`, fails `failing` keys, and notes all it saw."""

    def __init__(self, world: "World", *, orderly: bool = False) -> None:
        self._world = world
        self.success: Any = ConsumeConcurrentlyStatus.CONSUME_SUCCESS
        self.later: Any = ConsumeConcurrentlyStatus.RECONSUME_LATER
        if orderly:
            self.success = ConsumeOrderlyStatus.SUCCESS
            self.later = ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT
        self.usual_s = 0.0
        self.slow: dict[str, float] = {}
        self.failing: set[str] = set()
        self.begun: list[tuple[float, str, MessageQueue, int, int]] = []  # second, key, queue, offset, reconsume times
        self.finished: list[str] = []
        self.at_work: Counter[MessageQueue] = Counter()

    async def __call__(self, messages: list[Message], context: Any) -> Any:
        status = self.success
        for message in messages:
            at_s = self._world.clock.monotonic()
            self.begun.append((at_s, message.keys, context.queue, message.queue_offset or 0, message.reconsume_times))
            self.at_work[context.queue] += 1
            try:
                await self._world.clock.sleep(self.slow.get(message.keys, self.usual_s))
            finally:
                self.at_work[context.queue] -= 1
            self.finished.append(message.keys)
            if message.keys in self.failing:
                status = self.later
        return status

    @property
    def keys(self) -> list[str]:
        return [key for _, key, *_ in self.begun]


class Network(Protocol):
    """The shared part of both networks."""

    def listen(self, address: str, listener: Listener) -> None: ...
    def unlisten(self, address: str) -> None: ...
    def connector(self, local_ip: str) -> Connector: ...


class World:
    """`queues` queues of topic T, registered and ready for clients.  With a seed the network is `cruel`."""

    def __init__(self, queues: int = 8, *, seed: int | None = None, acl: AclConfig | None = None) -> None:
        self._acl = acl
        self.loop = SimLoop()
        self.clock = ScaledClock(self.loop, start_ms=START_MS)
        self.journal = Journal(self.clock, keep=1_000_000)
        self.chance = Chance("client world" if seed is None else seed)
        self.cruel = SimNetwork(self.loop, self.chance.fork("network"), latency_ms=(0.2, 30.0))
        self.network: Network = LoopbackNetwork(self.loop, clock=self.clock) if seed is None else self.cruel
        self._clients = 0
        self.files = Files()
        self.name_server = NameServer(
            NameServerConfig(address=NAME_SERVER), clock=self.clock, journal=self.journal, name="ns-1"
        )
        self.name_server.start()
        self.network.listen(NAME_SERVER, self.name_server)
        self.disk = SimDisk(self.chance.fork("disk"), self.clock)
        self.broker = self.start_broker()
        self.loop.run_for(0.1)
        self.broker.create_topic(TopicConfig("T", queues, queues))
        self.loop.run_for(1)
        self._sender: Producer | None = None
        self._sent = 0

    def start_broker(self) -> Broker:
        store = MessageStore(
            SMALL,
            disk=self.disk,
            clock=self.clock,
            journal=self.journal,
            broker=BROKER,
            broker_id=0,
            store_host=host_bytes("10.0.0.2", 10911),
            flusher=InlineFlusher(),
        )
        self.broker = Broker(
            BrokerConfig(name=BROKER, address=BROKER_ADDRESS, acl=self._acl),
            store=store,
            clock=self.clock,
            chance=self.chance.fork("broker"),
            journal=self.journal,
            connector=self.network.connector("10.0.0.2"),
            name_servers=[NAME_SERVER],
        )
        self.broker.start()
        self.network.listen(BROKER_ADDRESS, self.broker)
        return self.broker

    def instance(self, name: str, *, ip: str | None = None, **config: Any) -> ClientInstance:
        """A process of its own, on a machine of its own unless `ip` says which."""
        if ip is None:
            self._clients += 1
            ip = f"10.0.1.{self._clients}"
        return ClientInstance(
            ClientConfig(name_servers=(NAME_SERVER,), ip=ip, instance_name=name, **config),
            clock=self.clock,
            chance=self.chance,
            connector=self.network.connector(ip),
            journal=self.journal,
            files=self.files,
        )

    def consumer(
        self, name: str, work: Work, *, expression: str = "*", like: PushConsumer | None = None, **config: Any
    ) -> PushConsumer:
        """A member of group G; `like` another one: on the same machine."""
        config.setdefault("group", "G")
        config.setdefault("from_where", ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
        instance = self.instance(name, ip=like.instance.config.ip if like else None)
        consumer = PushConsumer(PushConsumerConfig(**config), instance, work)
        consumer.subscribe("T", expression)
        self.run(consumer.start())
        self.loop.run_for(0.2)
        return consumer

    def send(
        self,
        count: int = 1,
        *,
        queue_id: int | None = None,
        key: str | None = None,
        tags: str = "",
    ) -> list[SendResult]:
        """Send to T; keys are k0, k1, … unless given."""
        if self._sender is None:
            self._sender = Producer(ProducerConfig(group="P"), self.instance("sender"))
            self.run(self._sender.start())
        results = []
        for _ in range(count):
            message = Message.make("T", b"body", keys=key or f"k{self._sent}", tags=tags)
            queue = None if queue_id is None else MessageQueue("T", BROKER, queue_id)
            results.append(self.run(self._sender.send(message, queue=queue)))
            self._sent += 1
        return results

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run(coroutine)

    def pass_s(self, seconds: float) -> None:
        self.loop.run_for(seconds)

    @property
    def now_s(self) -> float:
        return self.clock.monotonic()

    def events(self, kind: type[Event]) -> list[Any]:
        return [entry.event for entry in self.journal.since(0) if type(entry.event) is kind]

    def entries(self, kind: type[Event]) -> list[tuple[float, Any]]:
        """Events with the second they happened in."""
        return [
            ((entry.at_ms - START_MS) / 1000, entry.event)
            for entry in self.journal.since(0)
            if type(entry.event) is kind
        ]


def owned(consumer: PushConsumer, topic: str = "T") -> list[int]:
    return [mq.queue_id for mq in sorted(consumer.process_queues) if mq.topic == topic]


def client_world(**how: Any) -> Any:
    """A fixture: a world made so."""

    @pytest.fixture
    def world() -> Iterator[World]:
        made = World(**how)
        yield made
        made.loop.close()

    return world
