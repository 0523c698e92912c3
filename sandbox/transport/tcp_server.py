"""A listening TCP port, whose accepted sockets become channels of a node's `Listener`."""

import asyncio
import contextlib
import logging
import socket
import ssl
from functools import partial
from typing import Any

from sandbox.kernel.clock import TimerHandle
from sandbox.remoting.channel import ByteListener, Listener
from sandbox.transport.tcp_channel import TcpByteChannel, TcpChannel
from sandbox.transport.tcp_guard import IDLE, TLS, TcpGuard
from sandbox.transport.tcp_stream import StreamUser, TcpStream, address_text

log = logging.getLogger(__name__)

BACKLOG = 1_024  # connections waiting in the kernel; RocketMQ: serverSocketBacklog
ACCEPTED_PER_TURN = 64
ACCEPT_AGAIN_S = 1.0  # when the machine has no free descriptor
LOOKS = 12  # checks within the idle time
TLS_GREETING = b"\x16"


class TcpServer:
    """A listening port, which can be opened and closed at any time.  The node behind it sees its connections close.

    `carries_bytes`: the listener is a `ByteListener`, a broker's replication port.  `idle`: the listener does not
    close idle connections itself; a name server does not, a broker does.  With `tls` the first byte of a connection
    decides whether it is encrypted, and plain ones are served too: RocketMQ's `tls.server.mode=permissive`, its
    default.
    """

    def __init__(
        self,
        listener: Listener | ByteListener,
        guard: TcpGuard,
        *,
        carries_bytes: bool = False,
        tls: ssl.SSLContext | None = None,
        idle: bool = False,
    ) -> None:
        self._listener: Any = listener
        self._handle: Any = listener.handle
        self._guard = guard
        self._count_unread = guard.unread
        self._carries_bytes = carries_bytes
        self._tls = tls
        self._idle = idle
        self._buffer = memoryview(bytearray(guard.limits.read_bytes))
        self._arriving: set[asyncio.Task[None]] = set()
        self._streams: dict[TcpStream, tuple[int, int]] = {}  # its turns at the last check; checks since then
        self._look_timer: TimerHandle | None = None
        self._accept_timer: TimerHandle | None = None
        self._socket: socket.socket | None = None
        self._empty = asyncio.Event()
        self.address = ""  # once it is open

    @property
    def connections(self) -> int:
        return len(self._streams)

    def open(self, ip: str, port: int) -> None:
        """Accept connections from now on.  Port 0 selects a free port.  Raises OSError when the port is taken."""
        assert self._socket is None, "it is open already"
        opened = socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_STREAM)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):  # connections inherit them
                opened.setsockopt(socket.SOL_SOCKET, buffer, self._guard.limits.socket_bytes)
            opened.setblocking(False)
            opened.bind((ip, port))
            opened.listen(BACKLOG)
        except BaseException:
            opened.close()
            raise
        self._socket = opened
        self._empty.clear()
        self.address = address_text(opened.getsockname())
        self._accept_on()
        if self._idle:
            self._look_later()

    async def close(self) -> None:
        """Accept no more connections, and end all; return when the last one is closed."""
        opened, self._socket = self._socket, None
        if opened is None:
            return
        asyncio.get_running_loop().remove_reader(opened)
        opened.close()
        for timer in (self._look_timer, self._accept_timer):
            if timer is not None:
                timer.cancel()
        for task in list(self._arriving):
            task.cancel()
        for stream in list(self._streams):
            stream.close()
        await asyncio.gather(*self._arriving, return_exceptions=True)
        if self._streams:
            await self._empty.wait()
        await asyncio.sleep(0)  # for sockets that never became a connection

    # Accepting.

    def _accept_on(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().add_reader(self._socket, self._accept, self._socket)

    def _accept(self, opened: socket.socket) -> None:
        for _ in range(ACCEPTED_PER_TURN):
            try:
                arrived, name = opened.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.error("accepting at %s failed: %s", self.address, error)
                asyncio.get_running_loop().remove_reader(opened)
                self._accept_timer = self._guard.clock.call_later(ACCEPT_AGAIN_S, self._accept_on)
                return
            if self._guard.admit(address_text(name)):
                self._welcome(arrived)
            else:
                arrived.close()

    def _welcome(self, arrived: socket.socket) -> None:
        arrived.setblocking(False)
        stream = TcpStream(
            self._guard.limits,
            self._buffer,
            self._user_of,
            waits=True,
            counted=self._count_unread,
            check=self._guard.check,
        )

        def over(task: asyncio.Task[None]) -> None:
            self._arriving.discard(task)
            if not stream.is_used:  # closed, or handshake failed, before it was a connection
                arrived.close()
                self._guard.leave()

        task = asyncio.get_running_loop().create_task(self._connect(stream, arrived))
        self._arriving.add(task)
        task.add_done_callback(over)

    async def _connect(self, stream: TcpStream, arrived: socket.socket) -> None:
        loop, limits = asyncio.get_running_loop(), self._guard.limits
        secure: dict[str, Any] = {}
        with contextlib.suppress(OSError):  # already closed
            remote = address_text(arrived.getpeername())
            try:
                if self._tls is not None and await self._first_byte(arrived) == TLS_GREETING:
                    secure = {
                        "ssl": self._tls,
                        "ssl_handshake_timeout": limits.handshake_s,
                        "ssl_shutdown_timeout": limits.linger_s,
                    }
                await loop.connect_accepted_socket(lambda: stream, arrived, **secure)
            except TimeoutError:
                self._guard.refuse(remote, IDLE, "it connected, and has not said a word")
            except OSError as error:  # SSLError, an aborted handshake, or one that takes too long
                if secure:
                    self._guard.refuse(remote, TLS, str(error) or type(error).__name__)

    async def _first_byte(self, arrived: socket.socket) -> bytes:
        """Return the first byte of a connection without removing it from the input."""
        loop = asyncio.get_running_loop()
        came = loop.create_future()
        loop.add_reader(arrived, lambda: None if came.done() else came.set_result(None))
        try:
            async with asyncio.timeout(self._guard.limits.idle_s):
                await came
        finally:
            loop.remove_reader(arrived)
        return arrived.recv(1, socket.MSG_PEEK)

    # Connections: there may be thousands, so each consists of few objects without reference cycles.

    def _user_of(self, stream: TcpStream) -> StreamUser | None:
        if self._socket is None:
            return None
        channel: TcpChannel | TcpByteChannel
        over = partial(self._gone, stream)
        if self._carries_bytes:
            channel = TcpByteChannel(stream, self._handle, over, self._guard)
        else:
            channel = TcpChannel(stream, self._handle, over, self._guard.limits, self._guard)
        self._empty.clear()
        self._streams[stream] = (0, 0)
        self._listener.connected(channel)
        return channel

    def _gone(self, stream: TcpStream, channel: TcpChannel | TcpByteChannel) -> None:
        self._streams.pop(stream, None)
        self._guard.leave()
        self._listener.disconnected(channel)
        if not self._streams:
            self._empty.set()

    # Idle connections.

    def _look_later(self) -> None:
        self._look_timer = self._guard.clock.call_later(self._guard.limits.idle_s / LOOKS, self._look)

    def _look(self) -> None:
        """Close connections without bytes in both directions for as many checks as the idle time has."""
        self._look_later()
        for stream, (turns, looks) in list(self._streams.items()):
            if stream.turns != turns:
                self._streams[stream] = (stream.turns, 0)
            elif looks + 1 >= LOOKS:
                self._guard.refuse(stream.remote, IDLE, "no traffic for too long")
                stream.close()
            else:
                self._streams[stream] = (turns, looks + 1)
