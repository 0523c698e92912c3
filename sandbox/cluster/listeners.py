"""Ports of a sandbox: external clients reach its nodes by real sockets while the ports are open.

Each node has one port at its own address; with one broker and one name server the broker's port serves both.  The
port of a node closes when the node goes down and opens when it starts.
"""

import asyncio
import ipaddress
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from sandbox.broker.broker import Broker
from sandbox.cluster.environment import Environment, PortServer
from sandbox.cluster.record import NodeRecord
from sandbox.cluster.shared_listener import SharedListener
from sandbox.cluster.wire_access import WireAccess
from sandbox.cluster.wire_connections import NodeListener, WatchedListener, WireConnections
from sandbox.control.limits import SandboxLimits
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import ActionRefused
from sandbox.namesrv.name_server import NameServer
from sandbox.transport.tcp_guard import TcpGuard
from sandbox.transport.tcp_limits import TcpLimits

log = logging.getLogger(__name__)

TAKEN = "Port {port} of this machine is used by another program: {why}."


class Port:
    """Address with the node that listens there.  `trouble`: the operating system's error text if none can listen."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.server: PortServer | None = None
        self.serving: NodeListener | None = None  # the node process behind `server`
        self.trouble: str | None = None
        self.turn = asyncio.Lock()  # opening and closing take several turns of the loop


class Listeners:
    """Ports of a sandbox, opened and closed by its owner; nodes call `up` and `down`.

    `pin` is called when the ports open and with each connection, because an external client's clock cannot be scaled.
    """

    def __init__(
        self,
        environment: Environment,
        clock: Clock,
        journal: Journal,
        limits: SandboxLimits,
        records: list[NodeRecord],
        access: WireAccess,
        *,
        pin: Callable[[bool], None],
    ) -> None:
        self._environment = environment
        self.access = access
        self._pin = pin
        self._nodes: dict[str, NodeListener] = {}  # address → the running node
        self._last_name_server: NameServer | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        brokers = [record.address for record in records if record.kind == "broker"]
        servers = [record.address for record in records if record.kind == "name_server"]
        self.shared = servers[0] if len(brokers) == len(servers) == 1 else None  # uses the broker's port
        self.ports = {address: Port(address) for address in (*servers, *brokers) if address != self.shared}
        self.name_servers = brokers if self.shared is not None else servers  # the addresses for external clients
        self.limits = TcpLimits(
            connections=limits.wire_connections,
            pending_requests=limits.wire_pending_requests,
            unread_bytes=limits.wire_unread_bytes,
        )
        self.guard = TcpGuard(self.limits, clock=environment.wall, journal=journal, check=environment.check)
        self.connections = WireConnections(clock, journal.ring)
        self.is_open = False

    # Called by nodes.

    def up(self, address: str, node: NodeListener) -> None:
        """Register a node whose process runs, and open its port if the ports are open."""
        self._nodes[address] = node
        if isinstance(node, NameServer):
            self._last_name_server = node
        self._settle_later(address)

    def down(self, address: str) -> None:
        self._nodes.pop(address, None)
        self._settle_later(address)

    # Called for the owner.

    async def open(self) -> None:
        """Open every port, or none.

        Raises ActionRefused (409) if other machines would reach a port without keys, a port is taken, or the
        environment has no sockets.
        """
        if not self.access.is_on:
            self._check_loopback()
        if not self._environment.has_sockets:
            raise ActionRefused(409, "Simulated time has no sockets.", "Start a sandbox on a server.")
        was_open, self.is_open = self.is_open, True
        for port in self.ports.values():
            await self._settle(port)
            if port.trouble is not None and self._wanted(port.address) is not None:
                trouble = port.trouble
                if not was_open:
                    await self.close()
                raise ActionRefused(
                    409,
                    TAKEN,
                    "End that program, or start a new sandbox: it gets other ports.",
                    port=port.address.rpartition(":")[2],
                    why=trouble,
                )
        if self.is_open and not was_open:
            self._pin(True)

    async def close(self) -> None:
        """Close all ports and connections; return when no socket is left."""
        self.is_open = False
        busy = [port for port in self.ports.values() if port.server is not None or port.turn.locked()]
        if busy:
            await asyncio.gather(*(self._settle(port) for port in busy))

    def crash(self) -> None:
        """Close all ports as when the server is killed; sockets close in the next turns."""
        if self.is_open:
            self._spawn(self.close())

    def admit_without_keys(self) -> None:
        """Require no keys from the next request on.

        Raises ActionRefused (409) while other machines reach an open port.
        """
        if self.is_open:
            self._check_loopback()
        self.access.set(None)

    def listens(self, address: str) -> bool:
        """Return True if a real socket is open at the address."""
        port = self.ports.get(address if address != self.shared else next(iter(self.ports)))
        return port is not None and port.server is not None

    # Inside.

    def _wanted(self, address: str) -> NodeListener | None:
        return self._nodes.get(address) if self.is_open else None

    def _settle_later(self, address: str) -> None:
        port = self.ports.get(address)
        if self.is_open and port is not None:
            self._spawn(self._settle(port))

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task: asyncio.Task[None] = self._environment.loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _settle(self, port: Port) -> None:
        """Open or close the port until it matches the state of its node."""
        async with port.turn:
            port.trouble = None
            while port.serving is not (requested := self._wanted(port.address)):
                if port.server is not None:
                    server, port.server, port.serving = port.server, None, None
                    await server.close()
                elif requested is not None:
                    try:
                        port.server, port.serving = self._opened(port.address, requested), requested
                    except OSError as error:
                        port.trouble = (error.strerror or str(error)).lower()
                        log.warning("%s cannot be opened: %s", port.address, error)
                        break
        self.connections.changed()

    def _opened(self, address: str, node: NodeListener) -> PortServer:
        behind: NodeListener = node
        if isinstance(node, Broker) and self.shared is not None:
            behind = SharedListener(node, self._newest_name_server)
        listener = WatchedListener(address, behind, self.connections, self.access, lambda: self._pin(False))
        return self._environment.open_port(address, listener, self.guard, idle=isinstance(node, NameServer))

    def _newest_name_server(self) -> NameServer:
        assert self._last_name_server is not None, "name servers start before brokers"
        return self._last_name_server

    @property
    def is_beyond_loopback(self) -> bool:
        """True if other machines can reach the ports when they are open."""
        return any(not _is_loopback(address) for address in self.ports)

    def _check_loopback(self) -> None:
        for address in self.ports:
            if not _is_loopback(address):
                raise ActionRefused(
                    409,
                    "{address} is open to other machines without authentication.",
                    "Create access keys first. Without them, only 127.0.0.1 can be open.",
                    address=address,
                )


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.rpartition(":")[0]).is_loopback
