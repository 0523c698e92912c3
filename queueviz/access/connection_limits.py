"""Limits on HTTP connections before Django reads a request: connection count, time and bytes.

Daphne has options for sockets only. So the limits are set where Daphne makes its protocol factory (`doorkeeper`).
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import daphne.server  # noqa: F401 first: it installs Twisted's reactor
from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.ws_protocol import WebSocketProtocol
from django.conf import settings
from twisted.internet.protocol import Protocol
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.web.http import HTTPChannel

from queueviz.access.visitor import counted
from sandbox.control.limits import HostLimits

FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\nRetry-After: 10\r\n\r\n"
    b"Too many connections. Close some, or try again in a moment.\n"
)


def doorkeeper(server: Any) -> "Doorkeeper":
    """Return a replacement for Daphne's factory of HTTP connections that enforces `HostLimits`."""
    return Doorkeeper(Pages(server), HostLimits())


class Doorkeeper(WrappingFactory):
    """A protocol factory that limits the connections in total, sockets included, and those from one address.

    Behind a proxy all connections have the proxy's address, so only the limit in total applies there.
    """

    def __init__(self, wrapped: Any, limits: HostLimits) -> None:
        super().__init__(wrapped)
        self.protocol = Connection
        self.limits = limits
        self._of_address: Counter[str] = Counter()

    def buildProtocol(self, addr: Any) -> Any:
        of_one = 0 if settings.BEHIND_HTTPS else self._of_address[counted(addr.host)]
        if len(self.protocols) >= self.limits.connections or of_one >= self.limits.connections_per_address:
            return TurnedAway()
        return super().buildProtocol(addr)

    def registerProtocol(self, p: ProtocolWrapper) -> None:
        super().registerProtocol(p)
        self._of_address[counted(p.getPeer().host)] += 1

    def unregisterProtocol(self, p: ProtocolWrapper) -> None:
        super().unregisterProtocol(p)
        address = counted(p.getPeer().host)
        self._of_address[address] -= 1
        if not self._of_address[address]:
            del self._of_address[address]


class Connection(ProtocolWrapper):
    """An HTTP or socket connection that is cut if a live socket's client does not read.

    The limit counts unread bytes, because a client can send false acknowledgements.  HTTP answers have no such
    limit: they are as long as their file, and end.
    """

    transport: Any

    def write(self, data: bytes) -> None:
        super().write(data)
        self._cut_unread()

    def write_at_once(self, data: bytes) -> None:
        """Write without waiting until the loop reports the socket as writable, since it nearly always is.

        This saves two system calls for each of hundreds of viewers.  Bytes that the socket does not accept go
        through `write`.
        """
        if not unread(self.transport) and not self.disconnecting:
            written = self.transport.writeSomeData(data)
            data = data[written:] if isinstance(written, int) and written > 0 else data  # else: the error comes again
        if data:
            self.write(data)

    def writeSequence(self, data: Iterable[bytes]) -> None:
        super().writeSequence(data)
        self._cut_unread()

    def _cut_unread(self) -> None:
        most = self.factory.limits.unread_bytes
        if isinstance(self.wrappedProtocol, WebSocketProtocol) and unread(self.transport) > most:
            self.transport.abortConnection()


def unread(transport: Any) -> int:
    """Return the number of bytes not yet sent to the client.

    `twisted.internet.abstract.FileDescriptor` keeps them in two parts.
    """
    return int(len(transport.dataBuffer) - transport.offset + transport._tempDataLen)


class TurnedAway(Protocol):
    transport: Any

    def connectionMade(self) -> None:
        self.transport.write(FULL)
        self.transport.loseConnection()


class Impatient(HTTPChannel):
    def resetTimeout(self) -> None:
        """Do nothing, so that received bytes do not restart the timeout.

        Otherwise a client could keep a connection open for ever with one byte a minute.
        """


class Pages(HTTPFactory):
    """The HTTP factory with a time limit for requests.

    A request must arrive completely within `request_s` of the connection, or of the previous answer.
    """

    protocol = Impatient

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.timeOut = HostLimits().request_s

    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = Frugal
        return protocol


class Frugal(WebRequest):
    """An HTTP request that discards a body above the size limit.  Django gets the size and refuses the request."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._parsePOSTFormSubmission = False  # Django's to do, with a limit of fields
        self._body_bytes = 0

    def gotLength(self, length: int | None) -> None:
        super().gotLength(length if length is None or length <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE else 0)

    def handleContentChunk(self, data: bytes) -> None:
        self._body_bytes += len(data)
        if self._body_bytes <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            super().handleContentChunk(data)
        else:
            self.content.seek(0)
            self.content.truncate()

    def process(self) -> Any:
        if self._body_bytes > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            self.requestHeaders.setRawHeaders(b"Content-Length", [b"%d" % self._body_bytes])
        return super().process()
