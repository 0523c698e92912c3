"""Registration of a broker at its name servers."""

import zlib
from collections.abc import Callable, Collection, Sequence

from sandbox.broker.config import BrokerConfig
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.remoting.bodies import DataVersion, KVTable, RegisterBrokerBody, TopicConfig, TopicConfigTable
from sandbox.remoting.channel import Channel, Connector
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import FLAG_ONEWAY, RemotingCommand
from sandbox.remoting.headers import RegisterBrokerHeader, RegisterBrokerResponseHeader, UnregisterBrokerHeader

READ_WRITE = 6


class NameServerLink:
    """Connection to one name server, opened for the first request."""

    def __init__(self, address: str, connector: Connector, heard: Callable[[RemotingCommand], None]) -> None:
        self.address = address
        self._connector = connector
        self._heard = heard
        self._channel: Channel | None = None
        self._opening = False
        self._closed = False

    @property
    def is_open(self) -> bool:
        return self._channel is not None and self._channel.is_open

    def send(self, command: RemotingCommand) -> None:
        if self._channel is not None:
            self._channel.send(command)

    def open(self, first: Callable[[], RemotingCommand]) -> None:
        """Connect and send the request built by `first`.

        If the connection fails, the next registration tries again.
        """
        if self._opening or self._closed:
            return
        self._opening = True

        def opened(channel: Channel | None) -> None:
            self._opening = False
            if channel is None:
                return
            if self._closed:
                channel.close()
                return
            self._channel = channel
            channel.send(first())

        self._connector.open(self.address, self._hear, self._lost, opened)

    def close(self) -> None:
        self._closed = True
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def _hear(self, commands: list[RemotingCommand], _: Channel) -> None:
        for command in commands:
            self._heard(command)

    def _lost(self, channel: Channel) -> None:
        if self._channel is channel:
            self._channel = None


class Registration:
    """Registration at every name server: at start, every 30 s, and when a topic changes.

    A change is sent alone, with the version of the whole table; name servers merge it.  A new connection starts with
    the whole table, because its name server may have none.  The first answer of a round names a slave's master
    (`on_answer`) and the orderly topics (`on_orders`).  RocketMQ: `BrokerOuterAPI.registerBrokerAll`,
    `registerIncrementBrokerData`.
    """

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        connector: Connector | None,
        addresses: Sequence[str],
        table: Callable[[], tuple[DataVersion, dict[str, TopicConfig]]],
    ) -> None:
        self._config = config
        self._clock = clock
        self._table = table
        self._links = [NameServerLink(address, connector, self._heard) for address in addresses] if connector else []
        self._timer: TimerHandle | None = None
        self._opaque = 0
        self._round: set[int] = set()  # requests of a round without any answer yet
        self.on_answer: Callable[[RegisterBrokerResponseHeader], None] = lambda answer: None
        self.on_orders: Callable[[Collection[str]], None] = lambda topics: None

    def start(self) -> None:
        self.register_all()
        if self._links:
            self._timer = self._clock.call_later(self._config.register_first_ms / 1000, self._again)

    def stop(self, *, goodbye: bool) -> None:
        """Stop registering; with `goodbye` also unregister at the name servers.

        Without it, name servers only notice the closed connection.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        config = self._config
        header = UnregisterBrokerHeader(config.name, config.address, config.cluster, config.broker_id)
        for link in self._links:
            if goodbye and link.is_open:
                link.send(self._request(RequestCode.UNREGISTER_BROKER, header.to_ext(), None))
            link.close()

    def register_all(self) -> None:
        """Send the whole table to every name server."""
        self._round.clear()
        for link in self._links:
            if link.is_open:
                link.send(self._whole())
            else:
                link.open(self._whole)

    def register_topic(self, topic: TopicConfig) -> None:
        """Send one changed topic to every name server."""
        for link in self._links:
            if link.is_open:
                link.send(self._registration({topic.topic: topic}, flag=FLAG_ONEWAY))
            else:
                link.open(self._whole)

    def _again(self) -> None:
        self._timer = self._clock.call_later(self._config.register_period_ms / 1000, self._again)
        self.register_all()

    def _heard(self, c: RemotingCommand) -> None:
        if c.is_response and c.opaque in self._round and c.code == ResponseCode.SUCCESS:
            self._round.clear()
            self.on_answer(RegisterBrokerResponseHeader.from_ext(c.ext))
            if c.body:
                self.on_orders(KVTable.decode(c.body).table)

    def _whole(self) -> RemotingCommand:
        command = self._registration(self._table()[1])
        self._round.add(command.opaque)
        return command

    def _registration(self, topics: dict[str, TopicConfig], *, flag: int = 0) -> RemotingCommand:
        config, version = self._config, self._table()[0]
        if config.permission != READ_WRITE:
            topics = {name: topic._replace(permission=config.permission) for name, topic in topics.items()}
        body = RegisterBrokerBody(TopicConfigTable(version, topics)).encode()
        header = RegisterBrokerHeader(
            config.name,
            config.address,
            config.cluster,
            config.ha_address,
            config.broker_id,
            body_crc32=zlib.crc32(body) & 0x7FFF_FFFF,
        )
        return self._request(RequestCode.REGISTER_BROKER, header.to_ext(), body, flag=flag)

    def _request(self, code: RequestCode, ext: dict[str, str], body: bytes | None, *, flag: int = 0) -> RemotingCommand:
        self._opaque += 1
        return RemotingCommand(code, ext, body, flag=flag, opaque=self._opaque)
