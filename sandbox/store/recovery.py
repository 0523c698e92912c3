"""Recovery of a store when it is opened: the real ends of its files, and missing entries (spec store-format 7)."""

import logging
from collections.abc import Iterable
from struct import Struct

from sandbox.message import record
from sandbox.message.sys_flag import BORN_HOST_V6
from sandbox.store.checkpoint import StoreCheckpoint
from sandbox.store.commit_log import CommitLog
from sandbox.store.config import CONSUME_QUEUE_UNIT_BYTES as UNIT_BYTES
from sandbox.store.config import FILLER_BYTES, MessageStoreConfig
from sandbox.store.consume_queue import ConsumeQueue, iter_units
from sandbox.store.index_service import IndexService
from sandbox.store.mapped_file import MappedFile
from sandbox.store.reput import ReputMessageService
from sandbox.store.results import RecoveryReport

log = logging.getLogger(__name__)

_FILES_LOOKED_AT = 3  # from the end; older ones were valid before

_INT = Struct(">i")
_LONG = Struct(">q")


class Recovery:
    """One recovery of a store.

    RocketMQ: `CommitLog.recoverNormally`, `recoverAbnormally`, `ConsumeQueue.recover`.
    """

    def __init__(
        self,
        config: MessageStoreConfig,
        commit_log: CommitLog,
        checkpoint: StoreCheckpoint,
        reput: ReputMessageService,
        index: IndexService,
    ) -> None:
        self._config = config
        self._index = index
        self._log = commit_log
        self._checkpoint = checkpoint
        self._reput = reput
        self._messages = 0
        self.steps: list[str] = []

    def recover(self, queues: dict[tuple[str, int], ConsumeQueue], *, clean: bool) -> RecoveryReport:
        """Find the ends of log and queues, truncate bytes beyond them, and build missing entries.

        Queues and files must be loaded.  `queues` may grow: records whose queue directory was lost create it again.
        """
        for queue in queues.values():
            recover_queue(queue)
        self.steps.append(f"queues {len(queues)}")
        if not self._log.files.files:
            for queue in queues.values():
                queue.files.destroy()
            queues.clear()
            self.steps.append("no log")
            return RecoveryReport(_kind(clean), 0, 0, 0, tuple(self.steps))
        first = self._first_file(clean=clean)
        start = self._log.files.files[first].base
        if not clean:
            self._forget_units(queues.values(), start)
        end = self._find_end(first, dispatch=not clean)
        cut = self._cut(end)
        self._cut_queues(queues.values(), end)
        self._catch_up(queues, dispatched=not clean)
        if not clean:
            self._doubt_flushes(queues.values())
        self.steps.append(f"end {end}")
        return RecoveryReport(_kind(clean), start, cut, self._messages, tuple(self.steps), end)

    def _forget_units(self, queues: Iterable[ConsumeQueue], start: int) -> None:
        """Remove entries that a dispatch from `start` creates again.

        RocketMQ keeps them, having checked three files of each queue.  With small files more than three may be
        unflushed, and a power cut may have damaged any of them.
        """
        for queue in queues:
            truncate_queue(queue, start)

    def _first_file(self, *, clean: bool) -> int:
        """Return the first file to read: the third-last, or after a crash the newest one that the checkpoint covers."""
        files = self._log.files.files
        if clean:
            return max(0, len(files) - _FILES_LOOKED_AT)
        safe = self._config.index_enable and self._config.index_safe
        until_ms = self._checkpoint.min_timestamp_index_ms if safe else self._checkpoint.min_timestamp_ms
        for i in range(len(files) - 1, -1, -1):
            if self._vouched(files[i], until_ms):
                return i
        return 0

    def _vouched(self, file: MappedFile, until_ms: int) -> bool:
        view = self._log.files.pool.view(file)
        if file.size < record.FIXED_BYTES or _INT.unpack_from(view, record.MAGIC_AT)[0] != record.MAGIC:
            return False
        wide = _INT.unpack_from(view, record.SYS_FLAG_AT)[0] & BORN_HOST_V6
        store_ms = _LONG.unpack_from(view, record.STORE_MS_AT + (record.V6_EXTRA_BYTES if wide else 0))[0]
        return bool(0 < store_ms <= until_ms)

    def _find_end(self, first: int, *, dispatch: bool) -> int:
        """Read records from file `first` on and return the end of the log, where no record follows.

        `dispatch`: put the records into queues and index.
        """
        files = self._log.files.files
        position, at = first, 0
        while True:
            file = files[position]
            view = self._log.files.pool.view(file)
            result = record.examine(view, at, file.size, check_crc=self._config.check_crc_on_recover)
            if isinstance(result, record.Layout) and result.physical_offset == file.base + at:
                self._messages += 1
                file.store_ms = result.store_ms
                at += result.size
            elif isinstance(result, record.Blank) and at + result.size == file.size and position + 1 < len(files):
                position, at = position + 1, 0
            else:
                break
        end = files[position].base + at
        if dispatch:
            unindexed = self._index.cut(end)
            start = files[first].base if unindexed is None else min(files[first].base, unindexed)
            self._dispatch_again(max(start, self._log.min_offset), end)
        return end

    def _dispatch_again(self, start: int, end: int) -> None:
        """Put every record in `[start, end)` into queues and index again; existing entries are skipped."""
        self._set_end(end)
        self._reput.position = start
        self._reput.run(quiet=True)
        self.steps.append(f"dispatched from {start}")

    def _set_end(self, end: int) -> None:
        """Mark the files as written up to `end`, so that no reader passes it; `_cut` handles the bytes beyond."""
        for file in self._log.files.files:
            file.wrote = min(file.size, max(0, end - file.base))

    def _cut(self, end: int) -> int:
        """Remove bytes beyond the end; return the number of bytes up to the last non-zero one."""
        files = self._log.files
        lost = 0
        for file in files.files:
            beyond = max(0, end - file.base)
            if beyond < file.size:
                lost += files.disk.used_end(file.path, beyond) - beyond
            file.wrote = file.size
        files.truncate(end)
        for file in files.files:
            file.flushed = file.wrote
        return lost

    def _doubt_flushes(self, queues: Iterable[ConsumeQueue]) -> None:
        """Mark all files as unflushed, because the bytes of a killed process may still be in memory only."""
        for files in (self._log.files, *(queue.files for queue in queues)):
            for file in files.files:
                file.flushed = 0

    def _cut_queues(self, queues: Iterable[ConsumeQueue], end: int) -> None:
        for queue in queues:
            if queue.max_physical >= end:
                truncate_queue(queue, end)

    def _catch_up(self, queues: dict[tuple[str, int], ConsumeQueue], *, dispatched: bool) -> None:
        """Dispatch records that are missing in the queues, then correct the queues' first offsets."""
        reached = max((queue.max_physical for queue in queues.values()), default=-1)
        self._reput.position = min(max(self._log.min_offset, reached, 0), self._log.max_offset)
        if dispatched:
            self._reput.position = self._log.max_offset
        behind = self._reput.behind_bytes
        if behind:
            self._reput.run(quiet=True)
            self.steps.append(f"caught up {behind} bytes")
        for queue in queues.values():
            queue.correct_min_offset(self._log.min_offset)


def _kind(clean: bool) -> str:
    return "normal" if clean else "abnormal"


def recover_queue(queue: ConsumeQueue) -> None:
    """Find the end of a queue: the first entry that points nowhere, from its third-last file on."""
    files = queue.files.files
    end = 0
    for file in files[max(0, len(files) - _FILES_LOOKED_AT) :]:
        count = 0
        for physical, size, _ in iter_units(queue.files.pool.view(file)[: file.size - file.size % UNIT_BYTES]):
            if physical < 0 or size <= 0:
                break
            if size != FILLER_BYTES:
                queue.max_physical = physical + size
            count += 1
        end = file.base + count * UNIT_BYTES
        if count * UNIT_BYTES < file.size:
            break
    _end_at(queue, end)


def truncate_queue(queue: ConsumeQueue, log_end: int) -> None:
    """Remove the entries whose records begin at or beyond `log_end`."""
    queue.max_physical = log_end
    while queue.files.files:
        file = queue.files.files[-1]
        keep = 0
        for physical, size, _ in iter_units(queue.files.pool.view(file)[: file.wrote]):
            if physical >= log_end or size <= 0:
                break
            if size != FILLER_BYTES:
                queue.max_physical = physical + size
            keep += 1
        _end_at(queue, file.base + keep * UNIT_BYTES)
        if keep:
            return


def _end_at(queue: ConsumeQueue, end: int) -> None:
    queue.files.truncate(end)
    for file in queue.files.files:
        file.flushed = file.wrote
    queue.max_offset = queue.files.max_offset // UNIT_BYTES
