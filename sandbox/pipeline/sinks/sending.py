"""Sending of rows with the client library, each stored once.

Before a repeated send, the topic is queried for the row.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sandbox.client.admin import Admin
from sandbox.client.config import ClientConfig, ProducerConfig
from sandbox.client.instance import ClientInstance
from sandbox.client.producer import Producer
from sandbox.client.routes import publish_queues
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import BrokerRefused, ClientError, ConnectFailed, RemotingError, SandboxError
from sandbox.message import properties
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.pipeline.sinks.rows import Naming, Row, message
from sandbox.remoting.channel import Connector
from sandbox.remoting.codes import ResponseCode

GROUP = "spark-sink"
CHUNK_ROWS = 512  # sent concurrently
PACKET_ROWS = 128  # sent as one batch
PACKET_BYTES = 64 * 1024
QUESTIONS = 64  # concurrent queries
SETTLE_S = 1.0  # messages of an ended writer are stored and indexed by then
TRIES = 5
PAUSE_S = 1.0  # before the second try; doubled before each further one
BUSY_TRIES = 60  # PAUSE_S apart: the broker refused
BUSY = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.SERVICE_NOT_AVAILABLE, ResponseCode.FLOW_CONTROL})
DELAYED = "SCHEDULE_TOPIC_XXXX"  # where a delayed message waits


class Cluster(NamedTuple):
    """The target cluster: its name servers, the producer group, and keys if it checks signatures."""

    name_servers: tuple[str, ...]
    group: str = GROUP
    access_key: str = ""
    secret_key: str = ""


class Sender:
    """The sender of one partition.  Call `open`, `send` for each chunk of rows, and `close`, all on one loop.

    `asks`: an earlier attempt may have sent some of these rows.
    """

    def __init__(
        self,
        cluster: Cluster,
        naming: Naming,
        *,
        clock: Clock,
        chance: Chance,
        connector: Connector,
        instance_name: str,
        asks: bool,
    ) -> None:
        self._cluster = cluster
        self._naming = naming
        self._clock = clock
        self._asks = asks
        self.sent = 0
        self.found = 0  # stored before
        self._admin = Admin(
            cluster.name_servers,
            clock=clock,
            connector=connector,
            access_key=cluster.access_key or None,
            secret_key=cluster.secret_key or None,
        )
        config = ClientConfig(
            name_servers=cluster.name_servers,
            instance_name=instance_name,
            access_key=cluster.access_key,
            secret_key=cluster.secret_key,
        )
        instance = ClientInstance(config, clock=clock, chance=chance, connector=connector, journal=Journal(clock))
        self._config = ProducerConfig(group=cluster.group, retry_times=0)
        self._producer = Producer(self._config, instance)
        self._queues: dict[str, list[MessageQueue]] = {}
        self._masters: dict[str, list[str]] = {}
        self._turn = 0

    async def open(self) -> None:
        """Connect to the cluster and start the producer.  Raises ConnectFailed if no name server answers."""
        try:
            await self._admin.names.cluster()
        except RemotingError as error:
            where = ";".join(self._cluster.name_servers)
            raise ConnectFailed(
                f"No name server answers at {where}: {error}. Start it, or correct the option names."
            ) from error
        await self._producer.start()
        if self._asks:
            await self._clock.sleep(SETTLE_S)

    async def send(self, rows: Iterable[Row]) -> None:
        """Send these rows and return when brokers have stored all of them.

        Raises SandboxError with a sentence; then some rows may be stored.
        """
        chunk: list[Row] = []
        for row in rows:
            chunk.append(row)
            if len(chunk) == CHUNK_ROWS:
                await self._chunk(chunk)
                chunk = []
        if chunk:
            await self._chunk(chunk)

    async def close(self) -> None:
        await self._producer.shutdown()
        self._admin.close()

    async def _chunk(self, rows: Sequence[Row]) -> None:
        for topic in sorted({row.topic for row in rows} - set(self._queues)):
            await self._learn(topic)
        named = [(row, message(row, self._naming.name(row))) for row in rows]
        to_send = {id(made) for _, made in named}
        if self._asks:
            to_send = {id(made) for made in await self._missing([made for _, made in named])}
        ways: dict[MessageQueue, list[list[Message]]] = {}
        for queue_id, packet in packets([(row, made) for row, made in named if id(made) in to_send]):
            ways.setdefault(self._queue(packet[0].topic, queue_id), []).append(packet)
        await _all(self._one_by_one(queue, ways[queue]) for queue in sorted(ways))

    async def _one_by_one(self, queue: MessageQueue, parts: list[list[Message]]) -> None:
        """Send packets to one queue one after the other, so that its rows keep their order."""
        for packet in parts:
            await self._deliver(queue, packet)

    async def _deliver(self, queue: MessageQueue, packet: list[Message]) -> None:
        """Send one packet and retry until the broker has stored each message once.

        Raises ConnectFailed after `TRIES` attempts without an answer, or an error if the broker refuses.
        """
        doubts, busy = 0, 0
        while packet:
            try:
                if doubts:
                    packet = await self._missing(packet)
                await self._hand_over(queue, packet)
                self.sent += len(packet)
                return
            except BrokerRefused as no:
                busy += 1
                if no.code not in BUSY or busy == BUSY_TRIES:
                    raise _refused(queue, packet, no) from no
                await self._clock.sleep(PAUSE_S)
            except RemotingError as error:  # it may be stored all the same
                doubts += 1
                if doubts == TRIES:
                    raise ConnectFailed(
                        f"{queue.broker} does not accept messages for {queue.topic}: {error}."
                    ) from error
                await self._clock.sleep(PAUSE_S * 2 ** (doubts - 1))

    async def _hand_over(self, queue: MessageQueue, packet: list[Message]) -> None:
        try:
            if len(packet) > 1:
                await self._producer.send_batch(packet, queue=queue)
            elif packet:
                await self._producer.send(packet[0], queue=queue)
        except ClientError as error:
            raise _refused(queue, packet, error) from error

    async def _missing(self, asked: list[Message]) -> list[Message]:
        """Return the messages that no broker has.  Raises RemotingError if one of them cannot be queried."""
        turns = asyncio.Semaphore(QUESTIONS)

        async def is_there(made: Message) -> bool:
            async with turns:
                for address in self._masters[made.topic]:
                    for topic in (made.topic, DELAYED) if properties.DELAY in made.properties else (made.topic,):
                        if await self._admin.messages.by_unique_key(address, topic, made.unique_key or ""):
                            return True
                return False

        are_stored = await _all(map(is_there, asked))
        missing = [made for made, known in zip(asked, are_stored, strict=True) if not known]
        self.found += len(asked) - len(missing)
        return missing

    async def _learn(self, topic: str) -> None:
        """Read the topic's queues and masters.  Raises ClientError if it does not exist or accepts no messages."""
        try:
            route = await self._admin.names.route(topic)
        except BrokerRefused as no:
            if no.code != ResponseCode.TOPIC_NOT_EXIST:
                raise
            where = ";".join(self._cluster.name_servers)
            raise ClientError(f"No topic {topic} at {where}. Create it first.") from no
        self._queues[topic] = publish_queues(topic, route)
        if not self._queues[topic]:
            raise ClientError(f"The topic {topic} has no queue that accepts messages now.")
        self._masters[topic] = sorted((await self._admin.names.masters_of(topic)).values())

    def _queue(self, topic: str, queue_id: int | None) -> MessageQueue:
        """Return the queue with this id, or the topic's next queue in turn if it is None.

        Raises ClientError for an unknown queue id.
        """
        queues = [queue for queue in self._queues[topic] if queue_id is None or queue.queue_id == queue_id]
        if not queues:
            most = max(queue.queue_id for queue in self._queues[topic])
            raise ClientError(f"The topic {topic} has no queue {queue_id}: its queues are 0 to {most}.")
        self._turn += 1
        return queues[self._turn % len(queues)]


def packets(named: Iterable[tuple[Row, Message]]) -> Iterator[tuple[int | None, list[Message]]]:
    """Yield packets of messages to send together, each with its queue id: of one topic and queue, in order.

    A packet fits one request.  Delayed messages are sent alone, since a batch cannot contain them, and so are large
    ones, since a batch is not compressed.
    """
    open_ones: dict[tuple[str, int | None], list[Message]] = {}
    room: dict[tuple[str, int | None], int] = {}
    for row, made in named:
        key = row.topic, row.queue_id
        alone = row.delay_level > 0 or len(row.body) >= ProducerConfig.compress_over_bytes or row.topic.startswith("%")
        size = len(row.body) + sum(len(key) + len(value) for key, value in made.properties.items())
        if key in open_ones and (alone or size > room[key] or len(open_ones[key]) == PACKET_ROWS):
            yield row.queue_id, open_ones.pop(key)
        if alone:
            yield row.queue_id, [made]
            continue
        if key not in open_ones:
            open_ones[key], room[key] = [], PACKET_BYTES
        open_ones[key].append(made)
        room[key] -= size
    for (_, queue_id), packet in open_ones.items():
        yield queue_id, packet


def _refused(queue: MessageQueue, packet: list[Message], error: SandboxError) -> ClientError:
    largest = max(len(made.body) for made in packet)
    what = f"{len(packet)} messages, the largest of {largest} bytes,"
    if len(packet) == 1:
        what = f"a message of {largest} bytes"
    remark = error.remark if isinstance(error, BrokerRefused) else str(error)
    return ClientError(f"{queue.broker} does not accept {what} for {queue.topic}: {remark.rstrip('.')}.")


async def _all(coroutines: "Iterable[Coroutine[Any, Any, Any]]") -> list[Any]:
    """Run the coroutines concurrently and return their results; the first error cancels the others and is raised."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
