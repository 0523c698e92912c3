"""One port for a broker and its name server, where there is one of each (architecture, decision 2)."""

from itertools import groupby

from sandbox.broker.broker import Broker
from sandbox.namesrv.name_server import NameServer
from sandbox.remoting.channel import Channel
from sandbox.remoting.command import FLAG_RESPONSE, RemotingCommand


class BothListener:
    """A `Listener`: what the name server knows goes there, everything else to the broker.

    So an unknown request code is answered with 3, which a name server alone never does.  The broker closes what is
    silent for too long; asking the name server is no silence.
    """

    def __init__(self, broker: Broker, name_server: NameServer) -> None:
        self._broker = broker
        self._name_server = name_server

    def connected(self, channel: Channel) -> None:
        self._name_server.connected(channel)
        self._broker.connected(channel)

    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
        for routed, batch in groupby(commands, self._is_for_the_name_server):
            if not routed:
                self._broker.handle(list(batch), channel)
                continue
            asked = list(batch)
            if self._broker.running:
                self._broker.connections.heard(channel, asked[-1].serialize_type)
            self._name_server.handle(asked, channel)

    def disconnected(self, channel: Channel) -> None:
        self._name_server.disconnected(channel)
        self._broker.disconnected(channel)

    def _is_for_the_name_server(self, c: RemotingCommand) -> bool:
        """An answer to the broker has a code of its own kind."""
        return not c.flag & FLAG_RESPONSE and self._name_server.serves(c.code)
