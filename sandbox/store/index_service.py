"""The index files of a store, oldest first: messages by key."""

import logging
from collections.abc import Callable, Iterable

from sandbox.kernel.calendar_text import stamp
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import StoreFull
from sandbox.message.string_hash import index_key_hash, java_hash
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import Disk
from sandbox.store.index_file import IndexEntry, IndexFile
from sandbox.store.index_keys import IndexKeys
from sandbox.store.index_walk_steps import EntryStep, FileWalk, IndexWalk
from sandbox.store.mapped_file import MappedFile, MapPool
from sandbox.store.mapped_file_queue import must_be_directory

log = logging.getLogger(__name__)

DIRECTORY = "index"
MAX_FOUND = 64  # RocketMQ: `maxMsgsNumBatch`

HasKey = Callable[[int, str, str], bool]  # physical offset, topic, key: does the record really have them?


class IndexService:
    """All index files.  RocketMQ: `IndexService`.  `rolled` is called with a full file and the one after it."""

    def __init__(
        self,
        disk: Disk,
        pool: MapPool,
        config: MessageStoreConfig,
        clock: Clock,
        *,
        rolled: Callable[[IndexFile, IndexFile], None],
        has_key: HasKey,
    ) -> None:
        self._disk = disk
        self._pool = pool
        self._config = config
        self._clock = clock
        self._rolled = rolled
        self._has_key = has_key
        self.files: list[IndexFile] = []

    def load(self, *, trusted_until_ms: int | None) -> list[str]:
        """Open existing files and return the names of those that were deleted.

        Files of another size than the configured one are always deleted.  After a crash, so are files that are not
        full or
        newer than the checkpoint `trusted_until_ms`.  Raises StoreError if a file has the directory's name.
        """
        must_be_directory(self._disk, DIRECTORY)
        deleted: list[str] = []
        for name in self._disk.names(DIRECTORY):
            path = f"{DIRECTORY}/{name}"
            size = self._disk.size_of(path)
            if not name.isdigit() or size is None:
                continue
            if size != IndexFile.bytes_of(self._config.index_slots, self._config.index_entries):
                self._disk.remove(path)  # other sizes, or truncated: an index can be rebuilt, but not repaired
                deleted.append(name)
                continue
            file = self._open(name)
            file.load()
            # only full files were ever flushed; others may be torn, whatever times the header has
            if trusted_until_ms is not None and (not file.full or file.end_ms > trusted_until_ms):
                self._delete(file)
                deleted.append(name)
            else:
                self.files.append(file)
        return deleted

    def cut(self, log_end: int) -> int | None:
        """Delete files with entries beyond the log's end, because other records will be stored at their positions.

        Return the offset from which the log must be indexed again; None if nothing was deleted.
        """
        begin: int | None = None
        while self.files and self.files[-1].end_physical >= log_end:
            begin = self.files[-1].begin_physical
            self._delete(self.files.pop())
        return begin

    def _open(self, name: str) -> IndexFile:
        slots, entries = self._config.index_slots, self._config.index_entries
        mapped = MappedFile(DIRECTORY, 0, IndexFile.bytes_of(slots, entries))
        mapped.path = f"{DIRECTORY}/{name}"
        mapped.wrote = mapped.size
        return IndexFile(self._pool, mapped, slots, entries)

    def _delete(self, file: IndexFile) -> None:
        self._pool.unmap(file.file)
        self._disk.remove(file.file.path)

    @property
    def end_physical(self) -> int:
        """The position of the last indexed record: it is indexed again if it is dispatched again."""
        return self.files[-1].end_physical if self.files else 0

    def _next_file(self) -> IndexFile:
        """Create the file after the full one.  Raises StoreFull."""
        before = self.files[-1] if self.files else None
        now_ms = self._clock.now_ms()
        while self._disk.size_of(f"{DIRECTORY}/{(name := stamp(now_ms, self._config.utc_offset_minutes))}") is not None:
            now_ms += 1  # names must differ
        file = self._open(name)
        try:
            file.begin_after(before)
        except StoreFull:
            self._delete(file)
            raise
        self.files.append(file)
        if before is not None:
            self._rolled(before, file)
        return file

    def put(self, keys: IndexKeys) -> int:
        """Add entries in the given order, in as many files as needed; return the number that was stored."""
        done, count = 0, len(keys.hashes)
        while done < count:
            file = self.files[-1] if self.files else None
            try:
                if file is None or file.index_count >= file.entries:
                    file = self._next_file()
                done += file.put(keys, done)
            except StoreFull as error:
                log.warning("no room for %d index entries: %s", count - done, error)
                break
        return done

    def query(self, topic: str, key: str, max_count: int, begin_ms: int, end_ms: int) -> IndexWalk:
        """Search as a broker does: at most 64 offsets, without reading records."""
        return self._walk(topic, key, min(max_count, MAX_FOUND), begin_ms, end_ms, has_key=None)

    def walk(self, topic: str, key: str, begin_ms: int, end_ms: int) -> IndexWalk:
        """Search as a broker does and keep every step; records are read to compare their keys."""
        return self._walk(topic, key, MAX_FOUND, begin_ms, end_ms, has_key=self._has_key)

    def _walk(
        self, topic: str, key: str, max_count: int, begin_ms: int, end_ms: int, *, has_key: HasKey | None
    ) -> IndexWalk:
        text = f"{topic}#{key}"
        key_hash = index_key_hash(text)
        offsets: list[int] = []
        walked: list[FileWalk] = []
        ended = "no_more_files" if self.files else "no_files"
        for position in range(len(self.files) - 1, -1, -1):
            file = self.files[position]
            slot = file.slot_of(key_hash)
            searched = file.touches(begin_ms, end_ms)
            chain: list[EntryStep] = []
            if searched:
                for step in _steps(file, key_hash, begin_ms, end_ms):
                    if len(offsets) >= max_count:
                        break
                    if step.verdict == "match":
                        offsets.append(step.physical_offset)
                        if has_key is not None and not has_key(step.physical_offset, topic, key):
                            step = step._replace(verdict="other_key")
                    chain.append(step)
            walked.append(
                FileWalk(
                    file.name,
                    file.begin_ms,
                    file.end_ms,
                    searched,
                    "in_range" if searched else "out_of_range",
                    file.slots,
                    *slot,
                    tuple(chain),
                )
            )
            if file.begin_ms < begin_ms or len(offsets) >= max_count:
                ended = "enough" if len(offsets) >= max_count else "begin_passed"
                walked += [_unreached(older, key_hash) for older in reversed(self.files[:position])]
                break
        newest = self.files[-1] if self.files else None
        return IndexWalk(
            topic,
            key,
            text,
            java_hash(text),
            key_hash,
            begin_ms,
            end_ms,
            tuple(walked),
            tuple(offsets),
            ended,
            newest.end_ms if newest else 0,
            newest.end_physical if newest else 0,
        )

    def delete_expired(self, log_min_offset: int) -> list[IndexFile]:
        """Delete files whose last record is deleted, but never the newest file; return them."""
        deleted: list[IndexFile] = []
        while len(self.files) > 1 and self.files[0].end_physical < log_min_offset:
            deleted.append(self.files.pop(0))
            self._delete(deleted[-1])
        return deleted

    def destroy(self) -> None:
        for file in self.files:
            self._delete(file)
        self.files.clear()

    @property
    def used_bytes(self) -> int:
        return sum(file.used_bytes for file in self.files)


def _steps(file: IndexFile, key_hash: int, begin_ms: int, end_ms: int) -> Iterable[EntryStep]:
    """Yield the entries of a chain with a verdict on each; the last one is the first that is too old."""
    for entry in file.chain(key_hash):
        at_ms = file.begin_ms + entry.time_diff_s * 1000
        yield EntryStep(*entry[:5], at_ms, entry.previous, _verdict(entry, key_hash, at_ms, begin_ms, end_ms))
        if at_ms < begin_ms:
            return


def _verdict(entry: IndexEntry, key_hash: int, at_ms: int, begin_ms: int, end_ms: int) -> str:
    if at_ms < begin_ms:
        return "too_old"
    if entry.hash != key_hash:
        return "other_hash"
    return "match" if at_ms <= end_ms else "too_new"


def _unreached(file: IndexFile, key_hash: int) -> FileWalk:
    slot = file.slot_of(key_hash)
    return FileWalk(file.name, file.begin_ms, file.end_ms, False, "not_reached", file.slots, *slot, ())
