"""Tools of the article tests: a sandbox's wire and files, and a client that sends given requests."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sandbox.client.config import ClientConfig, PushConsumerConfig
from sandbox.client.instance import ClientInstance
from sandbox.client.listeners import ConsumeConcurrentlyContext, ConsumeOrderlyContext
from sandbox.client.local_offset_store import FileStore
from sandbox.client.process_queue import offset_of
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from sandbox.kernel.chance import Chance
from sandbox.message import properties, record
from sandbox.message.message import Message, StoredMessage
from sandbox.message.queue import MessageQueue
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import FLAG_RESPONSE, RemotingCommand
from sandbox.remoting.headers import (
    PullHeader,
    PullResponseHeader,
    QueryOffsetHeader,
    SendHeader,
    SendResponseHeader,
    UpdateOffsetHeader,
)
from sandbox.sim.disk import SimDisk
from sandbox.simulation.world import World


class Frame(NamedTuple):
    """One command under way; `at_ms` is sandbox time, `code` the request's also for an answer (see `answer`)."""

    at_ms: int
    sender: str
    receiver: str
    code: int
    command: RemotingCommand
    answer: bool


class Pulled(NamedTuple):
    """The result of one pull."""

    code: int
    header: PullResponseHeader
    messages: list[StoredMessage]

    @property
    def offsets(self) -> list[int]:
        return [message.queue_offset for message in self.messages]


class WireLog:
    """Every command that is sent in the world from now on."""

    def __init__(self, world: World) -> None:
        self._clock = world.cluster.clock
        self._asked: dict[tuple[str, str, int], int] = {}
        self.frames: list[Frame] = []
        world.cluster.network.tap = self._note

    def _note(self, sender: str, receiver: str, command: RemotingCommand) -> None:
        answer = bool(command.flag & FLAG_RESPONSE)
        code = int(command.code)
        if answer:
            code = self._asked.get((receiver, sender, command.opaque), -1)
        else:
            self._asked[sender, receiver, command.opaque] = code
        self.frames.append(Frame(self._clock.now_ms(), sender, receiver, code, command, answer))

    def requests(self, code: int, *, sender: str = "") -> list[Frame]:
        """Requests of that code, from senders whose address begins with `sender`."""
        return [f for f in self.frames if f.code == code and not f.answer and f.sender.startswith(sender)]

    def answers(self, code: int, *, receiver: str = "") -> list[Frame]:
        """Answers to requests of that code."""
        return [f for f in self.frames if f.code == code and f.answer and f.receiver.startswith(receiver)]


class Caller:
    """A minimal client: one connection, one request after the other."""

    def __init__(self, world: World, address: str, *, ip: str = "10.0.9.9") -> None:
        self._world = world
        self._opaque = 0
        self._heard: dict[int, RemotingCommand] = {}
        self.requests: list[RemotingCommand] = []  # what the other end asked of us
        self.closed = False
        self._channel = self._connect(address, ip)

    def _connect(self, address: str, ip: str) -> Channel:
        opened: list[Channel | None] = []
        connector = self._world.cluster.network.connector(ip)
        connector.open(address, self._hear, self._lost, opened.append)
        self._world.run_until(lambda: bool(opened), within_s=5, step_s=0.01)
        assert opened[0] is not None, f"nothing listens at {address}"
        return opened[0]

    def _hear(self, commands: list[RemotingCommand], channel: Channel) -> None:
        for command in commands:
            if command.flag & FLAG_RESPONSE:
                self._heard[command.opaque] = command
            else:
                self.requests.append(command)

    def _lost(self, channel: Channel) -> None:
        self.closed = True

    def send_one_way(
        self, code: int, ext: Mapping[str, str] | None = None, body: bytes | None = None, *, flag: int = 0
    ) -> int:
        """Send and do not wait; `answer_to` may be asked later."""
        self._opaque += 1
        self._channel.send(RemotingCommand(code, dict(ext or {}), body, flag=flag, opaque=self._opaque))
        return self._opaque

    def answer_to(self, opaque: int) -> RemotingCommand | None:
        return self._heard.get(opaque)

    def ask(
        self, code: int, ext: Mapping[str, str] | None = None, body: bytes | None = None, *, within_s: float = 5
    ) -> RemotingCommand:
        """Send and let time pass until the answer is here."""
        opaque = self.send_one_way(code, ext, body)
        self._world.run_until(lambda: opaque in self._heard, within_s=within_s, step_s=0.01)
        return self._heard[opaque]

    def send(self, topic: str, queue_id: int, body: bytes = b"hello", **pairs: str) -> SendResponseHeader:
        """Store one message; `pairs` are its properties."""
        header = SendHeader(
            "P", topic, "TBW102", 4, queue_id, 0, self._world.cluster.clock.now_ms(), 0, properties.encode(pairs)
        )
        answer = self.ask(RequestCode.SEND_MESSAGE_V2, header.to_ext(), body)
        assert answer.code == 0, answer.remark
        return SendResponseHeader.from_ext(answer.ext)

    def pull(
        self, group: str, topic: str, queue_id: int, offset: int, *, count: int = 32, expression: str = "*"
    ) -> Pulled:
        """Pull once, with a subscription and without patience."""
        header = PullHeader(group, topic, queue_id, offset, count, 4, 0, 0, expression, 0, "TAG")
        answer = self.ask(RequestCode.PULL_MESSAGE, header.to_ext())
        found = PullResponseHeader.from_ext(answer.ext)
        return Pulled(answer.code, found, list(record.decode_all(answer.body or b"")))

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Report an offset, as a member's timer does (request 15)."""
        header = UpdateOffsetHeader(group, topic, queue_id, offset)
        assert self.ask(RequestCode.UPDATE_CONSUMER_OFFSET, header.to_ext()).code == 0

    def stored_offset(self, group: str, topic: str, queue_id: int) -> int | None:
        """Return the broker's offset for a new member (request 14); None: not found (22)."""
        answer = self.ask(RequestCode.QUERY_CONSUMER_OFFSET, QueryOffsetHeader(group, topic, queue_id).to_ext())
        assert answer.code in (0, 22), answer.remark
        return int((answer.ext or {})["offset"]) if answer.code == 0 else None


def disk_of(world: World, node: str = "broker-a") -> SimDisk:
    """Return the disk of that node's store, also if the node is stopped."""
    return world.environment.disks[f"{world.sandbox.directory.name}/{node}"]


def files_of(world: World, node: str = "broker-a") -> dict[str, bytes]:
    """Every file of that node's store as another process would find it now, by path below its root."""
    return disk_of(world, node).image()


def broker_address(world: World, broker: str = "broker-a", broker_id: int = 0) -> str:
    return next(
        str(row["address"])
        for row in world.snapshot()["brokers"]
        if (row["broker"], row["broker_id"]) == (broker, broker_id)
    )


def application(
    world: World, name: str = "app", *, ip: str = "10.0.9.8", files: FileStore | None = None, **config: Any
) -> ClientInstance:
    """A client process on its own machine of the world's network, for producers and consumers.

    Run its coroutines with `world.environment.sim.run(…)`; broadcasting consumers keep their offsets in `files`.
    """
    servers = config.pop("name_servers", tuple(world.cluster.nodes.addresses))
    return ClientInstance(
        ClientConfig(name_servers=servers, ip=ip, instance_name=name, **config),
        clock=world.cluster.clock,
        chance=Chance(name),
        connector=world.cluster.network.connector(ip),
        journal=world.cluster.journal,
        files=files,
    )


class Listener:
    """Called by a consumer of our own: notes what it is given, takes `work_s` over each batch, never fails."""

    def __init__(self, world: World, *, work_s: float = 0.0) -> None:
        self._world = world
        self.work_s = work_s
        self.offsets: dict[str, list[int]] = {}  # queue such as orders/broker-a/0 → in the order they came

    def _note(self, messages: list[Message], mq: MessageQueue) -> None:
        self.offsets.setdefault(mq.key, []).extend(offset_of(message) for message in messages)

    async def concurrently(
        self, messages: list[Message], context: ConsumeConcurrentlyContext
    ) -> ConsumeConcurrentlyStatus:
        self._note(messages, context.queue)
        await self._world.cluster.clock.sleep(self.work_s)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def orderly(self, messages: list[Message], context: ConsumeOrderlyContext) -> ConsumeOrderlyStatus:
        self._note(messages, context.queue)
        await self._world.cluster.clock.sleep(self.work_s)
        return ConsumeOrderlyStatus.SUCCESS


def member(
    world: World, instance: ClientInstance, config: PushConsumerConfig, *topics: str, listener: Listener | None = None
) -> PushConsumer:
    """A push consumer of our own, started."""
    hears = listener or Listener(world)
    made = PushConsumer(config, instance, hears.orderly if config.orderly else hears.concurrently)
    for topic in topics:
        made.subscribe(topic)
    world.environment.sim.run(made.start())
    return made


def prefix_of(world: World, label: str) -> str:
    """Return the address prefix of that actor's connections; `10.0.0.1:` does not match `10.0.0.11:`."""
    return world.cluster.actors.get(label).client_id.split("@")[0] + ":"
