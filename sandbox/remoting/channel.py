"""Interfaces of connections, independent of the transport."""

from collections.abc import Callable
from typing import Protocol

from sandbox.remoting.command import RemotingCommand

LOOPBACK = "loopback"
"""The transport of connections inside one process."""


class Channel(Protocol):
    """One connection, seen from one end.

    `remote` is the other end's `ip:port`, `transport_kind` the transport (loopback, tcp).  `send` never blocks and
    never re-enters: the other end receives in a later turn.  After `close` (by either end) `send` does nothing, the
    connection receives nothing more, and `on_close` (a listener's `disconnected`) is called once at each end, in a
    later turn.  `close` takes a reason, as in ClientDisconnected.
    """

    remote: str

    @property
    def is_open(self) -> bool: ...
    @property
    def transport_kind(self) -> str: ...

    def send(self, command: RemotingCommand) -> None: ...
    def close(self, reason: str = "closed") -> None: ...


Handler = Callable[[list[RemotingCommand], Channel], None]
"""One batch of commands that arrived together on one channel."""

OnClose = Callable[[Channel], None]


class ByteChannel(Protocol):
    """A `Channel` that carries plain bytes; they arrive in order, in pieces of any size."""

    remote: str

    @property
    def is_open(self) -> bool: ...
    def send(self, payload: bytes) -> None: ...
    def close(self) -> None: ...


ByteHandler = Callable[[list[bytes], ByteChannel], None]
"""Pieces that arrived together on one channel."""

OnByteClose = Callable[[ByteChannel], None]


class ByteListener(Protocol):
    """A listener for connections that carry no commands: a broker's replication port."""

    def connected(self, channel: ByteChannel) -> None: ...
    def handle(self, pieces: list[bytes], channel: ByteChannel) -> None: ...
    def disconnected(self, channel: ByteChannel) -> None: ...


class Listener(Protocol):
    """A node that accepts connections: name server or broker."""

    def connected(self, channel: Channel) -> None: ...
    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None: ...
    def disconnected(self, channel: Channel) -> None: ...


class Connector(Protocol):
    """Opener of connections for clients (and for brokers, towards name servers).

    `connect` raises ConnectFailed when nothing listens at `address` (`ip:port`); `open` is the same for code that
    does not wait: it calls `opened` in a later turn, with None after a failure.  `open_bytes` does so for a
    connection that carries no commands.
    """

    async def connect(self, address: str, on_commands: Handler, on_close: OnClose) -> Channel: ...
    def open(
        self, address: str, on_commands: Handler, on_close: OnClose, opened: Callable[[Channel | None], None]
    ) -> None: ...
    def open_bytes(
        self, address: str, on_bytes: ByteHandler, on_close: OnByteClose, opened: Callable[[ByteChannel | None], None]
    ) -> None: ...
