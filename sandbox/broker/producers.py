"""Online producers by group, with their connections."""

from dataclasses import dataclass

from sandbox.broker.config import BrokerConfig
from sandbox.kernel.clock import Clock
from sandbox.remoting.channel import Channel

CHANNELS_TRIED = 3  # for one request to a group
MAX_GROUPS_PER_CHANNEL = 256  # in any number of heartbeats


@dataclass(slots=True)
class ProducerInfo:
    """Connection of one producer.  RocketMQ: `ClientChannelInfo`."""

    client_id: str
    channel: Channel
    language: str
    version: int
    last_update_ms: int


class ProducerManager:
    """Online producers.  RocketMQ: `ProducerManager`.  Every Java client is also listed under CLIENT_INNER_PRODUCER."""

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._turn = 0
        self.groups: dict[str, dict[Channel, ProducerInfo]] = {}
        self._groups_of: dict[Channel, dict[str, None]] = {}

    def register(self, group: str, channel: Channel, client_id: str, language: str, version: int) -> None:
        """Record a producer's heartbeat.  A group beyond the limit per connection is ignored."""
        mine = self._groups_of.setdefault(channel, {})
        if group not in mine and len(mine) >= MAX_GROUPS_PER_CHANNEL:
            return
        mine[group] = None
        now_ms = self._clock.now_ms()
        channels = self.groups.setdefault(group, {})
        known = channels.get(channel)
        if known is None:
            channels[channel] = ProducerInfo(client_id, channel, language, version, now_ms)
        else:
            known.last_update_ms = now_ms

    def unregister(self, group: str, channel: Channel) -> None:
        channels = self.groups.get(group, {})
        channels.pop(channel, None)
        if not channels:
            self.groups.pop(group, None)
        mine = self._groups_of.get(channel)
        if mine is not None:
            mine.pop(group, None)
            if not mine:
                del self._groups_of[channel]

    def channel_closed(self, channel: Channel) -> None:
        for group in list(self._groups_of.get(channel, ())):
            self.unregister(group, channel)

    def available(self, group: str) -> ProducerInfo | None:
        """Return an online producer of the group, the next in turn at each call; None if the group has none.

        One counter serves all groups.  RocketMQ: `getAvailableChannel`.
        """
        infos = list(self.groups.get(group, {}).values())
        self._turn += bool(infos)
        tried = (infos[(self._turn + step) % len(infos)] for step in range(CHANNELS_TRIED) if infos)
        return next((info for info in tried if info.channel.is_open), None)

    def channel_of(self, client_id: str) -> Channel | None:
        """Return the open connection of a client, of several the one registered last; None without one.

        RocketMQ: `findChannel`.
        """
        open_channels = [
            info.channel
            for channels in self.groups.values()
            for info in channels.values()
            if info.client_id == client_id and info.channel.is_open
        ]
        return open_channels[-1] if open_channels else None

    def scan(self) -> list[Channel]:
        """Remove producers without recent heartbeats; return their connections, to be closed."""
        silent_since_ms = self._clock.now_ms() - self._config.channel_expired_ms
        expired: list[Channel] = []
        for group, channels in list(self.groups.items()):
            for channel, info in list(channels.items()):
                if info.last_update_ms < silent_since_ms:
                    self.unregister(group, channel)
                    expired.append(channel)
        return expired
