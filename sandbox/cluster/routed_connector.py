"""Connector to nodes of this process without a socket, and to all others over TCP."""

from collections.abc import Callable, Collection

from sandbox.remoting.channel import ByteChannel, ByteHandler, Channel, Connector, Handler, OnByteClose, OnClose


class RoutedConnector:
    """Connector that uses `near` for the addresses in `near_addresses` and `far` for all others."""

    def __init__(self, near: Connector, near_addresses: Collection[str], far: Connector) -> None:
        self._near = near
        self._near_addresses = near_addresses
        self._far = far

    async def connect(self, address: str, on_commands: Handler, on_close: OnClose) -> Channel:
        return await self._way(address).connect(address, on_commands, on_close)

    def open(
        self, address: str, on_commands: Handler, on_close: OnClose, opened: Callable[[Channel | None], None]
    ) -> None:
        self._way(address).open(address, on_commands, on_close, opened)

    def open_bytes(
        self, address: str, on_bytes: ByteHandler, on_close: OnByteClose, opened: Callable[[ByteChannel | None], None]
    ) -> None:
        self._way(address).open_bytes(address, on_bytes, on_close, opened)

    def _way(self, address: str) -> Connector:
        return self._near if address in self._near_addresses else self._far
