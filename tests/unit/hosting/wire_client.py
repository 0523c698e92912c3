"""Someone else's client: our own library over real sockets, with a clock, a journal and a process of its own."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sandbox.client.config import ClientConfig, ConsumeFromWhere, ProducerConfig, PushConsumerConfig
from sandbox.client.instance import ClientInstance
from sandbox.client.listeners import ConsumeConcurrentlyContext
from sandbox.client.producer import Producer
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus, SendResult
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock, wall_ms
from sandbox.message.message import Message
from sandbox.transport.tcp_client import TcpConnector

T = TypeVar("T")

WITHIN_S = 20.0  # nothing here takes so long, on whatever machine


class ExternalClient:
    """One process.  Use it as an async context manager on the loop it is to live on."""

    def __init__(self, name_servers: list[str], *, name: str = "stranger", **config: Any) -> None:
        self.clock = ScaledClock(asyncio.get_running_loop(), start_ms=wall_ms())
        self.connector = TcpConnector()
        self.instance = ClientInstance(
            ClientConfig(name_servers=tuple(name_servers), ip="127.0.0.1", instance_name=name, **config),
            clock=self.clock,
            chance=Chance(name),
            connector=self.connector,
            journal=Journal(self.clock),
        )
        self.read: list[bytes] = []
        self._bell = asyncio.Event()

    @property
    def client_id(self) -> str:
        return self.instance.client_id

    async def __aenter__(self) -> "ExternalClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.instance.crash()
        async with asyncio.timeout(WITHIN_S):
            await self.connector.close()
        self.clock.close()

    async def send(self, topic: str, *bodies: bytes, group: str = "abroad") -> list[SendResult]:
        async with asyncio.timeout(WITHIN_S):
            producer = Producer(ProducerConfig(group=group), self.instance)
            await producer.start()
            return [await producer.send(Message(topic, body)) for body in bodies]

    async def consume(self, topic: str, group: str = "readers") -> PushConsumer:
        """Everything there is, and what comes; bodies are in `read`."""

        async def listen(messages: list[Message], _: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
            self.read += [message.body for message in messages]
            self._bell.set()
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        consumer = PushConsumer(
            PushConsumerConfig(group=group, from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET),
            self.instance,
            listen,
        )
        consumer.subscribe(topic)
        async with asyncio.timeout(WITHIN_S):
            await consumer.start()
        return consumer

    async def until(self, condition: Callable[[], bool]) -> None:
        """Look again whenever a message was read."""
        async with asyncio.timeout(WITHIN_S):
            while not condition():
                self._bell.clear()
                await self._bell.wait()


@contextmanager
def abroad(name_servers: list[str], topic: str, *bodies: bytes) -> Iterator[ExternalClient]:
    """An external client in a thread of its own, which has sent these and reads the topic until the block's end."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="abroad")
    thread.start()

    def wait(coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(WITHIN_S)

    async def arrive() -> ExternalClient:
        external = ExternalClient(name_servers)
        await external.send(topic, *bodies)
        await external.consume(topic)
        await external.until(lambda: set(external.read) >= set(bodies))
        return external

    try:
        external = wait(arrive())
        try:
            yield external
        finally:
            wait(external.__aexit__())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
