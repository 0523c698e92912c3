"""A whole broker with its name server, on a simulated disk and a loopback network in virtual time."""

from typing import Any

import pytest

from sandbox.broker.broker import Broker
from sandbox.broker.config import BrokerConfig
from sandbox.kernel.chance import Chance
from sandbox.message import record
from sandbox.message.filter import parse_tags
from sandbox.message.message import StoredMessage
from sandbox.message.msg_id import host_bytes
from sandbox.namesrv.config import NameServerConfig
from sandbox.namesrv.name_server import NameServer
from sandbox.remoting.bodies import ConsumerData, HeartbeatData, SubscriptionData
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import FLAG_ONEWAY, RemotingCommand
from sandbox.remoting.headers import PullHeader, SendHeader
from sandbox.sim.disk import SimDisk
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import InlineFlusher
from sandbox.store.message_store import MessageStore
from sandbox.transport.loopback import LoopbackNetwork
from tests.unit.broker.world import Time

BROKER, NAME_SERVER = "127.0.0.2:10911", "127.0.0.3:9876"


class Client:
    """One connection, and everything that came over it."""

    def __init__(self, stage: "Stage", address: str, ip: str) -> None:
        self._stage = stage
        self._opaque = 0
        self.answers: dict[int, RemotingCommand] = {}
        self.requests: list[RemotingCommand] = []
        self.closed = False
        self.channel: Channel
        connector = stage.network.connector(ip)
        connector.open(address, self._heard, self._lost, self._opened)
        stage.settle()

    def call(
        self, code: int, ext: dict[str, str] | None = None, body: bytes | None = None, *, version: int = 409
    ) -> RemotingCommand:
        """Send one request and return its answer, which must come without time passing."""
        opaque = self.post(code, ext, body, version=version)
        self._stage.settle()
        return self.answers[opaque]

    def post(
        self,
        code: int,
        ext: dict[str, str] | None = None,
        body: bytes | None = None,
        *,
        flag: int = 0,
        version: int = 409,
        serialize_type: int = 0,
    ) -> int:
        self._opaque += 1
        self.channel.send(
            RemotingCommand(
                code, ext, body, flag=flag, opaque=self._opaque, version=version, serialize_type=serialize_type
            )
        )
        return self._opaque

    def oneway(self, code: int, ext: dict[str, str] | None = None, body: bytes | None = None) -> None:
        self.post(code, ext, body, flag=FLAG_ONEWAY)
        self._stage.settle()

    def heartbeat(
        self,
        client_id: str,
        group: str,
        *topics: str,
        expression: str = "*",
        version: int = 1,
        model: str = "CLUSTERING",
        client_version: int = 409,
    ) -> RemotingCommand:
        wanted = parse_tags(expression)
        subs = tuple(
            SubscriptionData(topic, expression, tuple(sorted(wanted.tags)), tuple(sorted(wanted.codes or ())), version)
            for topic in topics
        )
        data = ConsumerData(group, message_model=model, subscriptions=subs)
        return self.call(
            RequestCode.HEART_BEAT, None, HeartbeatData(client_id, ("P",), (data,)).encode(), version=client_version
        )

    def send(
        self, topic: str, body: bytes = b"hello", *, queue: int = 0, properties: str = "WAIT\x01true", **fields: Any
    ) -> RemotingCommand:
        header = SendHeader("P", topic, "TBW102", 4, queue, 0, self._stage.time.clock.now_ms(), 0, properties, **fields)
        return self.call(RequestCode.SEND_MESSAGE_V2, header.to_ext(), body)

    def pull_ext(
        self,
        group: str,
        topic: str,
        offset: int,
        *,
        queue: int = 0,
        flags: int = 4,
        subscription: str | None = "*",
        count: int = 32,
        commit: int = 0,
        sub_version: int = 0,
        patience_ms: int = 15_000,
    ) -> dict[str, str]:
        return PullHeader(
            group, topic, queue, offset, count, flags, commit, patience_ms, subscription, sub_version, "TAG"
        ).to_ext()

    def pull(self, group: str, topic: str, offset: int, **more: Any) -> RemotingCommand:
        return self.call(RequestCode.PULL_MESSAGE, self.pull_ext(group, topic, offset, **more))

    def park(self, group: str, topic: str, offset: int, **more: Any) -> int:
        """Pull with the suspend flag; returns the opaque of the answer that may come later."""
        more["flags"] = more.get("flags", 4) | 2
        opaque = self.post(RequestCode.PULL_MESSAGE, self.pull_ext(group, topic, offset, **more))
        self._stage.settle()
        return opaque

    def close(self) -> None:
        self.channel.close()
        self._stage.settle()

    def _opened(self, channel: Channel | None) -> None:
        assert channel is not None, "nothing listens there"
        self.channel = channel

    def _heard(self, commands: list[RemotingCommand], _: Channel) -> None:
        for c in commands:
            if c.is_response:
                self.answers[c.opaque] = c
            else:
                self.requests.append(c)

    def _lost(self, _: Channel) -> None:
        self.closed = True


class Stage:
    """`broker-a` of DefaultCluster, one name server, nothing else."""

    def __init__(self, *, store: MessageStoreConfig | None = None, wire: bool = False, **config: Any) -> None:
        self.time = Time()
        self.network = LoopbackNetwork(self.time.loop, wire=wire, clock=self.time.clock)
        self.name_server = NameServer(
            NameServerConfig(address=NAME_SERVER), clock=self.time.clock, journal=self.time.journal, name="ns-1"
        )
        self.name_server.start()
        self.network.listen(NAME_SERVER, self.name_server)
        self.disk = SimDisk(Chance(7), self.time.clock)
        self.store_config = store or small_store()
        self.config = BrokerConfig(name="broker-a", address=BROKER, **config)
        self.broker: Broker
        self.start_broker()

    def start_broker(self) -> None:
        ip, _, port = BROKER.rpartition(":")
        store = MessageStore(
            self.store_config,
            disk=self.disk,
            clock=self.time.clock,
            journal=self.time.journal,
            broker="broker-a",
            broker_id=0,
            store_host=host_bytes(ip, int(port)),
            flusher=InlineFlusher(),
        )
        self.broker = Broker(
            self.config,
            store=store,
            clock=self.time.clock,
            chance=Chance(1),
            journal=self.time.journal,
            connector=self.network.connector(ip),
            name_servers=[NAME_SERVER],
        )
        self.broker.start()
        self.network.listen(BROKER, self.broker)
        self.settle()

    def stop_broker(self, *, kill: bool = False) -> None:
        if kill:
            self.broker.kill()
        else:
            self.broker.stop()
        self.network.unlisten(BROKER)
        self.settle()

    def client(self, ip: str = "127.0.0.1", address: str = BROKER) -> Client:
        return Client(self, address, ip)

    def topic(self, name: str, queues: int = 4) -> None:
        ext = {
            "topic": name,
            "defaultTopic": "TBW102",
            "readQueueNums": str(queues),
            "writeQueueNums": str(queues),
            "perm": "6",
            "topicFilterType": "SINGLE_TAG",
        }
        assert self.client().call(RequestCode.UPDATE_AND_CREATE_TOPIC, ext).code == 0

    def settle(self) -> None:
        self.time.loop.run_until_idle()

    def pass_s(self, seconds: float) -> None:
        self.time.pass_s(seconds)

    def events(self, *kinds: type) -> list[Any]:
        return self.time.events(*kinds)


def small_store(**changes: Any) -> MessageStoreConfig:
    values: dict[str, Any] = {
        "commit_log_file_bytes": 256 * 1024,
        "consume_queue_file_entries": 1_000,
        "index_slots": 97,
        "index_entries": 400,
        "max_message_bytes": 65_536,
        "memory_bytes": 64 * 1024 * 1024,
    }
    return MessageStoreConfig(**{**values, **changes})


def messages(answer: RemotingCommand) -> list[StoredMessage]:
    """The records a pull or query brought."""
    return list(record.decode_all(answer.body or b""))


def stage_with(queues: int = 0, **config: Any) -> Any:
    """A fixture: a stage whose topic `orders` has so many queues; without them there is no such topic."""

    @pytest.fixture
    def stage() -> Stage:
        made = Stage(**config)
        if queues:
            made.topic("orders", queues)
        return made

    return stage
