"""`manage.py broker` as people run it: a process of its own, real sockets, and our own clients over TCP."""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from sandbox.client.config import ClientConfig, ProducerConfig, PushConsumerConfig
from sandbox.client.instance import ClientInstance
from sandbox.client.producer import Producer
from sandbox.client.pull_consumer import PullConsumer, PullConsumerConfig
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock, wall_ms
from sandbox.message.message import Message
from sandbox.store.reader import StoreReader
from sandbox.transport.tcp_client import TcpConnector
from tests.patience import PATIENCE_S
from tests.server.server import ROOT, environment, until

T = TypeVar("T")

SMALL = "mappedFileSizeCommitLog=1048576\nmaxHashSlotNum=1000\nmaxIndexNum=4000\nmappedFileSizeConsumeQueue=20000\n"


def free_ports() -> int:
    """A port whose next one is free, too."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


class Process:
    """One `manage.py broker`, from its line on."""

    def __init__(self, home: Path, *arguments: str | Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "broker", *map(str, arguments)],
            cwd=ROOT,
            env=environment(home),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []

    def ready(self) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.strip())
            if "Ctrl+C" in line:
                return line
        raise AssertionError(f"it ended with {self.process.wait()}: {self.process.communicate()[1]}")

    def end(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Exit code, and what went to standard error."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, errors


@contextmanager
def running(home: Path, *arguments: str | Path) -> Iterator[Process]:
    process = Process(home, *arguments)
    try:
        process.ready()
        yield process
    finally:
        process.end(signal.SIGKILL)


def refused(home: Path, *arguments: str | Path) -> str:
    """Return the error of a start that fails."""
    process = Process(home, *arguments)
    try:
        _, errors = process.process.communicate(timeout=PATIENCE_S)
    finally:
        process.end(signal.SIGKILL)
    assert process.process.returncode == 1
    assert "Traceback" not in errors
    return errors.strip().splitlines()[-1]


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """A `broker.conf` with small files, so that the test needs little room."""
    path = tmp_path / "broker.conf"
    path.write_text(SMALL + "storePathRootDir=/somewhere\n")
    return path


class Client:
    """One client process of ours, on the running loop."""

    def __init__(self, name_server: str, name: str, *, stream: bool = False) -> None:
        clock = ScaledClock(asyncio.get_running_loop(), start_ms=wall_ms())
        self.connector = TcpConnector()
        config = ClientConfig(name_servers=(name_server,), instance_name=name, stream=stream)
        self.instance = ClientInstance(
            config, clock=clock, chance=Chance(name), connector=self.connector, journal=Journal(clock)
        )
        self._clock = clock

    async def close(self) -> None:
        self.instance.crash()
        await self.connector.close()
        self._clock.close()


def with_client(
    name_server: str, name: str, coroutine: Callable[[ClientInstance], Awaitable[T]], *, stream: bool = False
) -> T:
    async def run() -> T:
        client = Client(name_server, name, stream=stream)
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await coroutine(client.instance)
        finally:
            await client.close()

    return asyncio.run(run())


def bodies_in(store: Path, topic: str) -> list[bytes]:
    """As they lie in the log; a slave's begins with what its master sends."""
    if not (store / "commitlog").is_dir():
        return []
    with StoreReader(store) as reader:
        return [record.body for record in reader.records() if record.topic == topic]


def send(name_server: str, *bodies: bytes) -> None:
    async def coroutine(instance: ClientInstance) -> None:
        producer = Producer(ProducerConfig(group="PG"), instance)
        await producer.start()
        for body in bodies:
            await producer.send(Message("orders", body))

    with_client(name_server, "sender", coroutine)


def pull_all(name_server: str) -> list[bytes]:
    async def coroutine(instance: ClientInstance) -> list[bytes]:
        consumer = PullConsumer(PullConsumerConfig(group="CG"), instance)
        await consumer.start()
        found: list[bytes] = []
        for queue in await consumer.fetch_subscribe_queues("orders"):
            result = await consumer.pull(queue, 0)
            found += [message.body for message in result.messages]
        return sorted(found)

    return with_client(name_server, "reader", coroutine, stream=True)


def test_messages_sent_over_tcp_are_there_after_a_clean_end_and_a_new_start(tmp_path: Path, settings: Path) -> None:
    address, store = f"127.0.0.1:{free_ports()}", tmp_path / "store"
    start = ("--store", store, "--listen", address, "--properties", settings)
    with running(tmp_path, *start) as process:
        assert process.said == [
            "Properties without effect in this broker: storePathRootDir",
            f"QueueViz: name server {address}, broker broker-a {address}; store {store}   (Ctrl+C stops it)",
        ]
        send(address, b"one", b"two", b"three")
        assert pull_all(address) == [b"one", b"three", b"two"]
        assert (store / "abort").exists()
        code, errors = process.end(signal.SIGTERM)
        assert (code, "Traceback" in errors) == (0, False)
    assert not (store / "abort").exists(), "it ended cleanly"
    with running(tmp_path, *start) as process:
        assert pull_all(address) == [b"one", b"three", b"two"]
        assert process.end(signal.SIGINT)[0] == 0


def test_what_stands_in_the_way_is_said_in_one_sentence(tmp_path: Path, settings: Path) -> None:
    port, store = free_ports(), tmp_path / "store"
    address = f"127.0.0.1:{port}"
    with running(tmp_path, "--store", store, "--listen", address, "--properties", settings):
        assert refused(tmp_path, "--store", tmp_path / "other", "--listen", address) == (
            f"CommandError: Cannot listen on {address}: another program uses this port. Change --listen."
        )
        assert not (tmp_path / "other").exists()
        held = refused(tmp_path, "--store", store, "--listen", f"127.0.0.1:{free_ports()}", "--properties", settings)
        assert held == (f"CommandError: The store {store} cannot be opened: another broker holds {store}: lock failed.")
    (tmp_path / "file").write_text("")
    assert "The store" in refused(tmp_path, "--store", tmp_path / "file", "--listen", address)
    assert "cannot be read: No such file" in refused(tmp_path, "--store", store, "--properties", tmp_path / "none")
    assert "Add --public" in refused(tmp_path, "--store", store, "--listen", "0.0.0.0:9876")
    assert "did not return the broker at" in refused(
        tmp_path, "--store", store, "--listen", f"127.0.0.1:{free_ports()}", "--slave-of", address
    )


def test_a_killed_broker_recovers(tmp_path: Path, settings: Path) -> None:
    address, store = f"127.0.0.1:{free_ports()}", tmp_path / "store"
    start = ("--store", store, "--listen", address, "--properties", settings)
    with running(tmp_path, *start) as process:
        send(address, b"one", b"two")
        process.end(signal.SIGKILL)
    assert (store / "abort").exists()
    with running(tmp_path, *start):
        assert pull_all(address) == [b"one", b"two"]


def test_a_push_consumer_works_over_two_brokers(tmp_path: Path, settings: Path) -> None:
    address = f"127.0.0.1:{free_ports()}"

    async def coroutine(instance: ClientInstance) -> list[bytes]:
        got: list[bytes] = []
        enough = asyncio.Event()

        async def work(messages: list[Message], _: object) -> ConsumeConcurrentlyStatus:
            got.extend(message.body for message in messages)
            if len(got) >= 16:
                enough.set()
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        consumer = PushConsumer(PushConsumerConfig(group="CG"), instance, work)
        consumer.subscribe("orders", "*")
        await consumer.start()
        await enough.wait()
        await consumer.shutdown()
        return sorted(got)

    with running(
        tmp_path, "--store", tmp_path / "store", "--listen", address, "--properties", settings, "--brokers", "2"
    ) as process:
        bodies = [f"message {n:02}".encode() for n in range(16)]
        send(address, *bodies)
        assert with_client(address, "pusher", coroutine) == bodies
        assert process.end()[0] == 0
    stored = [len(bodies_in(tmp_path / "store" / name, "orders")) for name in ("broker-a", "broker-b")]
    assert sum(stored) == 16
    assert all(stored), "both brokers were sent to"


def test_a_slave_in_a_process_of_its_own_copies_its_master(tmp_path: Path, settings: Path) -> None:
    master, slave = f"127.0.0.1:{free_ports()}", f"127.0.0.1:{free_ports()}"
    with running(tmp_path, "--store", tmp_path / "master", "--listen", master, "--properties", settings) as first:
        with running(
            tmp_path, "--store", tmp_path / "slave", "--listen", slave, "--properties", settings, "--slave-of", master
        ) as second:
            assert f"slave broker-a.1 {slave}" in second.said[-1]
            send(master, b"one", b"two")
            until(lambda: bodies_in(tmp_path / "slave", "orders") == [b"one", b"two"])
            assert second.end()[0] == 0
        assert first.end()[0] == 0
    assert bodies_in(tmp_path / "slave", "orders") == [b"one", b"two"]
