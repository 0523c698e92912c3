"""Requests the broker itself sends, to clients that are connected to it."""

from sandbox.broker.connections import Connections
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import FLAG_ONEWAY, RemotingCommand
from sandbox.remoting.headers import GroupHeader, ResetOffsetHeader


class ToClients:
    """RocketMQ: `Broker2Client`.  Requests go out in the serialize type the connection last used."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._opaque = 0

    def notify_consumer_ids_changed(self, group: str, channels: list[Channel]) -> None:
        for channel in channels:
            self._send_oneway(channel, RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, GroupHeader(group).to_ext())

    def reset_offset(self, channel: Channel, asked: ResetOffsetHeader, body: bytes) -> None:
        """Tell one member where to go on.  isForce is always false, as RocketMQ has it (spec observed 1.1.11)."""
        ext = asked._replace(force=False).to_ext()
        self._send_oneway(channel, RequestCode.RESET_CONSUMER_CLIENT_OFFSET, ext, body)

    def _send_oneway(self, channel: Channel, code: RequestCode, ext: dict[str, str], body: bytes | None = None) -> None:
        self._opaque += 1
        kind = self._connections.serialize_type(channel)
        self._connections.send(channel, RemotingCommand(code, ext, body, flag=FLAG_ONEWAY, opaque=self._opaque,
                                                        serialize_type=kind))
