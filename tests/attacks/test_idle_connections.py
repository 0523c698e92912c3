"""Connections that send nothing, slowly, or without end, before any page is asked; in virtual time."""

import os
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from daphne.ws_protocol import WebSocketProtocol
from django.conf import settings
from twisted.internet.abstract import FileDescriptor
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.web.http import HTTPChannel

from queueviz.access.connection_limits import FULL, Connection, Doorkeeper, Pages, unread
from sandbox.control.limits import HostLimits

MOST = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
HEAD = b"POST /new/ HTTP/1.1\r\nHost: here\r\n"


class Server:
    """A server stand-in for Daphne's requests; it answers each at once, with its length."""

    http_timeout = None
    request_buffer_size = 8_192
    root_path = server_name = ""
    proxy_forwarded_address_header = None

    def __init__(self) -> None:
        self.asked: list[tuple[bytes, int]] = []  # the Content-Length that Django sees, and the bytes kept of the body

    def protocol_connected(self, request: Any) -> None:
        pass

    protocol_disconnected = protocol_connected

    def create_application(self, request: Any, scope: dict[str, Any]) -> Any:
        kept = request.content.seek(0, os.SEEK_END)
        request.content.seek(0)
        self.asked.append((dict(scope["headers"]).get(b"content-length", b""), kept))
        request.setResponseCode(200)
        request.finish()

    def log_action(self, *args: Any) -> None:
        pass


class Line:
    """One connection."""

    def __init__(self, doorkeeper: Doorkeeper, address: str = "192.0.2.1") -> None:
        kind = IPv6Address if ":" in address else IPv4Address
        there = kind("TCP", address, 50_000)
        self.transport = StringTransport(peerAddress=there)
        self.protocol = doorkeeper.buildProtocol(there)
        self.protocol.makeConnection(self.transport)

    def say(self, data: bytes) -> None:
        if not self.is_closed:
            self.protocol.dataReceived(data)

    @property
    def is_closed(self) -> bool:
        return bool(self.transport.disconnecting or self.transport.disconnected)

    @property
    def heard(self) -> bytes:
        return self.transport.value()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def connect(clock: Clock, server: Server) -> Callable[..., Line]:
    limits = HostLimits(connections=5, connections_per_address=3)
    pages = Pages(server)
    pages.reactor = clock
    doorkeeper = Doorkeeper(pages, limits)
    return lambda address="192.0.2.1": Line(doorkeeper, address)


def test_a_connection_that_says_nothing_is_closed(clock: Clock, connect: Callable[..., Line]) -> None:
    line = connect()
    clock.advance(59)
    assert not line.is_closed
    clock.advance(1)
    assert line.is_closed


@pytest.mark.parametrize(
    "said",
    [
        b"G",
        b"GET / HTTP/1.1\r\nX: ",
        HEAD + b"Content-Length: 1000\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nfff\r\n",
    ],
)
def test_a_byte_now_and_then_buys_no_time(clock: Clock, connect: Callable[..., Line], said: bytes) -> None:
    line = connect()
    line.say(said)
    for _ in range(6):
        clock.advance(10)
        line.say(b"x")
    assert line.is_closed


def test_each_request_on_a_connection_has_its_own_time(
    clock: Clock, connect: Callable[..., Line], server: Server
) -> None:
    line = connect()
    for _ in range(5):
        clock.advance(40)
        line.say(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    assert len(server.asked) == 5
    assert not line.is_closed
    clock.advance(60)
    assert line.is_closed


@pytest.mark.parametrize("chunked", [False, True])
def test_of_a_body_that_is_too_large_nothing_is_kept(
    connect: Callable[..., Line], server: Server, chunked: bool
) -> None:
    """Django gets its size, and refuses it by that."""
    line = connect()
    size, piece = 4 * MOST, b"x" * (MOST // 4)
    line.say(HEAD + (b"Transfer-Encoding: chunked\r\n\r\n" if chunked else b"Content-Length: %d\r\n\r\n" % size))
    for _ in range(16):
        line.say(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
    if chunked:
        line.say(b"0\r\n\r\n")
    assert server.asked == [(b"%d" % size, 0)]


def test_a_body_that_fits_is_kept(connect: Callable[..., Line], server: Server) -> None:
    line = connect()
    line.say(HEAD + b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n" % MOST)
    line.say(b"a&" * (MOST // 2))
    assert server.asked == [(b"%d" % MOST, MOST)]


class Pipe(FileDescriptor):
    """A connection as the machine's: what the client does not read waits in it."""

    def __init__(self) -> None:
        super().__init__(Mock())
        self.connected = 1
        self.is_aborted = False

    def abortConnection(self) -> None:
        self.is_aborted = True


@pytest.mark.parametrize(("kind", "cut"), [(WebSocketProtocol, True), (HTTPChannel, False)])
def test_a_live_socket_that_is_not_read_is_cut(kind: type, cut: bool) -> None:
    """A client may acknowledge frames it never took; an HTTP answer may be longer, for it ends."""
    limits = HostLimits(unread_bytes=1_000)
    line = Connection(Doorkeeper(Mock(), limits), kind())
    line.transport = pipe = Pipe()
    line.write(b"x" * 600)
    line.writeSequence([b"x" * 200, b"x" * 200])
    assert not pipe.is_aborted
    line.write(b"x")
    assert pipe.is_aborted is cut


@pytest.mark.parametrize("takes", [0, 250])
def test_a_frame_sent_at_once_waits_where_the_client_does_not_read(takes: int) -> None:
    line = Connection(Doorkeeper(Mock(), HostLimits(unread_bytes=1_000)), WebSocketProtocol())
    line.transport = pipe = Pipe()
    sent: list[bytes] = []
    pipe.writeSomeData = lambda data: sent.append(bytes(data[:takes])) or min(takes, len(data))
    line.write_at_once(b"a" * 250 + b"b" * 650)
    assert unread(pipe) == 900 - takes
    line.write_at_once(b"c" * 50)
    assert b"c" not in b"".join(sent), "it would overtake what waits"
    assert unread(pipe) == 950 - takes
    line.write_at_once(b"d" * (51 + takes))
    assert pipe.is_aborted


def test_a_frame_sent_at_once_to_a_client_that_is_gone_is_lost_quietly() -> None:
    line = Connection(Doorkeeper(Mock(), HostLimits()), WebSocketProtocol())
    line.transport = pipe = Pipe()
    pipe.writeSomeData = lambda data: ConnectionResetError()
    line.write_at_once(b"x")
    assert unread(pipe) == 1, "the loop finds the connection lost"


def test_what_was_read_counts_no_more() -> None:
    pipe = Pipe()
    pipe.write(b"x" * 900)
    pipe.writeSomeData = lambda data: 800
    pipe.doWrite()
    pipe.write(b"x" * 50)
    assert unread(pipe) == 150


def test_of_one_customer_so_many_connections_are_taken(connect: Callable[..., Line]) -> None:
    lines = [connect(f"2001:db8:1:2::{n}") for n in range(4)]
    assert [line.is_closed for line in lines] == [False, False, False, True]
    assert lines[-1].heard == FULL
    assert not connect("192.0.2.1").is_closed, "another customer is served"
    lines[0].protocol.connectionLost(None)
    assert not connect("2001:db8:1:2::9").is_closed, "a place that is free is given away"


def test_so_many_are_taken_in_all(connect: Callable[..., Line]) -> None:
    lines = [connect(f"192.0.2.{n}") for n in range(6)]
    assert [line.is_closed for line in lines] == [False] * 5 + [True]


def test_behind_a_proxy_all_have_its_address(connect: Callable[..., Line], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "BEHIND_HTTPS", True)
    assert [connect().is_closed for _ in range(6)] == [False] * 5 + [True]
