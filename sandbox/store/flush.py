"""Flushing of written bytes to disk: at an interval, or before a producer gets its answer."""

import logging
from collections import deque
from collections.abc import Callable, Iterable

from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.kernel.errors import StoreFull
from sandbox.store import checkpoint as checkpoint_file
from sandbox.store.checkpoint import StoreCheckpoint
from sandbox.store.config import SYNC_FLUSH, MessageStoreConfig
from sandbox.store.consume_queue import ConsumeQueue
from sandbox.store.disk import Disk, Flusher
from sandbox.store.index_file import IndexFile
from sandbox.store.mapped_file import PAGE_BYTES, MappedFile
from sandbox.store.mapped_file_queue import MappedFileQueue

log = logging.getLogger(__name__)

Dirty = list[tuple[MappedFile, int]]  # files with the position that is durable once they are synced


class _Waiting:
    """A put that may be answered once the log is durable up to `physical_end`."""

    __slots__ = ("done", "physical_end", "timer")

    def __init__(self, physical_end: int, done: Callable[[bool], None]) -> None:
        self.physical_end = physical_end
        self.done: Callable[[bool], None] | None = done
        self.timer: TimerHandle | None = None

    def answer(self, in_time: bool) -> None:
        done, self.done = self.done, None
        if self.timer is not None:
            self.timer.cancel()
        if done is not None:
            done(in_time)


class FlushService:
    """The flushes of log and queues.

    RocketMQ: `FlushRealTimeService`, `GroupCommitService`, `FlushConsumeQueueService` (spec broker-behaviour 11).
    Timers run only while bytes are unflushed, so an idle store costs nothing.  At most one flush runs; the next one
    serves all puts that wait in the meantime (group commit).
    """

    def __init__(
        self,
        config: MessageStoreConfig,
        *,
        clock: Clock,
        disk: Disk,
        flusher: Flusher,
        log_files: MappedFileQueue,
        queues: Callable[[], Iterable[ConsumeQueue]],
        checkpoint: StoreCheckpoint,
    ) -> None:
        self._config = config
        self._clock = clock
        self._disk = disk
        self._flusher = flusher
        self._log_files = log_files
        self._queues = queues
        self._checkpoint = checkpoint
        self._waiting: deque[_Waiting] = deque()
        self._flushing = False
        self._running = False
        self._flushed_ms = 0  # store time of the newest flushed message, set in the checkpoint by a thorough round
        self._log_timer: TimerHandle | None = None
        self._queue_timer: TimerHandle | None = None
        self._group_timer: TimerHandle | None = None
        self._log_thorough_at = 0.0
        self._queue_thorough_at = 0.0
        self.logics_ms: Callable[[], int] = lambda: 0
        self.failing: Callable[[bool], None] = lambda broken: None

    @property
    def flushed_offset(self) -> int:
        return self._log_files.flushed_offset

    def start(self) -> None:
        self._running = True
        now = self._clock.monotonic()
        self._log_thorough_at = now + self._config.flush_commit_log_thorough_ms / 1000
        self._queue_thorough_at = now + self._config.flush_consume_queue_thorough_ms / 1000
        self.wrote()

    def stop(self) -> None:
        """Stop the timers.  Waiting puts are not answered: the process ends."""
        self._running = False
        asked = [waiting.timer for waiting in self._waiting]
        for timer in (self._log_timer, self._queue_timer, self._group_timer, *asked):
            if timer is not None:
                timer.cancel()
        self._log_timer = self._queue_timer = self._group_timer = None
        self._waiting.clear()

    def wrote(self) -> None:
        """Start the timers for the flush of newly written bytes.  Called once per turn."""
        if not self._running:
            return
        if self._config.flush == SYNC_FLUSH:
            self._flush_log(thorough=True)
        elif self._log_timer is None:
            self._log_timer = self._clock.call_later(self._config.flush_commit_log_interval_ms / 1000, self._log_tick)
        self._watch_queues()

    def _watch_queues(self) -> None:
        if self._queue_timer is None:
            self._queue_timer = self._clock.call_later(
                self._config.flush_consume_queue_interval_ms / 1000, self._queue_tick
            )

    def when_flushed(self, physical_end: int, done: Callable[[bool], None]) -> None:
        """Call `done(True)` once the log is durable up to `physical_end`, `done(False)` after the timeout."""
        if self.flushed_offset >= physical_end:
            done(True)
            return
        waiting = _Waiting(physical_end, done)
        waiting.timer = self._clock.call_later(
            self._config.sync_flush_timeout_ms / 1000, lambda: self._give_up(waiting)
        )
        self._waiting.append(waiting)
        if self._group_timer is None:  # after this turn, so that one flush serves all requests of the turn
            self._group_timer = self._clock.call_later(0, self._flush_group)

    def _flush_group(self) -> None:
        self._group_timer = None
        self._flush_log(thorough=True)

    def _give_up(self, waiting: _Waiting) -> None:
        if waiting in self._waiting:
            self._waiting.remove(waiting)
        waiting.answer(False)

    def _log_tick(self) -> None:
        self._log_timer = None
        now = self._clock.monotonic()
        thorough = now >= self._log_thorough_at
        if thorough:
            self._log_thorough_at = now + self._config.flush_commit_log_thorough_ms / 1000
        pages = self._config.flush_commit_log_least_pages
        if thorough or _dirty_pages(self._log_files) >= pages:
            self._flush_log(thorough=thorough)
        if _dirty(self._log_files) or self._checkpoint.physic_ms < self._flushed_ms:
            self._log_timer = self._clock.call_later(self._config.flush_commit_log_interval_ms / 1000, self._log_tick)

    def _flush_log(self, *, thorough: bool) -> None:
        if self._flushing:
            return
        dirty = _dirty(self._log_files)
        if not dirty:
            if thorough:
                self._vouch()
            self._answer_waiting()
            return
        self._flushing = True
        flushed_ms = max(file.store_ms for file, _ in dirty)

        def done(failure: BaseException | None) -> None:
            self._flushing = False
            self._log_done(dirty, failure, flushed_ms, thorough=thorough)

        self._submit(dirty, [], done)

    def _log_done(self, dirty: Dirty, failure: BaseException | None, flushed_ms: int, *, thorough: bool) -> None:
        if failure is not None:
            log.error("flushing the log failed: %s", failure)
            self.failing(True)
            return  # waiting puts are answered by their timeout
        self.failing(False)
        _flushed(dirty)
        self._flushed_ms = max(self._flushed_ms, flushed_ms)
        if thorough:
            self._vouch()
        self._answer_waiting()
        if self._running and self._waiting:
            self._flush_log(thorough=True)

    def _vouch(self) -> None:
        """Move the checkpoint's log time forward after a thorough round (spec store-format 6).

        An earlier round may have flushed the bytes.
        """
        if self._flushed_ms > self._checkpoint.physic_ms:
            self._checkpoint.physic_ms = self._flushed_ms
            if self._running:
                self._watch_queues()  # which write the checkpoint

    def _answer_waiting(self) -> None:
        flushed = self.flushed_offset
        while self._waiting and self._waiting[0].physical_end <= flushed:
            self._waiting.popleft().answer(True)

    def _queue_tick(self) -> None:
        """Flush queues with enough unflushed pages; every minute flush all of them, and the checkpoint."""
        self._queue_timer = None
        now = self._clock.monotonic()
        thorough = now >= self._queue_thorough_at
        if thorough:
            self._queue_thorough_at = now + self._config.flush_consume_queue_thorough_ms / 1000
        least = 0 if thorough else self._config.flush_consume_queue_least_pages
        dirty: Dirty = []
        left = False
        for queue in self._queues():
            part = _dirty(queue.files)
            if part and _dirty_pages(queue.files) >= least:
                dirty += part
            left = left or bool(part)
        logics_ms = self.logics_ms()
        if dirty or thorough:
            self._submit(dirty, [], lambda failure: self._queues_done(dirty, failure, logics_ms, thorough=thorough))
        if left or self._checkpoint.behind:
            self._queue_timer = self._clock.call_later(
                self._config.flush_consume_queue_interval_ms / 1000, self._queue_tick
            )

    def _queues_done(self, dirty: Dirty, failure: BaseException | None, logics_ms: int, *, thorough: bool) -> None:
        if failure is not None:
            log.error("flushing the queues failed: %s", failure)
            return
        _flushed(dirty)
        if thorough:
            self._checkpoint.logics_ms = max(self._checkpoint.logics_ms, logics_ms)
            if self.write_checkpoint():
                self._submit([], [checkpoint_file.FILE], _log_failure)

    def write_checkpoint(self) -> bool:
        """Write the checkpoint's file; return False if the disk has no space for it."""
        try:
            self._checkpoint.write()
        except StoreFull as error:
            log.warning("cannot write the checkpoint: %s", error)
            return False
        return True

    def flush_index(self, full: IndexFile) -> None:
        """Make a full index file durable, and then write the checkpoint with its time."""

        def synced(failure: BaseException | None) -> None:
            if failure is None:
                self._checkpoint.index_ms = max(self._checkpoint.index_ms, full.end_ms)
                self.write_checkpoint()

        self._submit([], [full.file.path], synced)

    def _submit(self, dirty: Dirty, paths: list[str], done: Callable[[BaseException | None], None]) -> None:
        """Sync the files on the flusher and call `done` with the error or None.

        The work uses paths only, so it may run on any thread.
        """
        disk, targets = self._disk, [*(file.path for file, _ in dirty), *paths]

        def work() -> None:
            for path in targets:
                disk.sync(path)

        self._flusher.submit(work, done)

    def flush_all(self) -> None:
        """Flush everything at once, for a clean stop.  Raises OSError."""
        dirty = _dirty(self._log_files)
        for queue in self._queues():
            dirty += _dirty(queue.files)
        flushed_ms = max((file.store_ms for file in self._log_files.files), default=0)
        for file, _ in dirty:
            self._disk.sync(file.path)
        _flushed(dirty)
        self._checkpoint.physic_ms = max(self._checkpoint.physic_ms, flushed_ms)
        self._checkpoint.logics_ms = max(self._checkpoint.logics_ms, self.logics_ms())
        self._answer_waiting()


def _log_failure(failure: BaseException | None) -> None:
    if failure is not None:
        log.error("flushing the checkpoint failed: %s", failure)


def _dirty(files: MappedFileQueue) -> Dirty:
    dirty: Dirty = []
    for file in reversed(files.files):
        if file.flushed >= file.wrote:
            break  # files are flushed in order
        dirty.append((file, file.wrote))
    return dirty[::-1]


def _dirty_pages(files: MappedFileQueue) -> int:
    """Return the number of whole pages written since the last flush, as RocketMQ counts.

    Very many if a full file is dirty.
    """
    if not files.files:
        return 0
    last = files.files[-1]
    if len(files.files) > 1 and files.files[-2].flushed < files.files[-2].wrote:
        return 1 << 20
    return last.wrote // PAGE_BYTES - last.flushed // PAGE_BYTES


def _flushed(dirty: Dirty) -> None:
    for file, wrote in dirty:
        file.flushed = max(file.flushed, wrote)
