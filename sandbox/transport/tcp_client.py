"""Client connections to external brokers and name servers, or to those of another QueueViz process."""

import asyncio
import logging
import os
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from sandbox.kernel.errors import ConnectFailed
from sandbox.remoting.channel import ByteChannel, ByteHandler, Channel, Handler, OnByteClose, OnClose
from sandbox.transport.tcp_channel import TcpByteChannel, TcpChannel
from sandbox.transport.tcp_limits import TcpLimits
from sandbox.transport.tcp_stream import StreamUser, TcpStream

log = logging.getLogger(__name__)

C = TypeVar("C", TcpChannel, TcpByteChannel)


class TcpConnector:
    """A `Connector` over real sockets.  Addresses are `ip:port` or `host:port`.

    `local_ip` is the source address; by default the machine chooses.  The connector must be made and used on one
    loop, and `close` ends every connection it opened.
    """

    def __init__(
        self, limits: TcpLimits | None = None, *, tls: ssl.SSLContext | None = None, local_ip: str | None = None
    ) -> None:
        self._limits = limits or TcpLimits()
        self._tls = tls
        self._local_ip = local_ip
        self._buffer = memoryview(bytearray(self._limits.read_bytes))
        self._streams: set[TcpStream] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._all_gone = asyncio.Event()
        self._closed = False

    async def connect(self, address: str, on_commands: Handler, on_close: OnClose) -> Channel:
        return await self._dial(
            address, lambda stream, gone: TcpChannel(stream, on_commands, gone, self._limits), on_close
        )

    def open(
        self, address: str, on_commands: Handler, on_close: OnClose, opened: Callable[[Channel | None], None]
    ) -> None:
        self._later(lambda: self.connect(address, on_commands, on_close), opened)

    def open_bytes(
        self, address: str, on_bytes: ByteHandler, on_close: OnByteClose, opened: Callable[[ByteChannel | None], None]
    ) -> None:
        self._later(
            lambda: self._dial(address, lambda stream, gone: TcpByteChannel(stream, on_bytes, gone), on_close), opened
        )

    async def close(self) -> None:
        """Open no more connections and end all of them; return when the last one is closed."""
        self._closed = True
        for task in list(self._opening):
            task.cancel()
        for stream in list(self._streams):
            stream.close()
        if self._streams:
            await self._all_gone.wait()

    async def _dial(
        self, address: str, channel_of: Callable[[TcpStream, Callable[[Any], None]], C], on_close: Callable[[Any], None]
    ) -> C:
        host, _, port = address.rpartition(":")
        made: list[C] = []

        def user_of(stream: TcpStream) -> StreamUser | None:
            if self._closed:
                return None

            def gone(channel: Any) -> None:
                self._streams.discard(stream)
                if not self._streams:
                    self._all_gone.set()
                on_close(channel)

            self._all_gone.clear()
            self._streams.add(stream)
            made.append(channel_of(stream, gone))
            return made[0]

        secure: dict[str, Any] = {}
        if self._tls is not None:
            secure = {
                "ssl": self._tls,
                "server_hostname": host,
                "ssl_handshake_timeout": self._limits.handshake_s,
                "ssl_shutdown_timeout": self._limits.linger_s,
            }
        try:
            async with asyncio.timeout(self._limits.connect_s):
                await asyncio.get_running_loop().create_connection(
                    lambda: TcpStream(self._limits, self._buffer, user_of, waits=False),
                    host,
                    int(port),
                    local_addr=None if self._local_ip is None else (self._local_ip, 0),
                    **secure,
                )
        except BaseException as error:
            for channel in made:
                channel.close()
            if isinstance(error, TimeoutError):
                raise ConnectFailed(f"{address} did not answer within {self._limits.connect_s:g} s") from error
            if isinstance(error, OSError | ValueError | OverflowError):
                raise ConnectFailed(f"nothing listens at {address}{_reason(error)}") from error
            raise
        if not made:
            raise ConnectFailed(f"{address} is not wanted any more")
        return made[0]

    def _later(self, dial: Callable[[], Awaitable[Any]], opened: Callable[[Any], None]) -> None:
        """Open a connection in a task, then call `opened` with the channel or None.  The caller does not wait."""

        async def connect() -> None:
            try:
                channel = await dial()
            except ConnectFailed as error:
                log.info("%s", error)
                channel = None
            opened(channel)

        task = asyncio.get_running_loop().create_task(connect())
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)


def _reason(error: Exception) -> str:
    """Return the error text of the operating system; empty for a refused connection."""
    if isinstance(error, ConnectionRefusedError):
        return ""
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and (error.errno or 0) > 0:
        return f": {os.strerror(error.errno or 0).lower()}"
    return f": {error}"
