"""Connections of external clients: the time of the first request of each code, and the reason of the end."""

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from sandbox.cluster.wire_access import WireAccess
from sandbox.journal.events import ClientConnected, ConnectionRefused, Entry
from sandbox.kernel.clock import Clock
from sandbox.remoting.channel import LOOPBACK, Channel
from sandbox.remoting.command import FLAG_RESPONSE, RemotingCommand

CODES_KEPT = 64  # different requests of one connection
ENDED_KEPT = 16  # connections shown after their end
REFUSALS_KEPT = 32


class NodeListener(Protocol):
    """Server behind a port: a `Listener` that reports its supported request codes."""

    def connected(self, channel: Channel) -> None: ...
    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None: ...
    def disconnected(self, channel: Channel) -> None: ...
    def serves(self, code: int) -> bool: ...


class WireConnection:
    """Connection of an external client.  Times are of the sandbox's clock."""

    __slots__ = (
        "address",
        "channel",
        "client_id",
        "codes",
        "denial",
        "denied",
        "ended_ms",
        "first_code",
        "heard_ms",
        "language",
        "no",
        "opened_ms",
        "port",
        "unserved",
        "version",
        "why",
    )

    def __init__(self, no: int, port: str, channel: Any, now_ms: int) -> None:
        self.no = no
        self.port = port  # the address it came to
        self.channel = channel
        self.address: str = channel.remote
        self.client_id: str | None = None  # this and the next two: as reported to a broker
        self.language: str | None = None
        self.version: int | None = None
        self.opened_ms = self.heard_ms = now_ms
        self.first_code: int | None = None
        self.codes: dict[int, int] = {}  # request code → first time
        self.unserved: dict[int, int] = {}  # those that no processor serves
        self.denied = 0  # requests that access control refused
        self.denial: str | None = None  # the last one, in RocketMQ's words
        self.ended_ms: int | None = None
        self.why: str | None = None  # set when it ended, as in ClientDisconnected

    @property
    def name(self) -> str:
        """Name of the external client: its id once reported, until then its address."""
        return self.client_id or self.address

    def cut(self) -> None:
        """Close the connection by the owner's action."""
        self.channel.why_closed = "cut"
        self.channel.close()


class WireConnections:
    """Connections of one sandbox: the open ones, the last that ended, and the last that were refused.

    `changed` is called when a snapshot would differ: a new connection, its end, or the first request of a code.
    """

    def __init__(self, clock: Clock, changed: Callable[[], None]) -> None:
        self._clock = clock
        self.changed = changed
        self._count = 0
        self.open: dict[Channel, WireConnection] = {}
        self.ended: deque[WireConnection] = deque(maxlen=ENDED_KEPT)
        self.refused: deque[tuple[int, ConnectionRefused]] = deque(maxlen=REFUSALS_KEPT)  # with their times

    def note(self, entry: Entry) -> None:
        """Update clients and refusals from a journal entry."""
        if isinstance(entry.event, ConnectionRefused):
            self.refused.append((entry.at_ms, entry.event))
        elif isinstance(entry.event, ClientConnected) and entry.event.transport != LOOPBACK:
            event = entry.event
            for connection in self.open.values():
                if connection.address == event.address:
                    connection.client_id, connection.language = event.client_id, event.language
                    connection.version = event.version

    def opened(self, port: str, channel: Channel) -> WireConnection:
        self._count += 1
        made = self.open[channel] = WireConnection(self._count, port, channel, self._clock.now_ms())
        self.changed()
        return made

    def heard(self, connection: WireConnection, commands: list[RemotingCommand], serves: Callable[[int], bool]) -> None:
        connection.heard_ms = now_ms = self._clock.now_ms()
        codes = connection.codes
        for c in commands:
            if c.code in codes or c.flag & FLAG_RESPONSE or len(codes) >= CODES_KEPT:
                continue
            codes[c.code] = now_ms
            if connection.first_code is None:
                connection.first_code = c.code
            if not serves(c.code):
                connection.unserved[c.code] = now_ms
            self.changed()

    def denied(self, connection: WireConnection, remark: str) -> None:
        connection.denied += 1
        connection.denial = remark
        self.changed()

    def closed(self, channel: Channel) -> None:
        connection = self.open.pop(channel, None)
        if connection is not None:
            connection.ended_ms = self._clock.now_ms()
            connection.why = getattr(channel, "why_closed", "closed")
            self.ended.append(connection)
            self.changed()


class WatchedListener:
    """Listener of a node that records each connection's requests and, if keys are set, requires signatures."""

    def __init__(
        self,
        port: str,
        listener: NodeListener,
        connections: WireConnections,
        access: WireAccess,
        admitted: Callable[[], None],
    ) -> None:
        """Create the listener.  `admitted` is called for each new connection before it is passed to the node."""
        self._port = port
        self._listener = listener
        self._connections = connections
        self._access = access
        self._admitted = admitted

    def connected(self, channel: Channel) -> None:
        self._connections.opened(self._port, channel)
        self._admitted()
        self._listener.connected(channel)

    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
        connection = self._connections.open.get(channel)
        if connection is not None:
            self._connections.heard(connection, commands, self._listener.serves)
            if self._access.is_on:
                commands = [c for c in commands if self._is_allowed(c, connection)]
        if commands:
            self._listener.handle(commands, channel)

    def _is_allowed(self, c: RemotingCommand, connection: WireConnection) -> bool:
        """Return True if the request is allowed; else send the refusal.

        As in RocketMQ, a refused one-way request gets no answer.
        """
        refusal = self._access.refusal(c, connection.address)
        if refusal is None:
            return True
        self._connections.denied(connection, refusal.remark)
        if not c.is_oneway:
            connection.channel.send(c.reply(refusal.code, remark=refusal.remark))
        return False

    def disconnected(self, channel: Channel) -> None:
        self._connections.closed(channel)
        self._listener.disconnected(channel)
