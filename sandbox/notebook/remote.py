"""Clients of a remote cluster for a notebook or a script: producers, consumers and administrator over TCP.

The cluster may be a sandbox whose port is open, `manage.py broker`, or Apache's RocketMQ 4.9 or 5.x (docs/notebook.md).
"""

import asyncio
import inspect
import itertools
import os
import socket
import ssl
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from sandbox.client.admin import Admin
from sandbox.client.allocate import strategy
from sandbox.client.config import ClientConfig, ConsumeFromWhere, MessageModel, ProducerConfig, PushConsumerConfig
from sandbox.client.instance import ClientInstance
from sandbox.client.lite_pull_config import LitePullConsumerConfig
from sandbox.client.lite_pull_consumer import LitePullConsumer
from sandbox.client.producer import Producer
from sandbox.client.pull_consumer import PullConsumer, PullConsumerConfig
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from sandbox.client.transaction_producer import (
    LocalTransaction,
    LocalTransactionState,
    TransactionProducer,
    TransactionSendResult,
)
from sandbox.cluster.client_files import ClientFiles
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock, wall_ms
from sandbox.message.filter import SQL92, TAG
from sandbox.message.message import Message
from sandbox.notebook.blocking import Blocking, LoopThread
from sandbox.transport.tcp_client import TcpConnector

T = TypeVar("T")

GROUP = "notebook"
NUMBERS = itertools.count(1)  # of the clients of this process: each has an id of its own

Listener = Callable[..., Any]
"""Called with one message, in a thread of its own; False or an exception: deliver again later.  A coroutine function
gets the messages and their context and returns a status (client.listeners).
"""


class BlockingAdmin(NamedTuple):
    """The parts of `client.admin.Admin`; every method waits for its result."""

    names: Blocking
    brokers: Blocking
    topics: Blocking
    groups: Blocking
    offsets: Blocking
    messages: Blocking


def connect(name_servers: str | Sequence[str], **options: Any) -> "Remote":
    """Return a `Remote` for the cluster behind these name servers, `host:port`; several by semicolon or as a list.

    Options: `access_key` and `secret_key`, `tls` (an SSLContext), `home` (a directory for the offsets of
    broadcasting members; without it they are lost with the process).
    """
    addresses = name_servers.split(";") if isinstance(name_servers, str) else list(name_servers)
    return Remote([address.strip() for address in addresses if address.strip()], **options)


class Remote:
    """Maker of clients: each has a process identity of its own, and all are stopped when it is closed.

    Every returned object blocks until its answer comes, without `await`; errors are those of kernel.errors:
    RemotingError when no node can be reached, BrokerRefused with code and remark when the cluster refuses.
    """

    def __init__(
        self,
        name_servers: Sequence[str],
        *,
        access_key: str | None = None,
        secret_key: str | None = None,
        tls: ssl.SSLContext | None = None,
        home: str | Path | None = None,
    ) -> None:
        self.name_servers = tuple(name_servers)
        self._keys = access_key or "", secret_key or ""
        self._ends = ExitStack()
        if home is None:
            home = self._ends.enter_context(tempfile.TemporaryDirectory(prefix="queueviz-"))
        self._files = ClientFiles(Path(home))
        self._thread = LoopThread("queueviz-remote")
        self._ends.callback(self._thread.close)
        self._ip = _own_ip(self.name_servers)
        self._chance = Chance(f"{os.getpid()} {wall_ms()}")
        self._connector = self._thread.run(_made(lambda: TcpConnector(tls=tls)))
        self._ends.callback(lambda: self._thread.run(self._connector.close()))
        self._clock = ScaledClock(self._thread.loop, start_ms=wall_ms())
        self._ends.callback(lambda: self._thread.run(_made(self._clock.close)))
        self.journal = Journal(self._clock)
        self._admin = Admin(
            self.name_servers,
            clock=self._clock,
            connector=self._connector,
            access_key=access_key,
            secret_key=secret_key,
        )
        self._ends.callback(lambda: self._thread.run(_made(self._admin.close)))

    def __enter__(self) -> "Remote":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop every client, the last one made first: each commits the messages it has finished and unregisters."""
        self._ends.close()

    @property
    def admin(self) -> BlockingAdmin:
        """The functions of `mqadmin`."""
        client = self._admin
        return BlockingAdmin(
            *(
                Blocking(part, self._thread)
                for part in (
                    client.names,
                    client.brokers,
                    client.topics,
                    client.groups,
                    client.offsets,
                    client.messages,
                )
            )
        )

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop of the clients and return its result; it accesses them by their `inner`."""
        return self._thread.run(coroutine)

    def producer(self, group: str = GROUP, *, name: str | None = None, **settings: Any) -> Blocking:
        """Return a started `client.producer.Producer`; `settings` are those of ProducerConfig."""
        producer = Producer(ProducerConfig(group=group, **settings), self._instance(name))
        return self._started(producer, producer.instance)

    def transaction_producer(
        self, check: Callable[[Message], bool | None], group: str = GROUP, *, name: str | None = None, **settings: Any
    ) -> "Transactions":
        """Return a started `TransactionProducer`.

        `check(message)` returns the outcome of the message's transaction: True for commit, False for roll back, None
        for unknown.
        """
        inner = TransactionProducer(ProducerConfig(group=group, **settings), self._instance(name), _outcome(check))
        return Transactions(self._started(inner, inner.producer.instance))

    def push_consumer(
        self,
        listener: Listener,
        group: str = GROUP,
        *,
        topics: Mapping[str, str] | Sequence[str],
        sql: bool = False,
        orderly: bool = False,
        name: str | None = None,
        **settings: Any,
    ) -> Blocking:
        """Return a started `PushConsumer` for topics with their tag expressions, or SQL92 ones with `sql`.

        `settings` are those of PushConsumerConfig: model="BROADCASTING", threads=4, max_reconsume_times=3, …
        """
        config = PushConsumerConfig(group=group, listener="orderly" if orderly else "concurrent", **_typed(settings))
        consumer = PushConsumer(config, self._instance(name), _listening(listener, orderly=config.orderly))
        for topic, expression in _expressions(topics).items():
            consumer.subscribe(topic, expression, expression_type=SQL92 if sql else TAG)
        return self._started(consumer, consumer.instance)

    def pull_consumer(self, group: str = GROUP, *, name: str | None = None, **settings: Any) -> Blocking:
        """Return a started `PullConsumer`, which pulls the queues and offsets that you give it."""
        consumer = PullConsumer(PullConsumerConfig(group=group, **_typed(settings)), self._instance(name, stream=True))
        return self._started(consumer, consumer.instance)

    def lite_pull_consumer(
        self,
        group: str = GROUP,
        *,
        topics: Mapping[str, str] | Sequence[str] = (),
        name: str | None = None,
        **settings: Any,
    ) -> Blocking:
        """Return a started `LitePullConsumer`; without topics its queues are set by `assign`."""
        consumer = LitePullConsumer(
            LitePullConsumerConfig(group=group, **_typed(settings)), self._instance(name, stream=True)
        )
        waiting = self._started(consumer, consumer.instance)
        for topic, expression in _expressions(topics).items():
            waiting.subscribe(topic, expression)
        return waiting

    def _instance(self, name: str | None, *, stream: bool = False) -> ClientInstance:
        access_key, secret_key = self._keys
        config = ClientConfig(
            name_servers=self.name_servers,
            ip=self._ip,
            pid=os.getpid(),
            stream=stream,
            instance_name=name or f"{os.getpid()}#{next(NUMBERS)}",
            access_key=access_key,
            secret_key=secret_key,
        )
        return self._thread.run(
            _made(
                lambda: ClientInstance(
                    config,
                    clock=self._clock,
                    chance=self._chance,
                    connector=self._connector,
                    journal=self.journal,
                    files=self._files,
                )
            )
        )

    def _started(self, client: Any, instance: ClientInstance) -> Blocking:
        try:
            self._thread.run(client.start())
        except BaseException:
            self._thread.run(_made(instance.crash))  # a client that started in part
            raise
        self._ends.callback(lambda: self._thread.run(client.shutdown()))
        return Blocking(client, self._thread)


class Transactions:
    """Producer of messages in transactions.

    `execute(message)` is the local transaction and returns the same values as `check`.
    """

    def __init__(self, producer: Blocking) -> None:
        self.producer = producer

    def send(self, message: Message, execute: Callable[[Message], bool | None]) -> TransactionSendResult:
        """Send a half message; return the result of the send and the state of the local transaction."""
        result: TransactionSendResult = self.producer.send_in_transaction(message, _outcome(execute))
        return result


def _typed(settings: dict[str, object]) -> dict[str, Any]:
    """Return the settings with RocketMQ's enum names in text replaced by their values."""
    kinds: dict[str, Callable[[Any], Any]] = {
        "model": MessageModel,
        "from_where": ConsumeFromWhere,
        "strategy": lambda chosen: strategy(chosen) if isinstance(chosen, str) else chosen,
    }
    return {name: kinds[name](value) if name in kinds else value for name, value in settings.items()}


def _expressions(topics: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    return dict(topics) if isinstance(topics, Mapping) else dict.fromkeys(topics, "*")


async def _made(make: Callable[[], T]) -> T:
    """Call `make` on the loop, for objects bound to it, and return the result."""
    return make()


def _outcome(decide: Callable[[Message], bool | None]) -> LocalTransaction:
    states = {True: LocalTransactionState.COMMIT_MESSAGE, False: LocalTransactionState.ROLLBACK_MESSAGE}

    async def local(message: Message) -> LocalTransactionState:
        decided = await asyncio.to_thread(decide, message)
        return LocalTransactionState.UNKNOW if decided is None else states[bool(decided)]

    return local


def _listening(listener: Listener, *, orderly: bool) -> Any:
    """Return a listener of the client library that calls a function with one message at a time."""
    if inspect.iscoroutinefunction(listener):
        return listener
    done, later = (
        (ConsumeOrderlyStatus.SUCCESS, ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT)
        if orderly
        else (ConsumeConcurrentlyStatus.CONSUME_SUCCESS, ConsumeConcurrentlyStatus.RECONSUME_LATER)
    )

    async def listen(messages: list[Message], context: object) -> object:
        for message in messages:
            if await asyncio.to_thread(listener, message) is False:
                return later
        return done

    return listen


def _own_ip(name_servers: Sequence[str]) -> str:
    """Return the address of this machine from which it would reach the name servers; nothing is sent."""
    host, _, port = name_servers[0].rpartition(":") if name_servers else ("", "", "0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, int(port)))
        except (OSError, ValueError):
            return "127.0.0.1"
        ip: str = probe.getsockname()[0]
        return ip
