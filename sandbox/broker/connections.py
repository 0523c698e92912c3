"""Open connections of a broker, with their clients and the times of their last use."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sandbox.journal.events import ClientConnected, ClientDisconnected
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.remoting.channel import LOOPBACK, Channel
from sandbox.remoting.command import RemotingCommand, SerializeType


@dataclass(slots=True)
class Connection:
    """Connection of one channel.  The client id is known after its first heartbeat."""

    channel: Channel
    last_used_s: float
    serialize_type: int = SerializeType.JSON
    client_id: str | None = None
    language: str = ""
    version: int = 0
    transport: str = LOOPBACK


class Connections:
    """Open connections of a broker; closes those that are idle in both directions for too long.

    Measured: Apache's broker closes them at 120.00 s and notifies the other members.  RocketMQ: the idle handler of
    `NettyRemotingServer`, `ClientHousekeepingService`.
    """

    def __init__(self, clock: Clock, journal: Journal, idle_ms: int) -> None:
        self._clock = clock
        self._journal = journal
        self._idle_s = idle_ms / 1000
        self._timer: TimerHandle | None = None
        self._open: dict[Channel, Connection] = {}
        self.on_gone: Callable[[Channel], None] = lambda _: None

    def __iter__(self) -> Iterator[Connection]:
        return iter(list(self._open.values()))

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, channel: Channel) -> None:
        self._open[channel] = Connection(channel, self._clock.monotonic())
        if self._timer is None:
            self._timer = self._clock.call_later(self._idle_s, self._close_idle)

    def heard(self, channel: Channel, serialize_type: int) -> None:
        """Record the arrival of requests.  The broker's own requests will use the serialize type of the last one."""
        connection = self._open.get(channel)
        if connection is None:
            self.opened(channel)
            connection = self._open[channel]
        connection.last_used_s = self._clock.monotonic()
        connection.serialize_type = serialize_type

    def named(self, channel: Channel, client_id: str, language: str, version: int) -> None:
        """Record the client that a heartbeat named for `channel`."""
        connection = self._open.get(channel)
        if connection is None or connection.client_id == client_id:
            return
        connection.client_id, connection.language, connection.version = client_id, language, version
        connection.transport = channel.transport_kind
        self._journal.write(
            ClientConnected(
                client_id=client_id,
                address=channel.remote,
                language=language,
                transport=connection.transport,
                version=version,
            )
        )

    def send(self, channel: Channel, command: RemotingCommand) -> None:
        """Send a late answer or a request of the broker; do nothing if the connection is closed."""
        connection = self._open.get(channel)
        if connection is not None:
            connection.last_used_s = self._clock.monotonic()
            channel.send(command)

    def serialize_type(self, channel: Channel) -> int:
        connection = self._open.get(channel)
        return connection.serialize_type if connection else SerializeType.JSON

    def closed(self, channel: Channel, reason: str) -> bool:
        """Remove a connection, whichever side closed it; return False if it was already removed."""
        connection = self._open.pop(channel, None)
        if connection is not None and connection.client_id is not None:
            self._journal.write(
                ClientDisconnected(
                    client_id=connection.client_id,
                    address=channel.remote,
                    transport=connection.transport,
                    language=connection.language,
                    version=connection.version,
                    reason=reason,
                )
            )
        return connection is not None

    def drop(self, channel: Channel, reason: str) -> None:
        """Close a connection from the broker's side."""
        if self.closed(channel, reason):
            self.on_gone(channel)
        channel.close(reason)

    def stop(self) -> None:
        """Close all connections because the broker ends.  No member is notified."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for connection in self:
            self.closed(connection.channel, "closed")
            connection.channel.close()

    def _close_idle(self) -> None:
        """Close idle connections, then set the timer to when the next one can be idle."""
        self._timer = None
        now_s = self._clock.monotonic()
        for connection in self:
            if now_s - connection.last_used_s >= self._idle_s - 1e-6:
                self.drop(connection.channel, "expired")
        if self._open and self._timer is None:
            oldest_s = min(connection.last_used_s for connection in self)
            self._timer = self._clock.call_later(oldest_s + self._idle_s - now_s, self._close_idle)
