"""A socket under asyncio: received bytes are passed on at once, bytes to send go out in one write per turn."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from sandbox.transport.tcp_limits import TcpLimits


class StreamUser(Protocol):
    """The interface of the user of a stream."""

    def heard(self, data: bytes) -> None: ...
    def drained(self) -> None:
        """Called when the other side reads again."""

    def unread(self, size: int) -> None:
        """Called when the stream ends because the other side has left `size` bytes unread."""

    def lost(self) -> None:
        """Called once, in a later turn, when the connection has ended by either side."""


class TcpStream(asyncio.BufferedProtocol):
    """The asyncio part of a connection; its user interprets the bytes.

    All streams of a port read into one `buffer`: received bytes are copied out of it first.  With `waits` nothing is
    read while the other side leaves more than `drain_bytes` unread.  Only one side of a connection may wait like
    that (here the listening one), or both might wait for each other.
    """

    def __init__(
        self,
        limits: TcpLimits,
        buffer: memoryview,
        user_of: Callable[["TcpStream"], StreamUser | None],
        *,
        waits: bool,
        counted: Callable[["TcpStream", int], None] = lambda stream, size: None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare the stream.

        `user_of` is called once the connection exists and returns its user; None: the connection is closed.
        `counted` is called with the number of unread bytes at each count.  `check` is called before bytes are sent:
        if it does not return, nothing more is sent.
        """
        self._limits = limits
        self._buffer = buffer
        self._user_of = user_of
        self._waits = waits
        self._counted = counted
        self._check = check
        self._counted_bytes = 0
        self._user: StreamUser | None = None
        self._transport: asyncio.Transport
        self._out: list[bytes] = []
        self._in_turn = False  # bytes written now go out at the end of this turn
        self._linger: asyncio.TimerHandle | None = None
        self.local = ""
        self.remote = ""
        self.is_open = False
        self.is_used = False  # it has, or had, a user
        self.stalled = False  # the other side leaves too much unread
        self.wrote_bytes = 0  # in the last write
        self.turns = 0  # with bytes sent or received
        self.unread_since_s: float | None = None  # of the loop: since then bytes were unread at every check

    # Called by its user.

    def write(self, data: bytes) -> None:
        """Send the bytes together with all other bytes of this turn.  Ignored once the stream is closed."""
        if self.is_open:
            if not self._out and not self._in_turn:
                asyncio.get_running_loop().call_soon(self.flush)
            self._out.append(data)

    def flush(self) -> None:
        """Send the bytes of this turn so far.  Ends the stream when too much of earlier turns is unread."""
        if not self._out:
            return
        data = self._out[0] if len(self._out) == 1 else b"".join(self._out)
        self._out.clear()
        unread = self._transport.get_write_buffer_size()
        if unread > self._limits.unread_bytes and self._user is not None:
            self._user.unread(unread)
            self.abort()
            return
        self._check()
        self.wrote_bytes = len(data)
        self.turns += 1
        if not unread:
            self.unread_since_s = None
        self._transport.write(data)
        left = self._transport.get_write_buffer_size()
        if left or self._counted_bytes:
            self._count(left)

    def close(self) -> None:
        """Send the bytes written before, then end the connection.  A side that does not read has `linger_s` left."""
        if not self.is_open:
            return
        self.flush()
        self.is_open = False
        self._transport.close()
        self._linger = asyncio.get_running_loop().call_later(self._limits.linger_s, self._transport.abort)

    def count_unread(self) -> int:
        """Count the unread bytes again, and return their number without calling `counted`."""
        self._counted_bytes = self._transport.get_write_buffer_size()
        if not self._counted_bytes:
            self.unread_since_s = None
        return self._counted_bytes

    def end_unread(self) -> None:
        """End the stream, because all connections together have too many unread bytes."""
        if self._user is not None:
            self._user.unread(self._counted_bytes)
        self.abort()

    def abort(self) -> None:
        """End the connection at once, and drop unread bytes."""
        self.is_open = False
        self._out.clear()
        self._transport.abort()

    def _count(self, left: int) -> None:
        if left and self.unread_since_s is None:
            self.unread_since_s = asyncio.get_running_loop().time()
        self._counted_bytes = left
        self._counted(self, left)

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.local = address_text(transport.get_extra_info("sockname"))
        self.remote = address_text(transport.get_extra_info("peername"))
        transport.set_write_buffer_limits(high=self._limits.drain_bytes)
        self.is_open = True
        self._user = self._user_of(self) if self.remote else None
        self._user_of = _no_user  # drop its references
        if self._user is None:
            self.abort()
        else:
            self.is_used = True

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self.is_open and self._user is not None:
            data = bytes(self._buffer[:nbytes])
            self.turns += 1
            self._in_turn = True
            try:
                self._user.heard(data)
            finally:
                self._in_turn = False
                self.flush()

    def eof_received(self) -> bool:
        """Close the stream when the other side has ended its input.

        RocketMQ's servers have no half-open connections: after that a client gets no more answers.
        """
        self.close()
        return False

    def pause_writing(self) -> None:
        self.stalled = True
        if self._waits:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self.stalled = False
        if not self.is_open or self._user is None:
            return
        self._in_turn = True
        try:
            self._user.drained()
        finally:
            self._in_turn = False
            self.flush()
        if self._waits and not self.stalled:
            self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._out.clear()
        if self._linger is not None:
            self._linger.cancel()
        if self._counted_bytes:
            self._count(0)
        user, self._user = self._user, None
        if user is not None:
            user.lost()


def _no_user(stream: TcpStream) -> None:
    """Return None, the default user of a stream."""


def address_text(name: Any) -> str:
    """Return `ip:port` of a socket's address; empty for a closed socket, which has none."""
    return f"{name[0]}:{name[1]}" if name else ""
