"""Real sockets on loopback: a listener behind a port, and clients that speak bytes."""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sandbox.journal.events import ConnectionRefused, LimitReached
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import ScaledClock
from sandbox.remoting.channel import Channel
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.frame import FrameDecoder, encode
from sandbox.transport.tcp_guard import TcpGuard
from sandbox.transport.tcp_limits import TcpLimits
from sandbox.transport.tcp_server import TcpServer

T = TypeVar("T")

WITHIN_S = 10.0  # nothing here takes so long, on whatever machine

Answer = Callable[[RemotingCommand], RemotingCommand | None]


class Node:
    """A listener that answers as it is asked, and writes down what it hears."""

    def __init__(self, answer: Answer = lambda c: c.reply(0, {"n": str(c.opaque)}, c.body)) -> None:
        self.answer = answer
        self.batches: list[list[int]] = []
        self.channels: list[Channel] = []
        self.gone: list[Channel] = []
        self._bells: list[asyncio.Future[None]] = []

    def connected(self, channel: Channel) -> None:
        self.channels.append(channel)
        self._ring()

    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
        self.batches.append([c.opaque for c in commands])
        for c in commands:
            answer = self.answer(c)
            if answer is not None:
                channel.send(answer)
        self._ring()

    def disconnected(self, channel: Channel) -> None:
        self.gone.append(channel)
        self._ring()

    @property
    def heard(self) -> list[int]:
        return [opaque for batch in self.batches for opaque in batch]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Look again whenever something was heard."""
        async with asyncio.timeout(WITHIN_S):
            while not condition():
                bell = asyncio.get_running_loop().create_future()
                self._bells.append(bell)
                await bell

    def _ring(self) -> None:
        bells, self._bells = self._bells, []
        for bell in bells:
            if not bell.done():
                bell.set_result(None)


class Port:
    """A server on a free port.  Use it as an async context manager."""

    def __init__(
        self,
        node: Node | None = None,
        *,
        limits: TcpLimits | None = None,
        idle: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.node = node or Node()
        self.clock = ScaledClock(asyncio.get_running_loop(), start_ms=1_700_000_000_000)
        self.journal = Journal(self.clock)
        self.guard = TcpGuard(limits or TcpLimits(), clock=self.clock, journal=self.journal)
        self.server = TcpServer(self.node, self.guard, idle=idle, tls=tls)
        self.clients: list[Raw] = []

    async def __aenter__(self) -> "Port":
        self.server.open("127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        async with asyncio.timeout(WITHIN_S):
            await self.server.close()
        for client in self.clients:
            client.writer.transport.abort()
        await asyncio.sleep(0)
        self.clock.close()
        assert self.guard.connections == 0
        assert self.guard.unfinished_bytes == 0

    @property
    def reported(self) -> list[ConnectionRefused | LimitReached]:
        return [
            entry.event for entry in self.journal.since(0) if isinstance(entry.event, ConnectionRefused | LimitReached)
        ]

    async def client(self) -> "Raw":
        ip, _, port = self.server.address.rpartition(":")
        return self.take(*await asyncio.open_connection(ip, int(port), limit=2**24))

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> "Raw":
        """A client's socket; it is closed when the port is."""
        self.clients.append(Raw(reader, writer))
        return self.clients[-1]


class Raw:
    """The other end of a socket, with nothing of ours in it but the frame codec."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._decoder = FrameDecoder()
        self._read: list[RemotingCommand] = []

    @property
    def address(self) -> str:
        ip, port = self.writer.get_extra_info("sockname")
        return f"{ip}:{port}"

    def say(self, *commands: RemotingCommand) -> None:
        self.writer.write(b"".join(map(encode, commands)))

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def read(self, count: int) -> list[RemotingCommand]:
        """The next so many commands that come."""
        while len(self._read) < count:
            data = await in_time(self.reader.read(65_536))
            assert data, f"the connection closed after {self._read}"
            self._read += self._decoder.feed(data)
        read, self._read = self._read[:count], self._read[count:]
        return read

    async def closed(self) -> bytes:
        """Return the bytes received until the other side closes."""
        rest = b""
        with contextlib.suppress(ConnectionResetError):
            while data := await in_time(self.reader.read(65_536)):
                rest += data
        return rest

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await in_time(self.writer.wait_closed())


async def in_time(coroutine: Awaitable[T]) -> T:
    async with asyncio.timeout(WITHIN_S):
        return await coroutine


def request(opaque: int, body: bytes | None = None, *, flag: int = 0, code: int = 31) -> RemotingCommand:
    return RemotingCommand(code, {"topic": "T"}, body, opaque=opaque, flag=flag)
