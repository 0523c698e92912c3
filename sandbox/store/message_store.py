"""The message store of one broker."""

import logging
from collections.abc import Callable, Iterable
from functools import partial

from sandbox.journal.events import CommitLogRolled, DiskChanged, IndexFileRolled, RecoveryDone
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import StoreFull
from sandbox.message.filter import MessageFilter
from sandbox.message.message import InboundBatch, InboundMessage, StoredMessage
from sandbox.store import consume_queue
from sandbox.store.checkpoint import FILE as CHECKPOINT_FILE
from sandbox.store.checkpoint import StoreCheckpoint
from sandbox.store.cleaning import CleaningService
from sandbox.store.commit_log import DIRECTORY as LOG_DIRECTORY
from sandbox.store.commit_log import CommitLog, use_large_pages
from sandbox.store.config import SLAVE, MessageStoreConfig
from sandbox.store.consume_queue import ConsumeQueue
from sandbox.store.disk import Disk, Flusher, Lock
from sandbox.store.flush import FlushService
from sandbox.store.ha_service import HAService
from sandbox.store.index_file import IndexFile
from sandbox.store.index_read import has_key, read_by_key
from sandbox.store.index_service import IndexService
from sandbox.store.json_files import JsonFile
from sandbox.store.mapped_file import MappedFile, MapPool
from sandbox.store.mapped_file_queue import MappedFileQueue, must_be_directory
from sandbox.store.put_confirmation import PutSafety
from sandbox.store.queue_read import QueueReader
from sandbox.store.recovery import Recovery
from sandbox.store.reput import ReputMessageService
from sandbox.store.results import GetResult, PutResult, QueryResult, QueueUnit, RecoveryReport
from sandbox.store.stats import StoreStats
from sandbox.store.unanswered import Unanswered
from sandbox.store.writer import MessageWriter

log = logging.getLogger(__name__)

ABORT_FILE = "abort"  # exists while the store is in use; found when opening, it shows a crash
LOCK_FILE = "lock"
_NO_MESSAGES = InboundBatch("", 0, (), (), (), 0, 0, b"")


class MessageStore:
    """The messages of one broker.  RocketMQ: `DefaultMessageStore`.

    A put is in the log at once and has its queue offset; readers see it after `dispatch`, which the broker calls
    once per turn.  Life cycle: `load`, `start`, then `close` or `crash`.

    With a `broker_id` above 0 it is a slave's store: it takes no puts, and its log comes from the master by
    `append_replica`.  The master has written the events of the messages that a slave dispatches.
    """

    def __init__(
        self,
        config: MessageStoreConfig,
        *,
        disk: Disk,
        clock: Clock,
        journal: Journal,
        broker: str,
        broker_id: int,
        store_host: bytes,
        flusher: Flusher,
    ) -> None:
        self.config = config
        self.disk = disk
        self.broker = broker
        self.broker_id = broker_id
        self.role = SLAVE if broker_id else config.replication
        self.node = f"{broker}.{broker_id}" if broker_id else broker  # its name in snapshots and events
        self._clock = clock
        self._journal = journal
        self._lock: Lock | None = None
        self._broken: set[str] = set()
        self.recovered: RecoveryReport | None = None
        self._queues: dict[tuple[str, int], ConsumeQueue] = {}
        self.pool = MapPool(disk, config.max_mapped_files)
        files = MappedFileQueue(
            disk, self.pool, LOG_DIRECTORY, config.commit_log_file_bytes, large_pages=use_large_pages(config)
        )
        self.log = CommitLog(files, clock=clock, store_host=store_host, rolled=self._log_rolled)
        has = partial(has_key, self.log)
        self.index = IndexService(disk, self.pool, config, clock, rolled=self._index_rolled, has_key=has)
        self.checkpoint = StoreCheckpoint(disk)
        self.reput = ReputMessageService(
            self.log,
            self,
            self.index,
            journal,
            broker=broker,
            delay_levels_ms=config.delay_levels_ms,
            index_enable=config.index_enable,
            stuck=lambda stuck: self._set_failing("dispatch", stuck),
        )
        self.flush = FlushService(
            config,
            clock=clock,
            disk=disk,
            flusher=flusher,
            log_files=files,
            queues=self._queues.values,
            checkpoint=self.checkpoint,
        )
        self.flush.logics_ms = lambda: self.reput.dispatched_ms
        self.flush.failing = lambda broken: self._set_failing("flush", broken)
        self.cleaning = CleaningService(
            config,
            clock=clock,
            disk=disk,
            journal=journal,
            broker=self.node,
            commit_log=self.log,
            queues=self._queues.values,
            index=self.index,
            idle=self._look_around,
        )
        self.ha = HAService(config, self.log, clock=clock, journal=journal, broker=broker)
        self.safety = PutSafety(config.flush, self.role, self.flush, self.ha)
        self.unanswered = Unanswered()
        self.stats = StoreStats(clock, config.utc_offset_minutes)
        self._writer = MessageWriter(
            config, self.log, self.reput, self.cleaning, self.stats, refuses=self.role == SLAVE
        )
        self._reader = QueueReader(config, self.log, self._queues)

    # Life cycle.

    def load(self) -> RecoveryReport:
        """Lock the store, repair its files and return the report.  Raises Locked, StoreError, StoreFull."""
        self._lock = self.disk.lock(LOCK_FILE)
        try:
            self.recovered = report = self._load()
        except BaseException:
            self.crash()
            raise
        self._journal.write(
            RecoveryDone(
                self.broker,
                self.broker_id,
                report.kind,
                report.from_offset,
                report.truncated_bytes,
                report.messages,
                report.steps,
            )
        )
        self._writer.opened = True
        return report

    def _load(self) -> RecoveryReport:
        clean = self.disk.size_of(ABORT_FILE) is None
        recovery = Recovery(self.config, self.log, self.checkpoint, self.reput, self.index)
        self.log.files.load()
        recovery.steps.append(f"log files {len(self.log.files.files)}")
        self._load_queues()
        self.checkpoint.load()
        gone = self.index.load(trusted_until_ms=None if clean else self.checkpoint.index_ms)
        recovery.steps.append(f"index files {len(self.index.files)}, deleted {len(gone)}")
        report = recovery.recover(self._queues, clean=clean)
        self._writer.next_offset = {key: queue.max_offset for key, queue in self._queues.items()}
        self.cleaning.check_disk()
        return report

    def _load_queues(self) -> None:
        must_be_directory(self.disk, consume_queue.DIRECTORY)
        for topic in self.disk.names(consume_queue.DIRECTORY):
            for name in self.disk.names(f"{consume_queue.DIRECTORY}/{topic}"):
                if name.isdigit():
                    self.queue(topic, int(name)).files.load()

    def start(self) -> None:
        """Start the timers, and create the abort file.  Raises StoreFull, or OSError."""
        if self.disk.size_of(CHECKPOINT_FILE) is None:
            self.checkpoint.write()  # all zero, as in RocketMQ from the first start on
        self.disk.write(ABORT_FILE, b"")
        self.disk.sync(ABORT_FILE)  # else a power cut may remove it, and recovery would trust too much
        self.flush.start()
        self.cleaning.start()
        self.ha.start()

    def close(self) -> None:
        """Stop cleanly: dispatch and flush all puts.  Raises OSError if that fails."""
        if not self._writer.opened:
            return
        self.dispatch()
        self._stop_timers()
        try:
            self.flush.flush_all()
            for file in self.index.files:
                self.disk.sync(file.file.path)
            self.checkpoint.write()
            self.disk.sync(CHECKPOINT_FILE)
            if self.writable and self.reput.idle:
                self.disk.remove(ABORT_FILE)
        finally:
            self._release()

    def crash(self) -> None:
        """End as a killed process does: files stay as they are."""
        self._stop_timers()
        self._release()

    def _stop_timers(self) -> None:
        self.ha.stop()
        self.flush.stop()
        self.cleaning.stop()

    def _release(self) -> None:
        self._writer.opened = False
        self.reput.forget()
        self.pool.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # Writing.

    def put_message(self, m: InboundMessage) -> PutResult:
        """Append a message and assign its queue offset.  Readers see it after `dispatch`."""
        return self._writer.put(m)

    def put_quietly(self, m: InboundMessage) -> PutResult:
        """Append a message of the broker itself, as `put_message` does: no client waits for an answer."""
        result = self.put_message(m)
        if result.physical_offset >= 0:
            self.unanswered.add(result.offsets, self.flushed_offset)
        return result

    def put_messages(self, batch: list[InboundMessage]) -> PutResult:
        """Append a batch for one queue: consecutive offsets, one file, all or nothing."""
        return self._writer.put_batch(InboundBatch.of(batch) if batch else _NO_MESSAGES)

    def put_batch(self, batch: InboundBatch) -> PutResult:
        """Append a batch given as columns, as `put_messages` does."""
        return self._writer.put_batch(batch)

    def dispatch(self) -> None:
        """Make puts readable, and start their flush.  Once per turn: the next put reads the clock again."""
        try:
            if self.reput.pending or not self.reput.idle:
                self.reput.run(quiet=self.role == SLAVE, note=self.stats.note)
                self.flush.wrote()
                self.ha.wrote()
        finally:
            self.log.end_turn()
            self.stats.settle()

    def when_flushed(self, physical_end: int, done: Callable[[bool], None]) -> None:
        """Call `done(True)` once the log is durable up to `physical_end`, `done(False)` after the flush timeout."""
        self.flush.when_flushed(physical_end, done)

    def append_replica(self, physical_offset: int, data: bytes) -> bool:
        """Write a master's bytes, readable after `dispatch`.  False: they are not the next bytes, or do not fit."""
        if not self._writer.opened:
            return False
        first = not self.log.files.files
        try:
            done = self.log.append_raw(physical_offset, data, self.reput.dispatched_ms)
        except StoreFull as error:
            log.warning("cannot take over %d bytes at %d: %s", len(data), physical_offset, error)
            return False
        if first:
            self.reput.position = self.log.min_offset  # a new slave's log does not begin at 0
        return done

    # Reading.

    def get_message(
        self, topic: str, queue_id: int, offset: int, max_messages: int, message_filter: MessageFilter | None
    ) -> GetResult:
        """Return the result of a pull from `offset`, as a master answers it (spec broker-behaviour 3.2)."""
        return self._reader.get(topic, queue_id, offset, max_messages, message_filter)

    def min_offset(self, topic: str, queue_id: int) -> int:
        queue = self._queues.get((topic, queue_id))
        return queue.min_offset if queue else 0

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Return the queue offset of the next message, as far as dispatched."""
        queue = self._queues.get((topic, queue_id))
        return queue.max_offset if queue else 0

    def offset_by_time(self, topic: str, queue_id: int, at_ms: int) -> int:
        """Return the offset of the message stored nearest to `at_ms`, as in RocketMQ 4.9 (spec broker-behaviour 7)."""
        return self._reader.offset_by_time(topic, queue_id, at_ms)

    def store_time(self, topic: str, queue_id: int, queue_offset: int) -> int | None:
        unit = self.unit(topic, queue_id, queue_offset)
        return self.log.store_time(unit.physical_offset, unit.store_bytes) if unit else None

    def earliest_store_time(self, topic: str, queue_id: int) -> int | None:
        return self.store_time(topic, queue_id, self.min_offset(topic, queue_id))

    def read(self, physical_offset: int) -> bytes | None:
        """Return the whole record at a log position, or None if none begins there or it is deleted."""
        return self.log.read_record(physical_offset)

    def read_message(self, physical_offset: int) -> StoredMessage | None:
        return self.log.read_message(physical_offset)

    def unit(self, topic: str, queue_id: int, queue_offset: int) -> QueueUnit | None:
        queue = self._queues.get((topic, queue_id))
        return queue.unit(queue_offset) if queue else None

    def first_in_memory(self, topic: str, queue_id: int) -> bool:
        """Return True if queue offset 0 counts as in memory: within 40 % of memory of the log's end, or missing."""
        unit = self.unit(topic, queue_id, 0)
        return unit is None or not self._reader.on_disk(unit.physical_offset)

    def query(self, topic: str, key: str, max_count: int, begin_ms: int, end_ms: int) -> QueryResult:
        """Return records by key, ascending, with those of other keys of the same hash, which the client drops."""
        return read_by_key(self.index, self.log, topic, key, max_count, begin_ms, end_ms)

    def queue(self, topic: str, queue_id: int) -> ConsumeQueue:
        """Return the queue, created if missing."""
        queue = self._queues.get((topic, queue_id))
        if queue is None:
            directory = f"{consume_queue.DIRECTORY}/{topic}/{queue_id}"
            files = MappedFileQueue(self.disk, self.pool, directory, self.config.consume_queue_file_bytes)
            queue = self._queues[topic, queue_id] = ConsumeQueue(topic, queue_id, files)
        return queue

    def queues(self) -> Iterable[tuple[str, int]]:
        """Return every queue that has or had a message, sorted."""
        return sorted(self._queues)

    @property
    def min_physical_offset(self) -> int:
        return self.log.min_offset

    @property
    def max_physical_offset(self) -> int:
        return self.log.max_offset

    @property
    def flushed_offset(self) -> int:
        return self.log.files.flushed_offset

    @property
    def replicated_offset(self) -> int | None:
        """The log's end at some slave, or None without a report to this process."""
        return self.ha.replicated_offset

    @property
    def dispatched_offset(self) -> int:
        return self.reput.position

    @property
    def writable(self) -> bool:
        return self._writer.writable

    @property
    def disk_state(self) -> str:
        if self._writer.failing:
            return "failing"
        return "full" if self.cleaning.full else "ok"

    def delete_topic(self, topic: str) -> None:
        """Delete the queues at once; the log keeps the records until their file expires."""
        for key in [key for key in self._queues if key[0] == topic]:
            self._queues.pop(key).files.destroy()
            self._writer.next_offset.pop(key, None)
        self.disk.remove_tree(f"{consume_queue.DIRECTORY}/{topic}")
        self.stats.forget_topic(topic)

    def clean(self, *, manual: bool = False) -> None:
        """Run retention now; `manual`: at any hour."""
        self.cleaning.clean(manual=manual)

    def age_files(self, hours: int) -> None:
        self.cleaning.age(hours)

    def config_file(self, name: str) -> JsonFile:
        return JsonFile(self.disk, name)

    def _look_around(self) -> None:
        """Every ten seconds: release unused files, and retry a dispatch that found no space."""
        self.pool.rest()
        self.reput.rest()
        if self._writer.opened:
            self.dispatch()

    def _log_rolled(self, file: MappedFile) -> None:
        self._journal.write(CommitLogRolled(self.broker, self.broker_id, file.name))

    def _index_rolled(self, full: IndexFile, file: IndexFile) -> None:
        self._journal.write(IndexFileRolled(self.broker, self.broker_id, file.name))
        self.flush.flush_index(full)

    def _set_failing(self, what: str, broken: bool) -> None:
        """Mark a part as failing or working: after a failed flush, or a dispatch without space, puts are refused."""
        (self._broken.add if broken else self._broken.discard)(what)
        failing = bool(self._broken)
        if failing != self._writer.failing:
            self._writer.failing = failing
            self._journal.write(DiskChanged(self.node, "failing" if failing else "ok"))
