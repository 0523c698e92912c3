"""The master's side of replication: all slaves of this broker."""

from collections.abc import Callable

from sandbox.journal.events import ReplicationChanged
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.remoting.channel import ByteChannel
from sandbox.store.commit_log import CommitLog
from sandbox.store.config import SYNC_MASTER, MessageStoreConfig
from sandbox.store.ha_inbox import Inbox
from sandbox.store.ha_link import HALink, SlaveLink
from sandbox.store.ha_waits import ReplicaWaits
from sandbox.store.results import PutMessageStatus

MAX_LINKS = 16  # slaves at the same time; further ones are closed at once


class HAService:
    """All links to slaves: a `ByteListener` at the broker's HA address.

    RocketMQ: `HAService` (spec broker-behaviour 12).  Slaves listen too, as RocketMQ's do, though no client connects
    to them.  The protocol does not name the slave: `slave_id_of(remote)` may return its id (0: unknown).  Otherwise
    the id is the lowest free number from 1 on.
    """

    def __init__(
        self, config: MessageStoreConfig, commit_log: CommitLog, *, clock: Clock, journal: Journal, broker: str
    ) -> None:
        self._config = config
        self._log = commit_log
        self._clock = clock
        self._journal = journal
        self._broker = broker
        self._links: dict[ByteChannel, HALink] = {}
        self._waits = ReplicaWaits(clock, config.slave_timeout_ms)
        self._wake_timer: TimerHandle | None = None
        self._running = False
        self.inbox = Inbox()
        self.slave_id_of: Callable[[str], int] = lambda remote: 0  # unknown

    def start(self) -> None:
        self._running = True

    def stop(self) -> None:
        """Close every link.  Waiting puts are not answered."""
        self._running = False
        self.inbox.forget()
        self._waits.stop()
        if self._wake_timer is not None:
            self._wake_timer.cancel()
            self._wake_timer = None
        for link in list(self._links.values()):
            link.close()

    # ByteListener.

    def connected(self, channel: ByteChannel) -> None:
        self.inbox.take(lambda: self._accept(channel))

    def handle(self, pieces: list[bytes], channel: ByteChannel) -> None:
        self.inbox.take(lambda: self._hear(pieces, channel))

    def disconnected(self, channel: ByteChannel) -> None:
        self.inbox.take(lambda: self._lost(channel))

    # For the store.

    def wrote(self) -> None:
        """Notify every link that the log grew.  Called once per turn."""
        for link in self._links.values():
            link.wrote()

    def when_replicated(self, physical_end: int, done: Callable[[PutMessageStatus], None]) -> None:
        """Call `done` once a slave has the log up to `physical_end`; at once unless this is a SYNC_MASTER.

        Its status is SLAVE_NOT_AVAILABLE at once if no slave is close enough, FLUSH_SLAVE_TIMEOUT if no slave
        acknowledges in time.  The message is stored in any case.
        """
        if self._config.replication != SYNC_MASTER:
            done(PutMessageStatus.PUT_OK)
            return
        if not self.is_slave_ok(physical_end):
            done(PutMessageStatus.SLAVE_NOT_AVAILABLE)
            return
        if self._wake_timer is None:  # after this turn, so that one block carries all puts of the turn
            self._wake_timer = self._clock.call_later(0, self._wake)
        self._waits.when_acknowledged(
            physical_end,
            lambda in_time: done(PutMessageStatus.PUT_OK if in_time else PutMessageStatus.FLUSH_SLAVE_TIMEOUT),
        )

    def is_slave_ok(self, physical_end: int) -> bool:
        """Return True if a slave is connected and not too far behind; a slave without a report yet counts too."""
        return bool(self._links) and physical_end - self._waits.acknowledged < self._config.ha_fall_behind_max_bytes

    # For snapshots.

    @property
    def replicated_offset(self) -> int | None:
        """The highest offset that a slave acknowledged to this process, or None."""
        return self._waits.acknowledged or None

    def slaves(self) -> list[SlaveLink]:
        """Return every link, sorted by slave and then by age."""
        return sorted((link.row() for link in self._links.values()), key=lambda row: row.slave_id)

    # Links.

    def _accept(self, channel: ByteChannel) -> None:
        if not self._running:
            return  # the process ends, and its port too
        if len(self._links) >= MAX_LINKS:
            channel.close()
            return
        self._links[channel] = HALink(
            channel,
            self._log,
            self._config,
            self._clock,
            slave_id=self._id_of(channel),
            acknowledged=self._waits.acknowledge,
            changed=self._report,
            gone=self._gone,
        )

    def _id_of(self, channel: ByteChannel) -> int:
        known = self.slave_id_of(channel.remote)
        if known:
            return known
        taken = {link.slave_id for link in self._links.values()}
        return next(number for number in range(1, MAX_LINKS + 1) if number not in taken)

    def _hear(self, pieces: list[bytes], channel: ByteChannel) -> None:
        link = self._links.get(channel)
        if link is not None:
            link.heard(b"".join(pieces))

    def _lost(self, channel: ByteChannel) -> None:
        link = self._links.get(channel)
        if link is not None:
            link.close()

    def _gone(self, link: HALink) -> None:
        del self._links[link.channel]
        others = {other.slave_id for other in self._links.values()}
        if link.state is not None and link.slave_id not in others:
            self._report(link, "lost")

    def _report(self, link: HALink, state: str) -> None:
        self._journal.write(
            ReplicationChanged(broker=self._broker, slave_id=link.slave_id, state=state, behind_bytes=link.behind_bytes)
        )

    def _wake(self) -> None:
        self._wake_timer = None
        for link in list(self._links.values()):
            link.transfer()
