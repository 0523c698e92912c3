"""Connections to nodes of this process without a socket, to all others over TCP."""

import asyncio
from collections.abc import Callable, Collection

from sandbox.kernel.errors import RemotingError, SendTimeout
from sandbox.remoting.channel import ByteChannel, ByteHandler, Channel, Connector, Handler, OnByteClose, OnClose
from sandbox.remoting.command import RemotingCommand


class NearAndFar:
    """A `Connector`; `near_addresses` are those that `near` reaches."""

    def __init__(self, near: Connector, near_addresses: Collection[str], far: Connector) -> None:
        self._near = near
        self._near_addresses = near_addresses
        self._far = far

    async def connect(self, address: str, on_commands: Handler, on_close: OnClose) -> Channel:
        return await self._way(address).connect(address, on_commands, on_close)

    def open(self, address: str, on_commands: Handler, on_close: OnClose,
             opened: Callable[[Channel | None], None]) -> None:
        self._way(address).open(address, on_commands, on_close, opened)

    def open_bytes(self, address: str, on_bytes: ByteHandler, on_close: OnByteClose,
                   opened: Callable[[ByteChannel | None], None]) -> None:
        self._way(address).open_bytes(address, on_bytes, on_close, opened)

    def _way(self, address: str) -> Connector:
        return self._near if address in self._near_addresses else self._far


async def ask(connector: Connector, address: str, request: RemotingCommand, timeout_s: float) -> RemotingCommand:
    """One request over a connection of its own.  Raises ConnectFailed, SendTimeout, RemotingError."""
    answered: asyncio.Future[RemotingCommand] = asyncio.get_running_loop().create_future()

    def heard(commands: list[RemotingCommand], _: Channel) -> None:
        if not answered.done():
            answered.set_result(commands[0])

    def lost(_: Channel) -> None:
        if not answered.done():
            answered.set_exception(RemotingError(f"{address} closed the connection"))

    channel = await connector.connect(address, heard, lost)
    channel.send(request)
    try:
        async with asyncio.timeout(timeout_s):
            return await answered
    except TimeoutError as why:
        raise SendTimeout(f"{address} did not answer within {timeout_s:g} s") from why
    finally:
        answered.cancel()
        channel.close()
