"""Broker process: handles requests synchronously and sends the answers."""

import logging
from collections.abc import Callable, Collection, Sequence

from sandbox.broker.assembly import assemble, processors_of
from sandbox.broker.config import BrokerConfig
from sandbox.broker.config_files import ConfigFiles
from sandbox.broker.follower import Follower
from sandbox.broker.parts import Answer
from sandbox.broker.registration import Registration
from sandbox.journal.events import BrokerStarted, BrokerStopped, HandlerFailed
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.kernel.errors import BrokerRefused
from sandbox.kernel.process_clock import ProcessClock
from sandbox.message.topic_names import SCHEDULE_TOPIC
from sandbox.remoting.bodies import TopicConfig
from sandbox.remoting.channel import ByteListener, Channel, Connector
from sandbox.remoting.codes import ResponseCode
from sandbox.remoting.command import FLAG_ONEWAY, FLAG_RESPONSE, RemotingCommand
from sandbox.remoting.headers import ResetOffsetHeader
from sandbox.remoting.json_body import Queue
from sandbox.store.json_files import TableRead
from sandbox.store.message_store import MessageStore

log = logging.getLogger(__name__)

MAX_QUEUED = 10_000  # batches kept for a hung broker; a real one's socket buffers are limited, too


class Broker:
    """Broker process with all its parts, a `Listener` of connections.

    RocketMQ: `BrokerController`.  Snapshots read, without changing anything: `topics`, `subscription_groups`,
    `consumer_offsets`, `consumers`, `filters`, `producers`, `locks`, `pulls`, `hold`, `delay`, `transactions`,
    `stats`, `store` and, on a slave, `replica` and `slave_sync`.
    """

    def __init__(
        self,
        config: BrokerConfig,
        *,
        store: MessageStore,
        clock: Clock,
        chance: Chance,
        journal: Journal,
        connector: Connector | None,
        name_servers: Sequence[str],
    ) -> None:
        self.config = config
        self.store = store
        self._clock = clock = clock if isinstance(clock, ProcessClock) else ProcessClock(clock)
        self._queued: list[tuple[list[RemotingCommand], Channel]] = []  # while hung; no commands: it closed
        self._journal = journal
        self._files = ConfigFiles(store, clock, journal, config.node)
        parts = assemble(
            config,
            store,
            clock,
            chance,
            journal,
            name_servers=name_servers,
            topic_changed=self._topic_changed,
            groups_changed=self._groups_changed,
        )
        self.topics = parts.topics
        self.subscription_groups = parts.subscription_groups
        self.consumer_offsets = parts.consumer_offsets
        self.consumers = parts.consumers
        self.filters = parts.filters
        self.producers = parts.producers
        self.locks = parts.locks
        self.pulls = parts.pulls
        self.hold = parts.hold
        self.delay = parts.delay
        self.stats = parts.stats
        self.connections = parts.connections
        self.transactions = parts.transactions
        self._transaction_check = parts.transaction_check
        self._broker_to_client = parts.broker_to_client
        self.access = parts.access
        self._registration = Registration(
            config, clock, connector, name_servers, lambda: (self.topics.version, self.topics.table)
        )
        self._follower = Follower(config, parts, self._files, store, clock, connector, self._registration)
        self.replica = self._follower.replica
        self.slave_sync = self._follower.slave_sync
        self._processors = processors_of(parts, self._settings_changed)
        self._handlers = self._processors.handlers
        self._timers: dict[str, TimerHandle] = {}
        self.running = False
        self._wire()

    def _wire(self) -> None:
        """Connect the parts that call back: each was created before the part that it calls."""
        self.connections.on_gone = self._forget
        self._registration.on_orders = self.topics.mark_orders
        self.store.ha.inbox.halted = lambda: self._clock.stopped

    # Life cycle.

    def start(self, *, accepting: Collection[str] = ()) -> None:
        """Load the tables, open the store, start the timers, register.  `accepting` as in `ConfigFiles.load`.

        Raises TablesDamaged, Locked or StoreError if a table or the store cannot be opened.  The tables come first,
        as in RocketMQ: a broker that cannot read them does not change its log.
        """
        self._files.load(
            self.topics, self.subscription_groups, self.consumer_offsets, self.delay, self.filters, accepting
        )
        self.store.load()
        try:
            self.store.start()
        except BaseException:
            self.store.crash()
            raise
        self.store.reput.awaited = self.hold  # not earlier: recovery dispatches messages too
        self.store.reput.on_arrival = self._arrived
        self.running = True
        config = self.config
        self.hold.start()
        if config.is_master:
            self.delay.start()
            self._transaction_check.start()
        self._every(
            "offsets",
            config.flush_consumer_offset_first_ms,
            config.flush_consumer_offset_ms,
            lambda: self._files.save_offsets(self.consumer_offsets),
        )
        self._every(
            "delay offsets",
            config.flush_delay_offset_ms,
            config.flush_delay_offset_ms,
            lambda: self._files.save_delay(self.delay),
        )
        self._every(
            "filters",
            config.flush_consumer_filter_ms,
            config.flush_consumer_filter_ms,
            lambda: self._files.save_filters(self.filters),
        )
        self._every("channels", config.channel_scan_ms, config.channel_scan_ms, self._scan_channels)
        self._journal.write(
            BrokerStarted(broker=config.name, broker_id=config.broker_id, address=config.address, role=self.store.role)
        )
        self._follower.start()
        self._registration.start()

    def stop(self) -> None:
        """Stop the broker cleanly: unregister, write all tables, close the store."""
        if not self.running:
            return
        self._registration.stop(goodbye=True)
        self._end()
        self._files.write_late()
        self._files.save_offsets(self.consumer_offsets)
        self._files.save_delay(self.delay)
        self._files.save_filters(self.filters)
        self.store.close()
        self._journal.write(BrokerStopped(broker=self.config.name, broker_id=self.config.broker_id, how="clean"))

    def kill(self, how: str = "killed") -> None:
        """End the broker as kill -9 does: nothing more is written.  `how`: killed or power_cut."""
        if not self.running:
            return
        self._registration.stop(goodbye=False)
        self._end()
        self._files.forget_late()
        self.store.crash()
        self._journal.write(BrokerStopped(broker=self.config.name, broker_id=self.config.broker_id, how=how))

    def _end(self) -> None:
        self.running = False
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._follower.stop()
        self.hold.stop()
        self.delay.stop()
        self._transaction_check.stop()
        self._broker_to_client.stop()
        self.connections.stop()
        self.locks.lose_all(self.config.node)

    def hang(self) -> None:
        """Stop the process as SIGSTOP does: no answers, no timers; connections stay."""
        self._clock.stop()

    def resume(self) -> None:
        """Continue after a hang: first handle the requests that arrived, then run the timers that are due."""
        queued, self._queued = self._queued, []
        self._clock.wake()
        for commands, channel in queued:
            if commands:
                self.handle(commands, channel)
            else:
                self.disconnected(channel)
        self.store.ha.inbox.deliver()
        self._follower.deliver()
        self._clock.ring_late()

    @property
    def strange_tables(self) -> tuple[TableRead, ...]:
        """Tables that the start did not read from their files, but from backups or not at all."""
        return self._files.strange

    @property
    def ha_listener(self) -> ByteListener:
        """Listener of `config.ha_address`, where slaves copy the log."""
        return self.store.ha

    @property
    def hung(self) -> bool:
        return self._clock.stopped

    # Listener.

    def connected(self, channel: Channel) -> None:
        self.connections.opened(channel)

    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
        """Handle one batch of requests from one client: process all, dispatch once, answer all."""
        if not self.running:
            return
        if self._clock.stopped:
            if len(self._queued) < MAX_QUEUED:
                self._queued.append((commands, channel))
            return
        self.connections.heard(channel, commands[-1].serialize_type)
        answers = [self._answer(c, channel) for c in commands]
        self.store.dispatch()
        self.stats.settle()
        for answer in answers:
            if answer is not None:
                channel.send(answer)

    def disconnected(self, channel: Channel) -> None:
        if self._clock.stopped:
            self._queued.append(([], channel))
        elif self.connections.closed(channel, getattr(channel, "why_closed", "closed")):
            self._forget(channel)

    def serves(self, code: int) -> bool:
        """Return True if this node handles the request code.  Used if one listener serves broker and name server."""
        return code in self._handlers

    def _answer(self, c: RemotingCommand, channel: Channel) -> Answer:
        handler = self._handlers.get(c.code)
        try:
            if c.flag & FLAG_RESPONSE:
                self._broker_to_client.answered(c, channel)
                return None
            if self.access is not None:
                self.access.check(c, channel.remote)
            if handler is not None:
                answer = handler(c, channel)  # None: answered later (a parked pull, a flush)
            else:
                answer = c.reply(
                    ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=f" request type {int(c.code)} not supported"
                )
        except BrokerRefused as no:
            answer = c.reply(no.code, remark=no.remark)
        except Exception as error:
            log.exception("request %d from %s", c.code, channel.remote)
            answer = c.reply(ResponseCode.SYSTEM_ERROR, remark=f"{type(error).__name__}: {error}")
            self._journal.write(
                HandlerFailed(node=self.config.node, request_code=int(c.code), remark=answer.remark or "")
            )
        return None if c.flag & FLAG_ONEWAY else answer

    def _forget(self, channel: Channel) -> None:
        """Remove the members of a closed connection at once and notify the other members."""
        if not self.running:
            return
        self.hold.drop(channel)
        self.producers.channel_closed(channel)
        self.consumers.channel_closed(channel)

    # Callbacks and timers.

    def _arrived(
        self,
        topic: str,
        queue_id: int,
        next_offset: int,
        tags_code: int,
        _store_ms: int,
        properties: dict[str, str] | None,
    ) -> None:
        if topic == SCHEDULE_TOPIC:
            self.delay.notify_message_arriving(queue_id, tags_code)
        if self.config.long_polling and self.config.is_master:
            self.hold.notify_message_arriving(topic, queue_id, next_offset, tags_code, properties)

    def _topic_changed(self, topic: TopicConfig | None) -> None:
        self._files.save_topics(self.topics)
        if topic is not None and self.running:
            self._registration.register_topic(topic)

    def _settings_changed(self, names: set[str]) -> None:
        if "brokerPermission" in names and self.running:  # registrations contain the topics' permissions
            self.topics.next_version()
            self._registration.register_all()

    def _groups_changed(self) -> None:
        self._files.save_groups(self.subscription_groups)

    @property
    def offsets_due_ms(self) -> int | None:
        """Time of the next write of `consumerOffset.json`, in ms; None without a timer.

        Only changed offsets are written.
        """
        timer = self._timers.get("offsets")
        return None if timer is None else self._clock.ms_at(timer.when)

    def _scan_channels(self) -> None:
        """Remove members without a heartbeat for 120 s, and their connections."""
        for channel in [*self.consumers.scan(), *self.producers.scan()]:
            self.connections.drop(channel, "expired")

    def _every(self, name: str, first_ms: int, period_ms: int, job: Callable[[], None]) -> None:
        def run() -> None:
            self._timers[name] = self._clock.call_later(period_ms / 1000, run)
            job()

        self._timers[name] = self._clock.call_later(first_ms / 1000, run)

    # For code in the same process: like the requests, without a connection.

    def create_topic(self, topic: TopicConfig, how: str = "broker") -> None:
        """Create or change a topic, as request 17 does.  Raises BrokerRefused."""
        self._processors.topics.put(topic, how)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic, as request 215 does.  Raises BrokerRefused."""
        self._processors.topics.remove(topic)

    def reset_offsets(self, group: str, topic: str, timestamp_ms: int, *, force: bool = True) -> dict[Queue, int]:
        """Reset a group to a store time, as request 222 does: send every member its new offsets and return them.

        `timestamp_ms` -1 is the end of the queue.  Raises BrokerRefused.
        """
        return self._processors.reset.send_to_members(ResetOffsetHeader(topic, group, timestamp_ms, force))
