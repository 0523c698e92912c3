"""Broker and its machine: files, disk, clock, and its permanent address."""

import logging
from collections.abc import Callable, Collection
from dataclasses import replace

from sandbox.broker.broker import Broker
from sandbox.broker.config import BrokerConfig, BrokerLimits
from sandbox.cluster.context import Context
from sandbox.cluster.last_known import LastKnown, last_known
from sandbox.cluster.presets import REAL, Preset
from sandbox.cluster.record import NodeRecord
from sandbox.cluster.reverted import say_reverted
from sandbox.control.limits import SandboxLimits
from sandbox.journal.events import UnflushedLost
from sandbox.kernel.errors import ActionRefused, TablesDamaged
from sandbox.kernel.process_clock import ProcessClock
from sandbox.kernel.skewed_clock import SkewedClock
from sandbox.message.msg_id import host_bytes
from sandbox.store.config import MessageStoreConfig
from sandbox.store.durable import flushed_positions, lost_of, mapped_files, unflushed_records
from sandbox.store.json_files import TableRead
from sandbox.store.message_store import MessageStore
from sandbox.store.unanswered import Unanswered

log = logging.getLogger(__name__)

FULL_RATIO = 0.95  # of the limit that stands for the disk's size; puts are refused from 0.90 on
MASTER_ID = 0
NODE_STATES = ("running", "hung", "stopped", "killed", "power_cut", "damaged")


class BrokerNode:
    """Broker and its machine.

    It can be started, stopped, killed and hung; its files, clock and disk outlive its process.  `state` is one of
    NODE_STATES.  `damaged`: tables on its disk that could not be read, so its last start was refused.
    """

    def __init__(self, record: NodeRecord, context: Context, name_servers: list[str], ip: str) -> None:
        self.record = record
        self.ip = ip  # source address of its own connections
        self.lock_life_ms: int | None = None  # None: the preset's
        self.ballast_bytes = 0  # bytes on a filled disk beside the store
        self.clock = SkewedClock(context.clock)
        self.slave_id_of: Callable[[str], int] = lambda remote: 0  # set by `Nodes`
        self.has_slave = False  # likewise
        self._context = context
        self._name_servers = name_servers
        self._starts = 0
        self._ended = "stopped"
        self.last_known: LastKnown | None = None  # of the process that ended; None: it runs, or never did
        self.damaged: tuple[TableRead, ...] = ()  # damaged tables that prevented its last start
        self._disk = context.environment.disk(context.directory / record.directory, context.clock)
        self._disk.refused = lambda error, asked_bytes: context.disk_refused(error, asked_bytes)
        self._flushed: dict[str, int] | None = None  # path → bytes that survive a power cut; None: never started
        self._unanswered = Unanswered()  # requests the last process did not answer
        self.broker: Broker | None = None

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def node(self) -> str:
        """Name of this node in pages and events: `broker-a`, or `broker-a.1` for a slave."""
        return self.record.node

    @property
    def is_master(self) -> bool:
        return self.record.broker_id == MASTER_ID

    @property
    def replication(self) -> str | None:
        """Replication role of a master: the preset's with a slave, else the default.  None for a slave.

        A master without slaves must not wait for one, so it is no SYNC_MASTER.
        """
        if not self.is_master:
            return None
        return self._context.preset.replication if self.has_slave else REAL.replication

    @property
    def state(self) -> str:
        if self.broker is None:
            return self._ended
        return "hung" if self.broker.hung else "running"

    @property
    def running(self) -> Broker:
        """Return the running broker.  Raises ActionRefused (409) while it is down."""
        if self.broker is None:
            raise ActionRefused(409, "{broker} is not running.", "Start {broker} first.", broker=self.node)
        return self.broker

    def start(self, *, accepting: Collection[str] = ()) -> None:
        """Recover the files, listen, register.  Raises StoreError if the files cannot be opened.

        TablesDamaged, a StoreError, is remembered until a start succeeds.  `accepting`: names of tables whose loss
        is accepted.
        """
        assert self.broker is None, "it runs already"
        context = self._context
        self._starts += 1
        clock = ProcessClock(self.clock)  # one for both: a hung broker hangs as a whole
        config = replace(
            store_config(context.preset, context.limits, context.environment.memory_bytes),
            replication=self.replication or REAL.replication,
        )
        store = MessageStore(
            config,
            disk=self._disk,
            clock=clock,
            journal=context.journal,
            broker=self.name,
            broker_id=self.record.broker_id,
            store_host=store_host(self.record.address),
            flusher=context.environment.flusher,
        )
        broker = Broker(
            BrokerConfig(
                name=self.name,
                address=self.record.address,
                broker_id=self.record.broker_id,
                slave_read=context.preset.slave_read,
                property_filter=context.preset.property_filter,
                limits=broker_limits(context.limits),
            ),
            store=store,
            clock=clock,
            chance=context.chance.fork(f"{self.record.directory} {self._starts}"),
            journal=context.journal,
            connector=context.network.connector(self.ip),
            name_servers=self._name_servers,
        )
        store.ha.slave_id_of = self.slave_id_of
        context.network.listen(self.record.address, broker)
        context.network.listen(self.ha_address, broker.ha_listener)
        try:
            broker.start(accepting=accepting)
        except BaseException as error:
            self._unlisten()
            if isinstance(error, TablesDamaged):
                self._refuse(error.reads)
            raise
        known, was_damaged = self.last_known, bool(self.damaged or broker.strange_tables)
        self.broker, self.last_known, self.damaged = broker, None, ()
        context.tables_read(self.node, broker.strange_tables)
        if known is not None:
            say_reverted(known, broker, context.journal, was_damaged=was_damaged)
        context.listeners.up(self.record.address, broker)
        self._note_recovered(store)
        if self.lock_life_ms is not None:
            broker.locks.max_live_ms = self.lock_life_ms
        self._load_disk(store)
        if store.recovered is not None and store.recovered.truncated_bytes:
            context.log_cut(self.node, store.recovered)

    def try_start(self) -> bool:
        """Start the broker; return False if damaged tables prevent it.  Raises StoreError for any other reason."""
        try:
            self.start()
        except TablesDamaged as error:
            log.warning("%s does not start: %s", self.node, error)
        return self.broker is not None

    def _refuse(self, reads: tuple[TableRead, ...]) -> None:
        self.damaged, self._ended = reads, "damaged"
        self._context.tables_read(self.node, reads)

    @property
    def ha_address(self) -> str:
        """Listening address for slaves: RocketMQ's `haListenPort` is the port after its own."""
        ip, _, port = self.record.address.rpartition(":")
        return f"{ip}:{int(port) + 1}"

    def _unlisten(self) -> None:
        self._context.network.unlisten(self.record.address)
        self._context.network.unlisten(self.ha_address)
        self._context.listeners.down(self.record.address)

    def fill_disk(self) -> None:
        """Add ballast to the disk until RocketMQ considers it full."""
        cleaning = self.running.store.cleaning
        limit = self._context.limits.store_bytes
        self.ballast_bytes = max(0, int(limit * FULL_RATIO) - cleaning.used_bytes + cleaning.ballast_bytes)
        self._load_disk(self.running.store)

    def free_disk(self) -> None:
        self.ballast_bytes = 0
        self._load_disk(self.running.store)

    def has_room(self, size: int) -> bool:
        """Return True if its disk has `size` bytes free."""
        space = self._disk.space()
        return space is None or space[1] >= size

    def look_at_home(self) -> None:
        """Apply the current value of `home_full` (the data home is full) to the running broker."""
        if self.broker is not None:
            self._load_disk(self.broker.store)

    def _load_disk(self, store: MessageStore) -> None:
        cleaning, home_full = store.cleaning, self._context.home_full
        if (cleaning.ballast_bytes, cleaning.home_full) != (self.ballast_bytes, home_full):
            cleaning.ballast_bytes, cleaning.home_full = self.ballast_bytes, home_full
            cleaning.check_disk()

    def stop(self) -> None:
        """Stop cleanly: flush everything, unregister, close the connections."""
        if self.broker is not None:
            broker = self._end("stopped")
            try:
                broker.stop()
            except OSError as error:  # the disk takes no more: recovery finds what is in the page cache
                log.error("stopping %s cleanly failed: %s", self.node, error)
                self._ended = "killed"
                broker.store.crash()
            self._note_flushed(broker.store)
            self._unlisten()

    def kill(self) -> None:
        """Kill the process as kill -9 does: memory is lost, the page cache is not; clients' connections close."""
        if self.broker is not None:
            broker = self._end("killed")
            self._note_flushed(broker.store)
            broker.kill()
            self._unlisten()

    def power_cut(self, unanswered: Unanswered | None = None) -> None:
        """Simulate a power failure: memory and page cache are lost; the journal records the exact loss.

        `unanswered`: for a slave, the messages that its master has not confirmed; clients do not send to the slave.
        """
        broker = self._end("power_cut")
        store = broker.store
        flushed = self._note_flushed(store)
        end, records = store.max_physical_offset, unflushed_records(store, flushed)
        broker.kill("power_cut")
        self._unlisten()
        self._context.environment.cut_power(self._disk, flushed)
        lost = lost_of(self._disk, records, check_crc=store.config.check_crc_on_recover)
        messages = [record.physical_offset for record in lost if record.is_message]
        self._context.journal.write(
            UnflushedLost(
                broker=self.node,
                from_offset=lost[0].physical_offset if lost else end,
                to_offset=end,
                messages=len(messages),
                answered=sum(offset not in (unanswered or store.unanswered) for offset in messages),
            )
        )

    def stay_down(self, known: LastKnown) -> None:
        """Restore the state of a broker that was down when the sandbox was closed; it stays down."""
        self.last_known, self._ended = known, known.state

    def _end(self, state: str) -> Broker:
        """Remove the process, record its last state, and return it.  Raises ActionRefused (409) if none runs."""
        broker = self.running
        self.last_known = last_known(broker, state, self._context.clock.now_ms())
        self.broker, self._ended = None, state
        return broker

    def _note_flushed(self, store: MessageStore) -> dict[str, int]:
        """Return, by file path, the bytes that would survive a power cut now.

        A store that was just opened reports smaller positions than the one before it; the larger ones count.
        """
        before = self._flushed or {}
        self._unanswered = store.unanswered
        self._flushed = {
            path: max(position, before.get(path, 0)) for path, position in flushed_positions(store).items()
        }
        return self._flushed

    def _note_recovered(self, store: MessageStore) -> None:
        """Update the flushed positions after a recovery, which may have truncated files.

        Data written after the truncation is not on disk yet.  At the first start, the recovered data counts as
        written back by the kernel.
        """
        store.unanswered.add(self._unanswered.below(store.max_physical_offset), 0)
        sizes = {file.path: file.wrote for file in mapped_files(store)}
        before = self._flushed
        self._flushed = (
            sizes if before is None else {path: min(wrote, before.get(path, 0)) for path, wrote in sizes.items()}
        )


def store_config(preset: Preset, limits: SandboxLimits, memory_bytes: int) -> MessageStoreConfig:
    """Build the store's configuration: RocketMQ's defaults, the preset's sizes and the disk size of the limits."""
    return MessageStoreConfig(
        commit_log_file_bytes=preset.commit_log_file_bytes,
        consume_queue_file_entries=preset.consume_queue_file_entries,
        index_slots=preset.index_slots,
        index_entries=preset.index_entries,
        max_message_bytes=preset.max_message_bytes,
        flush=preset.flush,
        file_reserved_hours=preset.file_reserved_hours,
        store_limit_bytes=limits.store_bytes,
        memory_bytes=preset.memory_bytes or memory_bytes,
    )


def broker_limits(limits: SandboxLimits) -> BrokerLimits:
    return BrokerLimits(
        topics=limits.topics,
        queues_per_topic=limits.queues_per_topic,
        queues=limits.queues,
        groups=limits.groups,
        messages_per_s=limits.stored_messages_per_s,
    )


def store_host(address: str) -> bytes:
    """Return `ip:port` as the bytes in a record."""
    ip, _, port = address.rpartition(":")
    return host_bytes(ip, int(port))
