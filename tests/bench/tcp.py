"""Sends over TCP: CPU of the serving process alone, the client being another process.

`echo` is the same port and the same frames with a node that says yes: what sockets, frames and batches cost.  `send` is
a real broker with its store.  `16x16` are connections × requests under way on each.
"""

import asyncio
import multiprocessing
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbox.broker.broker import Broker
from sandbox.broker.config import BrokerConfig
from sandbox.cluster.shared_listener import SharedListener
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock
from sandbox.message.msg_id import host_bytes
from sandbox.namesrv.config import NameServerConfig
from sandbox.namesrv.name_server import NameServer
from sandbox.remoting.channel import Channel, Listener
from sandbox.remoting.command import RemotingCommand, SerializeType
from sandbox.remoting.frame import encode
from sandbox.remoting.headers import SendHeader, SendResponseHeader
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import FileDisk, InlineFlusher
from sandbox.store.message_store import MessageStore
from sandbox.transport.tcp_guard import TcpGuard
from sandbox.transport.tcp_limits import HEADLESS
from sandbox.transport.tcp_server import TcpServer
from tests.bench.calibration import calibrate

SHAPES = ((16, 16), (64, 1), (1, 32), (1, 1))
BODIES = (128, 1024)
REQUESTS = 40_000
ANSWER = SendResponseHeader("7F00000100002A9F0000000000000000", 0, 0).to_ext()
LOG_FILE_BYTES = 256 * 1024 * 1024
PROPERTIES = "UNIQ_KEY\x017F00000142035FFD2B2762EA0A990000\x02WAIT\x01true\x02TAGS\x01TagA"


def run(requests: int = REQUESTS, shapes: tuple[tuple[int, int], ...] = SHAPES) -> dict[str, Any]:
    """CPU microseconds of the server per request, and requests per wall second."""
    found: dict[str, Any] = {"calibration_us": round(calibrate(), 3)}
    for connections, in_flight in shapes:
        shape = f"{connections}x{in_flight}"
        found[f"echo_{shape}"] = asyncio.run(measured(connections, in_flight, BODIES[0], requests, echo=True))
        for size in BODIES:
            found[f"send_{shape}_{size}"] = asyncio.run(measured(connections, in_flight, size, requests))
    found["send_16x16_128_binary_header"] = asyncio.run(
        measured(16, 16, BODIES[0], requests, kind=SerializeType.ROCKETMQ)
    )
    return found


class Yes:
    """A node that says yes."""

    def connected(self, channel: Channel) -> None:
        pass

    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
        for command in commands:
            channel.send(command.reply(0, ANSWER))

    def disconnected(self, channel: Channel) -> None:
        pass


async def measured(
    connections: int,
    in_flight: int,
    body_bytes: int,
    requests: int,
    *,
    echo: bool = False,
    kind: int = SerializeType.JSON,
) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    clock = ScaledClock(loop, start_ms=1_700_000_000_000)
    journal = Journal(clock)
    journal.tracing = False
    with _node(clock, journal, echo=echo) as listener:
        server = TcpServer(listener, TcpGuard(HEADLESS, clock=clock, journal=journal))
        server.open("127.0.0.1", 0)
        port = int(server.address.rpartition(":")[2])
        await _load(port, connections, in_flight, body_bytes, min(requests, 4_000), kind)  # warm
        cpu, wall = await _load(port, connections, in_flight, body_bytes, requests, kind)
        await server.close()
    clock.close()
    return {"cpu_us": round(cpu / requests * 1e6, 2), "per_second": round(requests / wall)}


@contextmanager
def _node(clock: ScaledClock, journal: Journal, *, echo: bool) -> Iterator[Listener]:
    """Inside: who is behind the port."""
    if echo:
        yield Yes()
        return
    with tempfile.TemporaryDirectory() as directory:
        store = MessageStore(
            MessageStoreConfig(commit_log_file_bytes=LOG_FILE_BYTES),
            disk=FileDisk(Path(directory)),
            clock=clock,
            journal=journal,
            broker="broker-a",
            broker_id=0,
            store_host=host_bytes("127.0.0.1", 9876),
            flusher=InlineFlusher(),
        )
        broker = Broker(
            BrokerConfig(name="broker-a", address="127.0.0.1:9876"),
            store=store,
            clock=clock,
            chance=Chance(1),
            journal=journal,
            connector=None,
            name_servers=(),
        )
        name_server = NameServer(NameServerConfig(address="127.0.0.1:9876"), clock=clock, journal=journal, name="ns")
        broker.start()
        name_server.start()
        try:
            yield SharedListener(broker, lambda: name_server)
        finally:
            broker.kill()
            name_server.stop()


async def _load(
    port: int, connections: int, in_flight: int, body_bytes: int, requests: int, kind: int
) -> tuple[float, float]:
    """Have another process send, and serve meanwhile; returns what that took, in seconds of CPU and of the wall."""
    context = multiprocessing.get_context("spawn")
    ready, go = context.Event(), context.Event()
    child = context.Process(target=send_all, args=(port, connections, in_flight, body_bytes, requests, kind, ready, go))
    child.start()
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, ready.wait)
    cpu, wall = time.process_time(), time.perf_counter()
    go.set()
    await loop.run_in_executor(None, child.join)
    assert child.exitcode == 0
    return time.process_time() - cpu, time.perf_counter() - wall


def send_all(
    port: int, connections: int, in_flight: int, body_bytes: int, requests: int, kind: int, ready: Any, go: Any
) -> None:
    """Keep as many requests under way on each connection until all are answered; runs in the other process."""
    asyncio.run(_send_all(port, connections, in_flight, body_bytes, requests, kind, ready, go))


async def _send_all(
    port: int, connections: int, in_flight: int, body_bytes: int, requests: int, kind: int, ready: Any, go: Any
) -> None:
    loop = asyncio.get_running_loop()
    callers = []
    for n in range(connections):
        header = SendHeader(
            "PG", "BenchmarkTest", "TBW102", 4, n % 4, 0, 1_700_000_000_000, 0, PROPERTIES, broker="broker-a"
        )
        frame = encode(RemotingCommand(310, header.to_ext(), bytes(body_bytes), serialize_type=kind))
        _, caller = await loop.create_connection(lambda frame=frame: _Caller(frame), "127.0.0.1", port)  # type: ignore[misc]
        callers.append(caller)
    ready.set()
    go.wait()
    await asyncio.gather(*(caller.run(requests // connections, in_flight) for caller in callers))


class _Caller(asyncio.Protocol):
    """Counts answers by their lengths; it is no concern of ours what a client costs."""

    def __init__(self, frame: bytes) -> None:
        self._frame = frame
        self._tail = b""
        self._left_to_send = self._left_to_come = 0
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def run(self, requests: int, in_flight: int) -> None:
        self._left_to_send = self._left_to_come = requests
        self._send(in_flight)
        await self._done
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        data = self._tail + data
        at = came = 0
        while len(data) - at >= 4:
            stop = at + 4 + int.from_bytes(data[at : at + 4])
            if stop > len(data):
                break
            if data.find(b'"code":0', at, stop) < 0 and data[at + 4] == 0:
                sys.exit(f"refused: {data[at:stop]!r}")
            at, came = stop, came + 1
        self._tail = data[at:]
        self._left_to_come -= came
        self._send(came)
        if self._left_to_come == 0:
            self._done.set_result(None)

    def _send(self, count: int) -> None:
        count = min(count, self._left_to_send)
        self._left_to_send -= count
        if count:
            self._transport.write(self._frame * count)
