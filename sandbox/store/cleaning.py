"""Retention: the files that may be deleted, and the refusal of messages on a full disk (spec store-format 9).

RocketMQ: `CleanCommitLogService`, `CleanConsumeQueueService`.
"""

import logging
from collections.abc import Callable, Iterable

from sandbox.journal.events import DiskChanged, FilesDeleted, MinOffsetMoved
from sandbox.journal.journal import Journal
from sandbox.kernel.calendar_text import hour_of_day
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.store.commit_log import CommitLog
from sandbox.store.config import MessageStoreConfig
from sandbox.store.consume_queue import ConsumeQueue
from sandbox.store.disk import Disk
from sandbox.store.index_service import IndexService

log = logging.getLogger(__name__)

_HOUR_MS = 3_600_000
_FIRST_DISK_CHECK_MS = 1_000


class CleaningService:
    """The retention of a store: it deletes expired files, the oldest first and never the newest, and checks the disk.

    Age is that of the file's last change, not of its messages.  `full` is RocketMQ's disk-full flag: puts are
    refused while it is set.  `config` may be replaced at any time.
    """

    def __init__(
        self,
        config: MessageStoreConfig,
        *,
        clock: Clock,
        disk: Disk,
        journal: Journal,
        broker: str,
        commit_log: CommitLog,
        queues: Callable[[], Iterable[ConsumeQueue]],
        index: IndexService,
        idle: Callable[[], None],
    ) -> None:
        self.config = config
        self._clock = clock
        self._disk = disk
        self._journal = journal
        self._broker = broker
        self._log = commit_log
        self._queues = queues
        self._index = index
        self._idle = idle
        self._timers: dict[str, TimerHandle] = {}
        self._cleaned_below = 0  # the log's first byte when queues were cleaned last
        self.ballast_bytes = 0  # used by other data on the disk (a fault to test)
        self.home_full = False  # the data home has no room for more, whatever this disk has
        self.full = False

    def start(self) -> None:
        self._later("disk", _FIRST_DISK_CHECK_MS, self._check_disk)
        self._later("clean", self.config.clean_first_delay_ms, self._clean)

    def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _later(self, name: str, delay_ms: int, work: Callable[[], None]) -> None:
        def ring() -> None:
            self._later(name, self.config.clean_interval_ms, work)
            work()

        self._timers[name] = self._clock.call_later(delay_ms / 1000, ring)

    @property
    def used_bytes(self) -> int:
        """The size of the store's files and the ballast."""
        queues = sum(queue.files.wrote_bytes for queue in self._queues())
        return self._log.files.wrote_bytes + queues + self._index.used_bytes + self.ballast_bytes

    def used_ratio(self) -> float:
        """Return the used share of the disk, or of the limit in bytes if there is one."""
        limit = self.config.store_limit_bytes
        return self.used_bytes / limit if limit else self._disk.used_ratio()

    def space(self) -> tuple[int, int] | None:
        """Return total and free bytes, of the disk or of the configured limit that replaces it."""
        limit = self.config.store_limit_bytes
        return (limit, max(0, limit - self.used_bytes)) if limit is not None else self._disk.space()

    def check_disk(self) -> None:
        """Set or clear the disk-full flag by the warning level only."""
        self._mark(full=self.used_ratio() > self.config.disk_warning_ratio)

    def _check_disk(self) -> None:
        self.check_disk()
        self._idle()

    def _mark(self, *, full: bool) -> None:
        full = full or self.home_full
        if full != self.full:
            self.full = full
            self._journal.write(DiskChanged(self._broker, "full" if full else "ok"))

    def _clean(self) -> None:
        self.clean(manual=False)

    def clean(self, *, manual: bool) -> None:
        """Run retention once: delete log files, then files of queues and index whose records are all deleted.

        `manual`: at any hour.
        """
        now_ms = self._clock.now_ms()
        reason, forcibly = self._reason(now_ms, manual=manual)
        if reason is not None:
            self._clean_log(now_ms, reason, forcibly=forcibly)
        self._clean_queues(reason or "age")

    def _reason(self, now_ms: int, *, manual: bool) -> tuple[str | None, bool]:
        """Return the reason why this run deletes log files, or None, and True if it may delete unexpired files."""
        ratio = self.used_ratio()
        forcibly = ratio > self.config.disk_clean_forcibly_ratio
        if ratio > self.config.disk_warning_ratio:
            self._mark(full=True)
        elif not forcibly:
            self._mark(full=False)
        if forcibly and self.config.clean_file_forcibly_enable:
            return "disk", True
        if manual:
            return "manual", False
        if hour_of_day(now_ms, self.config.utc_offset_minutes) in self.config.delete_hours:
            return "age", False
        return ("disk", False) if ratio > self.config.disk_max_used_percent / 100 else (None, False)

    def _clean_log(self, now_ms: int, reason: str, *, forcibly: bool) -> None:
        files = self._log.files
        deleted: list[str] = []
        freed = 0
        for file in files.files[:-1]:
            if len(deleted) >= self.config.delete_files_batch_max:
                break
            if not forcibly and now_ms < file.modified_ms + self.config.file_reserved_hours * _HOUR_MS:
                break
            freed += file.wrote
            deleted.append(file.name)
            files.delete(file)
        if deleted:
            self._journal.write(FilesDeleted(self._broker, "commitlog", tuple(deleted), freed, reason))
            if forcibly:
                self.check_disk()

    def _clean_queues(self, reason: str) -> None:
        """Delete queue and index files whose records are deleted; do nothing unless the log's first byte has moved."""
        log_min = self._log.min_offset
        if log_min <= self._cleaned_below:
            return
        self._cleaned_below = log_min
        deleted: list[str] = []
        freed = 0
        for queue in self._queues():
            gone = queue.delete_expired(log_min)
            deleted += [f"{queue.topic}/{queue.queue_id}/{file.name}" for file in gone]
            freed += sum(file.wrote for file in gone)
            self._correct(queue, log_min)
        if deleted:
            self._journal.write(FilesDeleted(self._broker, "consumequeue", tuple(deleted), freed, reason))
        indexes = self._index.delete_expired(log_min)
        if indexes:
            names = tuple(file.name for file in indexes)
            self._journal.write(FilesDeleted(self._broker, "index", names, sum(f.used_bytes for f in indexes), reason))

    def _correct(self, queue: ConsumeQueue, log_min: int) -> None:
        before = queue.min_offset
        if queue.correct_min_offset(log_min):
            self._journal.write(MinOffsetMoved(queue.topic, self._broker, queue.queue_id, before, queue.min_offset))

    def age(self, hours: int) -> None:
        """Set the times of all closed log files back, as if they had been written earlier."""
        for file in self._log.files.files[:-1]:
            file.modified_ms -= hours * _HOUR_MS
            self._disk.set_modified_ms(file.path, file.modified_ms)
