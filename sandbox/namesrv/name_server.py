"""The name server node: it gives clients and brokers their routes."""

import logging

from sandbox.journal.events import HandlerFailed, NameServerStarted, NameServerStopped
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.kernel.errors import BrokerRefused
from sandbox.namesrv.config import NameServerConfig
from sandbox.namesrv.kv_config import KVConfigManager
from sandbox.namesrv.processors import NameServerProcessor
from sandbox.namesrv.route_info import RouteInfoManager
from sandbox.remoting.body_limits import limited
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import ResponseCode
from sandbox.remoting.command import FLAG_ONEWAY, FLAG_RESPONSE, RemotingCommand

log = logging.getLogger(__name__)


class NameServer:
    """One name server process, a `Listener`.  RocketMQ: `NamesrvController` (spec broker-behaviour 13).

    It never answers an unknown request code, as RocketMQ's does not.  Everything is in memory; one object is one
    process.
    """

    def __init__(self, config: NameServerConfig, *, clock: Clock, journal: Journal, name: str) -> None:
        self.config = config
        self.name = name
        self._clock = clock
        self._journal = journal
        self.route_info = RouteInfoManager(clock)
        self.kv_config = KVConfigManager()
        self._processor = NameServerProcessor(name, config, self.route_info, self.kv_config, journal)
        self._handlers = limited(self._processor.handlers())
        self._channels: dict[Channel, None] = {}
        self._timer: TimerHandle | None = None
        self.next_scan_ms: int | None = None  # next check for inactive brokers
        self.running = False

    def start(self) -> None:
        self.running = True
        self._scan_after(self.config.scan_first_ms)
        self._journal.write(NameServerStarted(name_server=self.name))

    def stop(self) -> None:
        """Close every connection and lose all data; a clean stop and a kill look the same from outside."""
        if not self.running:
            return
        self.running = False
        if self._timer is not None:
            self._timer.cancel()
        for channel in list(self._channels):
            channel.close()
        self._channels.clear()
        self._journal.write(NameServerStopped(name_server=self.name))

    kill = stop

    def serves(self, code: int) -> bool:
        """Return True if this node handles the request code; for a listener that serves broker and name server."""
        return code in self._handlers

    def delete_topic(self, topic: str) -> None:
        """Remove the topic's route, as an administrator's request does."""
        self._processor.forget_topic(topic, None)

    def connected(self, channel: Channel) -> None:
        self._channels[channel] = None

    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
        if not self.running:
            return
        for c in commands:
            if not c.flag & FLAG_RESPONSE:
                answer = self._answer(c, channel)
                if answer is not None and not c.flag & FLAG_ONEWAY:
                    channel.send(answer)

    def disconnected(self, channel: Channel) -> None:
        """Remove at once the registrations that were made over a closed connection."""
        self._channels.pop(channel, None)
        if self.running:
            for gone in self.route_info.channel_closed(channel):
                self._processor.removed(gone, "closed")

    def _answer(self, c: RemotingCommand, channel: Channel) -> RemotingCommand | None:
        handler = self._handlers.get(c.code)
        if handler is None:
            return None
        try:
            return handler(c, channel)
        except BrokerRefused as no:
            return c.reply(no.code, remark=no.remark)
        except Exception as error:
            log.exception("request %d from %s", c.code, channel.remote)
            remark = f"{type(error).__name__}: {error}"
            self._journal.write(HandlerFailed(node=self.name, request_code=int(c.code), remark=remark))
            return c.reply(ResponseCode.SYSTEM_ERROR, remark=remark)

    def _scan(self) -> None:
        """Drop brokers that have not registered for too long."""
        self._scan_after(self.config.scan_period_ms)
        for gone, channel in self.route_info.scan(self.config.broker_expired_ms):
            channel.close("expired")
            self._processor.removed(gone, "expired")

    def _scan_after(self, wait_ms: int) -> None:
        self._timer = self._clock.call_later(wait_ms / 1000, self._scan)
        self.next_scan_ms = self._clock.now_ms() + wait_ms
