"""Connections of a slave to its master."""

from sandbox.broker.config import BrokerConfig
from sandbox.broker.config_files import ConfigFiles
from sandbox.broker.parts import BrokerParts
from sandbox.broker.registration import Registration
from sandbox.broker.slave_sync import SlaveSynchronize
from sandbox.kernel.process_clock import ProcessClock
from sandbox.remoting.channel import Connector
from sandbox.remoting.headers import RegisterBrokerResponseHeader
from sandbox.store.ha_client import HAClient
from sandbox.store.message_store import MessageStore


class Follower:
    """Replication on a slave: copies the log over one connection, the tables over another.  Idle on a master.

    Every answer to a registration names the master.  Without a master the copying of tables stops, but not the
    connection that carries the log.  RocketMQ: `BrokerController.doRegisterBrokerAll`.
    """

    def __init__(
        self,
        config: BrokerConfig,
        parts: BrokerParts,
        files: ConfigFiles,
        store: MessageStore,
        clock: ProcessClock,
        connector: Connector | None,
        registration: Registration,
    ) -> None:
        self.replica: HAClient | None = None
        self.slave_sync: SlaveSynchronize | None = None
        if config.is_master or connector is None:
            return
        self.replica = HAClient(store, clock=clock, connector=connector)
        self.slave_sync = SlaveSynchronize(config, parts, files, clock, connector)
        for inbox in (self.replica.inbox, self.slave_sync.inbox):
            inbox.halted = lambda: clock.stopped
        registration.on_answer = self._registered

    def start(self) -> None:
        if self.replica is not None and self.slave_sync is not None:
            self.replica.start()
            self.slave_sync.start()

    def stop(self) -> None:
        if self.replica is not None and self.slave_sync is not None:
            self.replica.stop()
            self.slave_sync.stop()

    def deliver(self) -> None:
        """Handle what arrived while the process was stopped."""
        if self.replica is not None and self.slave_sync is not None:
            self.replica.inbox.deliver()
            self.slave_sync.inbox.deliver()

    def _registered(self, answer: RegisterBrokerResponseHeader) -> None:
        assert self.replica is not None
        assert self.slave_sync is not None
        if answer.ha_address is not None:
            self.replica.update_master_address(answer.ha_address)
        self.slave_sync.master_address = answer.master_address
