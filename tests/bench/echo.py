"""The baseline of every send benchmark: the same bytes and commands with no one at home.

`tcp` is a bare asyncio echo: no frame is read.  `wire` adds reading and writing of frames.  `loopback` passes
commands inside the process.  What the broker costs is its own figure minus these.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from sandbox.remoting.channel import Channel
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.frame import FrameDecoder, encode
from sandbox.remoting.headers import SendHeader, SendResponseHeader
from sandbox.transport.loopback import LoopbackNetwork
from tests.bench.calibration import calibrate

CONNECTIONS = 4
IN_FLIGHT = 16
REQUESTS = 20_000
NODE = "127.0.0.1:10911"

HEADER = SendHeader("PG", "BenchmarkTest", "TBW102", 4, 0, 0, 1_700_000_000_000, 0,
                    "UNIQ_KEY\x017F00000142035FFD2B2762EA0A990000\x02WAIT\x01true", broker="broker-a")
ANSWER = SendResponseHeader("7F00000100002A9F0000000000000000", 0, 0).to_ext()


def send_command() -> RemotingCommand:
    """What a client builds for one send of 100 bytes."""
    return RemotingCommand(310, HEADER.to_ext(), bytes(100))


def run(requests: int = REQUESTS) -> dict[str, Any]:
    """CPU microseconds per request, client included, and requests per wall second."""
    return {
        "calibration_us": round(calibrate(), 3),
        "tcp": asyncio.run(_measured(_tcp, requests)),
        "wire": asyncio.run(_measured(_wire, requests)),
        "loopback": asyncio.run(_measured(_loopback, requests)),
    }


async def _measured(work: Callable[[int], Awaitable[None]], requests: int) -> dict[str, float]:
    await work(min(requests, 1000))  # warm
    cpu, wall = time.process_time(), time.perf_counter()
    await work(requests)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu_us": round(cpu / requests * 1e6, 2), "per_second": round(requests / wall)}


def round_trips(rounds: int = 2_000, size: int = 400) -> dict[str, float]:
    """One at a time through the bare asyncio echo: milliseconds there and back."""

    async def measure() -> list[float]:
        server = await asyncio.get_running_loop().create_server(_Echo, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        times = []
        for _ in range(rounds):
            began_s = time.perf_counter()
            writer.write(bytes(size))
            await reader.readexactly(size)
            times.append((time.perf_counter() - began_s) * 1000)
        writer.close()
        await writer.wait_closed()
        server.close()
        await server.wait_closed()
        return sorted(times)

    times = asyncio.run(measure())
    return {"p50_ms": round(times[rounds // 2], 3), "p99_ms": round(times[rounds * 99 // 100], 3)}


class _Echo(asyncio.Protocol):
    """Says everything back."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)


class _Caller(asyncio.Protocol):
    """Keeps some requests under way until enough have come back."""

    def __init__(self, frame: bytes, requests: int) -> None:
        self._frame = frame
        self._to_send = requests
        self._missing_bytes = requests * len(frame)
        self._tail = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send(IN_FLIGHT)

    def data_received(self, data: bytes) -> None:
        self._missing_bytes -= len(data)
        frames, self._tail = divmod(self._tail + len(data), len(self._frame))
        self._send(frames)
        if self._missing_bytes == 0:
            self._transport.close()
            self.done.set_result(None)

    def _send(self, frames: int) -> None:
        frames = min(frames, self._to_send)
        self._to_send -= frames
        if frames:
            self._transport.write(self._frame * frames)


async def _tcp(requests: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Echo, "127.0.0.1", 0)
    address = server.sockets[0].getsockname()
    callers = [await loop.create_connection(lambda: _Caller(encode(send_command()), requests // CONNECTIONS), *address)
               for _ in range(CONNECTIONS)]
    await asyncio.gather(*(caller.done for _, caller in callers))
    server.close()
    await server.wait_closed()


async def _wire(requests: int) -> None:
    """No socket: only what both ends do to frames."""
    decoders = FrameDecoder(), FrameDecoder()
    for _ in range(requests // IN_FLIGHT):
        asked = decoders[0].feed(b"".join(encode(send_command()) for _ in range(IN_FLIGHT)))
        decoders[1].feed(b"".join(encode(command.reply(0, ANSWER)) for command in asked))


class _Answerer:
    """A node that says yes."""

    def connected(self, channel: Channel) -> None:
        pass

    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
        for command in commands:
            channel.send(command.reply(0, ANSWER))

    def disconnected(self, channel: Channel) -> None:
        pass


async def _loopback(requests: int) -> None:
    network = LoopbackNetwork(asyncio.get_running_loop())
    network.listen(NODE, _Answerer())
    done = asyncio.get_running_loop().create_future()
    left = requests

    def heard(commands: list[RemotingCommand], channel: Channel) -> None:
        nonlocal left
        left -= len(commands)
        if left > 0:
            for _ in commands:
                channel.send(send_command())
        elif not done.done():
            done.set_result(None)

    connector = network.connector("127.0.0.1")
    channels = [await connector.connect(NODE, heard, lambda _: None) for _ in range(CONNECTIONS)]
    for channel in channels:
        for _ in range(IN_FLIGHT):
            channel.send(send_command())
    await done
    for channel in channels:
        channel.close()
