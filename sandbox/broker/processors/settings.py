"""Processor of UPDATE_BROKER_CONFIG and GET_BROKER_CONFIG: settings of a running broker."""

from collections.abc import Callable

from sandbox.broker import settings
from sandbox.broker.parts import Answer, BrokerParts, Handler
from sandbox.journal.events import BrokerConfigChanged
from sandbox.remoting.bodies import DataVersion, Settings
from sandbox.remoting.channel import Channel
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.json_body import dumps


class SettingsProcessor:
    """Handlers of broker settings.  RocketMQ: `AdminBrokerProcessor.updateBrokerConfig`, `Configuration`.

    A change lasts until the broker stops.  `changed` is called with the changed names afterwards.
    """

    def __init__(self, parts: BrokerParts, changed: Callable[[set[str]], None]) -> None:
        self._parts = parts
        self._changed = changed
        self._version = DataVersion(0, parts.clock.now_ms())

    def handlers(self) -> dict[int, Handler]:
        return {RequestCode.UPDATE_BROKER_CONFIG: self.update, RequestCode.GET_BROKER_CONFIG: self.read}

    def read(self, c: RemotingCommand, _: Channel) -> Answer:
        values = settings.as_settings(self._parts.config, self._parts.store.config)
        if self._parts.name_servers:
            values["namesrvAddr"] = ";".join(self._parts.name_servers)
        ext = {"version": dumps(self._version.to_json()).decode()}
        return c.reply(ResponseCode.SUCCESS, ext, Settings(values).encode())

    def update(self, c: RemotingCommand, _: Channel) -> Answer:
        """Apply all requested changes, or none if one is refused."""
        config, store = self._parts.config, self._parts.store
        changes = settings.changes(config, store.config, Settings.decode(c.body).values)
        settings.settle(config, store, changes)
        self._version = self._version.next(self._parts.clock.now_ms())
        if changes:
            self._changed(set(changes))
            self._parts.journal.write(BrokerConfigChanged(config.name, config.broker_id, changes))
        return c.reply(ResponseCode.SUCCESS)
