"""Our clients over real sockets: connecting, failing to, and what both ends see of an end."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from sandbox.kernel.clock import ScaledClock
from sandbox.kernel.errors import ConnectFailed, ProtocolViolation
from sandbox.remoting.channel import ByteChannel, Channel
from sandbox.remoting.command import RemotingCommand
from sandbox.store.ha_wire import BlockDecoder, OffsetDecoder, encode_block, encode_offset
from sandbox.transport.tcp_client import TcpConnector
from sandbox.transport.tcp_guard import TcpGuard
from sandbox.transport.tcp_limits import TcpLimits
from sandbox.transport.tcp_server import TcpServer
from tests.certificates import write_certificate
from tests.unit.transport.tcp_stage import Node, Port, in_time, request

KIB = 1024


def ignore_end(channel: object) -> None:
    """Ignore the end of a connection."""


class Caller(Node):
    """The application behind a connection that it opened; it answers nothing."""

    def __init__(self) -> None:
        super().__init__(lambda c: None)
        self.bodies: list[int] = []

    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
        self.bodies += [len(c.body or b"") for c in commands]
        super().handle(commands, channel)


async def test_requests_and_answers_cross_with_both_addresses_known() -> None:
    caller, connector = Caller(), TcpConnector(local_ip="127.0.0.3")
    async with Port() as port:
        channel = await connector.connect(port.server.address, caller.handle, caller.disconnected)
        for n in range(50):
            channel.send(request(n))
        await caller.until(lambda: len(caller.heard) == 50)
        assert caller.heard == list(range(50))
        assert port.node.batches == [list(range(50))], "one turn, one write, one read"
        [seen] = port.node.channels
        assert seen.remote.startswith("127.0.0.3:")
        assert (channel.remote, channel.local) == (port.server.address, seen.remote)  # type: ignore[attr-defined]
        await in_time(connector.close())


async def test_a_large_body_crosses_whole() -> None:
    caller, connector = Caller(), TcpConnector()
    async with Port() as port:
        channel = await connector.connect(port.server.address, caller.handle, caller.disconnected)
        channel.send(request(1, bytes(4 * KIB * KIB)))
        await caller.until(lambda: caller.bodies == [4 * KIB * KIB])
        await in_time(connector.close())


async def test_where_no_one_listens_connecting_fails_with_a_sentence() -> None:
    connector = TcpConnector()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConnectFailed, match=f"nothing listens at {address}"):
            await in_time(connector.connect(address, lambda *_: None, ignore_end))
        answer: asyncio.Future[Channel | None] = asyncio.get_running_loop().create_future()
        connector.open(address, lambda *_: None, ignore_end, answer.set_result)
        assert not answer.done(), "it is told in a later turn"
        assert await in_time(answer) is None
    for nonsense in ("nowhere", "127.0.0.1:99999", "127.0.0.1:x"):
        with pytest.raises(ConnectFailed):
            await in_time(connector.connect(nonsense, lambda *_: None, ignore_end))


async def test_who_does_not_answer_is_not_waited_for_for_ever() -> None:
    """The kernel accepts for a listener that never does, up to its backlog; then it is silent."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        address = f"127.0.0.1:{deaf.getsockname()[1]}"
        connector = TcpConnector(TcpLimits(connect_s=0.2))
        said: list[str] = []
        while not said:
            try:
                await in_time(connector.connect(address, lambda *_: None, ignore_end))
            except ConnectFailed as why:
                said.append(str(why))
        assert said == [f"{address} did not answer within 0.2 s"]
        await in_time(connector.close())


async def test_a_waiter_that_is_cancelled_leaves_no_connection_behind() -> None:
    async with Port() as port:
        connector = TcpConnector()
        connecting = asyncio.ensure_future(connector.connect(port.server.address, lambda *_: None, ignore_end))
        await asyncio.sleep(0)
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting
        await in_time(connector.close())


async def test_each_end_hears_of_the_end_once_whichever_end_began() -> None:
    async with Port() as port:
        caller, connector = Caller(), TcpConnector()
        first = await connector.connect(port.server.address, caller.handle, caller.disconnected)
        first.close()
        assert caller.gone == [], "in a later turn"
        await caller.until(lambda: caller.gone == [first])
        await port.node.until(lambda: len(port.node.gone) == 1)
        second = await connector.connect(port.server.address, caller.handle, caller.disconnected)
        await port.node.until(lambda: len(port.node.channels) == 2)
        port.node.channels[1].close()
        await caller.until(lambda: caller.gone == [first, second])
        assert not second.is_open
        second.send(request(1))  # says nothing, and raises nothing
        await in_time(connector.close())
        assert len(caller.gone) == 2


async def test_a_connector_that_closes_ends_what_it_opened_and_opens_nothing_more() -> None:
    async with Port() as port:
        caller, connector = Caller(), TcpConnector()
        for _ in range(3):
            await connector.connect(port.server.address, caller.handle, caller.disconnected)
        connector.open(port.server.address, caller.handle, caller.disconnected, ignore_end)
        await in_time(connector.close())
        assert len(caller.gone) == 3
        with pytest.raises(ConnectFailed):
            await connector.connect(port.server.address, caller.handle, caller.disconnected)


async def test_a_server_that_talks_nonsense_is_left() -> None:
    caller, connector, over = Caller(), TcpConnector(), asyncio.Event()

    async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        await reader.read()
        writer.close()
        over.set()

    server = await asyncio.start_server(nonsense, "127.0.0.1", 0)
    ip, port = server.sockets[0].getsockname()
    channel = await connector.connect(f"{ip}:{port}", caller.handle, caller.disconnected)
    await caller.until(lambda: caller.gone == [channel])
    await in_time(over.wait())
    server.close()
    await server.wait_closed()


async def test_a_request_that_fits_into_no_frame_is_the_callers_mistake() -> None:
    async with Port() as port:
        connector = TcpConnector()
        channel = await connector.connect(port.server.address, lambda *_: None, ignore_end)
        with pytest.raises(ProtocolViolation, match="header of"):
            channel.send(RemotingCommand(10, {"properties": "x" * 1_100_000}))
        assert channel.is_open
        await in_time(connector.close())


class Bytes:
    """Either end of a connection that carries bytes."""

    def __init__(self) -> None:
        self.came = b""
        self.channels: list[ByteChannel] = []
        self.gone = 0
        self.bell = asyncio.Event()

    def connected(self, channel: ByteChannel) -> None:
        self.channels.append(channel)
        self.bell.set()

    def handle(self, pieces: list[bytes], channel: ByteChannel) -> None:
        self.came += b"".join(pieces)
        self.bell.set()

    def disconnected(self, channel: ByteChannel) -> None:
        self.gone += 1
        self.bell.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.came) < count:
                self.bell.clear()
                await self.bell.wait()


async def test_bytes_between_a_master_and_its_slave_arrive_in_order_both_ways() -> None:
    clock = ScaledClock(asyncio.get_running_loop(), start_ms=0)
    master, slave = Bytes(), Bytes()
    guard = TcpGuard(TcpLimits(), clock=clock, journal=None)  # type: ignore[arg-type]
    server, connector = TcpServer(master, guard, carries_bytes=True), TcpConnector()
    server.open("127.0.0.1", 0)
    opened: asyncio.Future[ByteChannel | None] = asyncio.get_running_loop().create_future()
    connector.open_bytes(server.address, slave.handle, slave.disconnected, opened.set_result)
    channel = await in_time(opened)
    assert channel is not None
    channel.send(encode_offset(0))
    channel.send(encode_offset(4_711))
    await master.until(16)
    assert OffsetDecoder().feed(master.came) == 4_711
    blocks = [(n * 32 * KIB, bytes([n]) * 32 * KIB) for n in range(40)]
    for offset, data in blocks:
        master.channels[0].send(encode_block(offset, data))
    await slave.until(40 * (32 * KIB + 12))
    assert [(block.physical_offset, block.data) for block in BlockDecoder().feed(slave.came)] == blocks
    await in_time(server.close())
    await in_time(connector.close())
    assert (master.gone, slave.gone, guard.connections) == (1, 1, 0)
    clock.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls") / "node.pem")


def server_side(certificate: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context


async def test_with_a_certificate_everything_is_encrypted(certificate: Path) -> None:
    caller = Caller()
    async with Port(tls=server_side(certificate)) as port:
        connector = TcpConnector(tls=ssl.create_default_context(cafile=str(certificate)))
        channel = await in_time(connector.connect(port.server.address, caller.handle, caller.disconnected))
        for n in range(50):
            channel.send(request(n, bytes(40 * KIB)))
        await caller.until(lambda: len(caller.heard) == 50)
        assert caller.heard == list(range(50))
        await in_time(connector.close())


async def test_a_client_that_does_not_trust_the_certificate_does_not_connect(certificate: Path) -> None:
    async with Port(tls=server_side(certificate)) as port:
        connector = TcpConnector(tls=ssl.create_default_context())
        with pytest.raises(ConnectFailed, match="certificate"):
            await in_time(connector.connect(port.server.address, lambda *_: None, ignore_end))
        await in_time(connector.close())


async def test_plain_clients_are_served_at_the_same_port(certificate: Path) -> None:
    async with Port(tls=server_side(certificate)) as port:
        plain = await port.client()
        assert port.guard.connections <= 1
        plain.say(request(1))
        assert [c.opaque for c in await plain.read(1)] == [1]
        silent = await port.client()
        await in_time(port.server.close())
        assert await silent.closed() == b"", "who has not greeted yet is let go, too"
