"""Files of the broker's tables."""

import logging
from collections.abc import Callable, Collection

from sandbox.broker.consumer_filters import ConsumerFilterManager
from sandbox.broker.consumer_offsets import ConsumerOffsetManager
from sandbox.broker.delay import ScheduleMessageService
from sandbox.broker.subscription_groups import SubscriptionGroupManager
from sandbox.broker.topics import TopicConfigManager
from sandbox.journal.events import OffsetsPersisted, TableDamaged, TableLossAccepted
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.kernel.errors import StoreFull, TablesDamaged
from sandbox.store.json_files import TableRead
from sandbox.store.message_store import MessageStore
from sandbox.store.table_files import CONSUMER_OFFSETS, DELAY_OFFSETS, FILTERS, GROUPS, TABLES, TOPICS, path_of

log = logging.getLogger(__name__)

OUTCOMES = {"backup": "backup", "lost": "empty", "damaged": "refused"}
"""Of reading a table that is not in its file, as `TableDamaged` says them."""

SPARE_ROWS = 10_000  # of topics and groups are written at once,
ROWS_PER_S = 500  # and then this many each second


class ConfigFiles:
    """Files of the broker's five tables.

    They are read at start.  Topics and groups are written at every change, the others every few seconds.

    Frequent changes of a long table are written together: creating a thousand topics would otherwise write the whole
    table a thousand times.  On a full disk the file is lost, not the table: the next change writes the file again.
    RocketMQ: the `ConfigManager` of each table (spec store-format 10).
    """

    def __init__(self, store: MessageStore, clock: Clock, journal: Journal, broker: str) -> None:
        self._store = store
        self._clock = clock
        self._journal = journal
        self._broker = broker
        self._spare_rows = float(SPARE_ROWS)  # may be written now
        self._spare_at_s = clock.monotonic()
        self._late: dict[str, tuple[TimerHandle, Callable[[], None]]] = {}  # changed, and not written yet
        self.strange: tuple[TableRead, ...] = ()  # tables that were not read from their file when the broker started

    def load(
        self,
        topics: TopicConfigManager,
        groups: SubscriptionGroupManager,
        offsets: ConsumerOffsetManager,
        delay: ScheduleMessageService,
        filters: ConsumerFilterManager,
        accepting: Collection[str] = (),
    ) -> None:
        """Load all tables from their files or backups.

        Raises TablesDamaged with every table that can be read from neither.  RocketMQ stops at the first of them.
        `accepting`: names of tables whose loss is accepted; their damaged files are renamed, and the tables start
        empty.
        """
        takes = {
            TOPICS: topics.load,
            CONSUMER_OFFSETS: offsets.load,
            GROUPS: groups.load,
            FILTERS: filters.load,
            DELAY_OFFSETS: delay.load,
        }
        reads = [self._store.config_file(name).load(takes[name]) for name in TABLES]
        damaged = tuple(read for read in reads if read.source == "damaged" and read.name not in accepting)
        for read in reads:
            if read.source == "damaged" and read not in damaged:
                kept = self._store.config_file(read.name).put_aside()
                self._journal.write(TableLossAccepted(self._broker, read.name, path_of(read.name), kept))
            elif read.source in OUTCOMES:
                self._say(read)
        self.strange = tuple(read for read in reads if read.source in ("backup", "lost"))
        if damaged:
            raise TablesDamaged(damaged)

    def _say(self, read: TableRead) -> None:
        file, *backup = read.unread
        self._journal.write(
            TableDamaged(
                broker=self._broker,
                table=read.name,
                file=file.path,
                why=file.why,
                backup_why=backup[0].why if backup else None,
                outcome=OUTCOMES[read.source],
            )
        )

    def save_topics(self, topics: TopicConfigManager) -> None:
        self._write_in_turn(TOPICS, len(topics.table), lambda: self._write(TOPICS, topics.to_json()))

    def save_groups(self, groups: SubscriptionGroupManager) -> None:
        self._write_in_turn(GROUPS, len(groups.table), lambda: self._write(GROUPS, groups.to_json()))

    def write_late(self) -> None:
        """Write waiting changes now, because the broker ends."""
        for _, write in self.forget_late():
            write()

    def forget_late(self) -> list[tuple[TimerHandle, Callable[[], None]]]:
        """Drop and return the waiting changes, because the broker is killed."""
        late = list(self._late.values())
        self._late.clear()
        for timer, _ in late:
            timer.cancel()
        return late

    def save_offsets(self, offsets: ConsumerOffsetManager) -> None:
        if offsets.changed and self._write(CONSUMER_OFFSETS, offsets.to_json()):
            offsets.changed = False
            self._journal.write(
                OffsetsPersisted(owner=self._broker, file=f"{CONSUMER_OFFSETS}.json", entries=offsets.entries())
            )

    def save_delay(self, delay: ScheduleMessageService) -> None:
        if delay.changed and self._write(DELAY_OFFSETS, delay.to_json()):
            delay.changed = False

    def save_filters(self, filters: ConsumerFilterManager) -> None:
        """Write `consumerFilter.json` if it changed.  A broker without SQL92 subscriptions has no such file."""
        filters.clean()
        if filters.changed and self._write(FILTERS, filters.to_json()):
            filters.changed = False

    def write_delay(self, content: dict[str, object]) -> None:
        """Write the master's delay offsets on a slave, which needs them if it starts as master."""
        self._write(DELAY_OFFSETS, content)

    def _write_in_turn(self, name: str, rows: int, write: Callable[[], object]) -> None:
        """Write a table now, or later if the limit of rows per second is used up."""
        if name in self._late:
            return
        now_s = self._clock.monotonic()
        self._spare_rows = min(SPARE_ROWS, self._spare_rows + (now_s - self._spare_at_s) * ROWS_PER_S)
        self._spare_at_s = now_s

        def write_now() -> None:
            self._late.pop(name, None)
            self._spare_rows -= rows
            write()

        if self._spare_rows > 0:
            write_now()
        else:
            wait_s = (rows - self._spare_rows) / ROWS_PER_S
            self._late[name] = (self._clock.call_later(wait_s, write_now), write_now)

    def _write(self, name: str, table: dict[str, object]) -> bool:
        try:
            self._store.config_file(name).write(table)
        except StoreFull as error:
            log.warning("cannot write %s.json: %s", name, error)
            return False
        return True
