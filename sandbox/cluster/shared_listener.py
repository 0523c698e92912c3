"""Listener for two nodes: with one broker and one name server, the broker's port serves both."""

from collections.abc import Callable

from sandbox.broker.broker import Broker
from sandbox.namesrv.name_server import NameServer
from sandbox.remoting.channel import Channel
from sandbox.remoting.command import FLAG_RESPONSE, RemotingCommand


class SharedListener:
    """Listener that passes requests only the name server supports to it, and all others to the broker.

    Connections belong to the broker.  While the name server is down, its requests stay unanswered, as by a name
    server that does not support the request; the connection stays open for the broker.
    """

    def __init__(self, broker: Broker, name_server: Callable[[], NameServer]) -> None:
        """Create the listener.  `name_server()` returns the newest process; one that has ended answers nothing."""
        self._broker = broker
        self._name_server = name_server

    def connected(self, channel: Channel) -> None:
        self._broker.connected(channel)

    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
        """Pass commands on; consecutive commands for one node stay one batch, so that answers keep their order."""
        if not any(self._is_name_servers_command(c) for c in commands):
            self._broker.handle(commands, channel)
            return
        batch: list[RemotingCommand] = []
        for c in commands:
            if batch and self._is_name_servers_command(c) != self._is_name_servers_command(batch[0]):
                self._pass_on(batch, channel)
                batch = []
            batch.append(c)
        self._pass_on(batch, channel)

    def disconnected(self, channel: Channel) -> None:
        self._name_server().disconnected(channel)
        self._broker.disconnected(channel)

    def serves(self, code: int) -> bool:
        return self._broker.serves(code) or self._name_server().serves(code)

    def _is_name_servers_command(self, c: RemotingCommand) -> bool:
        return not c.flag & FLAG_RESPONSE and not self._broker.serves(c.code) and self._name_server().serves(c.code)

    def _pass_on(self, batch: list[RemotingCommand], channel: Channel) -> None:
        if not self._is_name_servers_command(batch[0]):
            self._broker.handle(batch, channel)
            return
        if not self._broker.hung:  # a client that requests routes is active
            self._broker.connections.heard(channel, batch[-1].serialize_type)
        self._name_server().handle(batch, channel)
