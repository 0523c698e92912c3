"""A reader of a store directory that it does not own: QueueViz's or Apache's, closed or in use.

It uses the standard library only, so that it can be sent to Spark's executors.  It writes nothing and acquires no
lock.  A record counts if it contains its own position, a queue entry if its record exists.  No byte beyond them
counts.  File sizes are read from the files, so no configuration is needed.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple

from sandbox.kernel.errors import CorruptRecord, StoreError
from sandbox.kernel.loose_json import LooseJsonError
from sandbox.message.message import StoredMessage
from sandbox.message.record import Layout
from sandbox.store.reader_files import FileRun, OpenFiles
from sandbox.store.reader_index import MAX_FOUND, IndexFileReader, find_offsets, index_files, key_hash_of
from sandbox.store.reader_listing import Odd, queues_in, small_file
from sandbox.store.reader_lock import LockState, lock_of
from sandbox.store.reader_log import LogReader
from sandbox.store.reader_queue import ConsumeQueueReader, is_filler
from sandbox.store.results import QueueUnit
from sandbox.store.table_files import BACKUP, CONSUMER_OFFSETS, DELAY_OFFSETS, TOPICS, path_of, value_in

QUERY_ROUNDS = 3  # RocketMQ: `queryMessage` tries again with an earlier end when nothing could be read

_CHECKPOINT = Struct(">qqq")


class Checkpoint(NamedTuple):
    """The store times of the last messages flushed to log, queues and full index files.

    0: none (spec store-format 6).
    """

    log_ms: int
    queues_ms: int
    index_ms: int


class KeyQueryResult(NamedTuple):
    """The answer to QUERY_MESSAGE, with hash collisions as on a broker.  Times are 0 without a match."""

    messages: list[StoredMessage]
    last_update_ms: int
    last_update_physical: int


class StoreReader:
    """Reader of all parts of a store directory.  Raises StoreError if the directory is not a store.

    `index_slots` is needed only for index files of an unknown size with very few entries.
    """

    def __init__(self, root: str | Path, *, index_slots: int | None = None) -> None:
        self.root = Path(root)
        self._index_slots = index_slots
        _must_be_store(self.root)
        self._opened = OpenFiles()
        self.log = LogReader(FileRun(self.root / "commitlog", self._opened))
        _must_be_readable(self.log.run.odd)
        self._queues: dict[tuple[str, int], ConsumeQueueReader] = {}

    def close(self) -> None:
        self._opened.close()

    def __enter__(self) -> "StoreReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The log.

    @property
    def min_physical_offset(self) -> int:
        return self.log.min_offset

    def max_physical_offset(self) -> int:
        """Return the end of the last complete record, after listing all files again."""
        self.log.run.refresh()
        return self.log.end_after(self._last_queued_end())

    def records(self, start: int | None = None) -> Iterator[StoredMessage]:
        """Yield every record of the log from `start` in arrival order, also those in no queue, up to an invalid one."""
        self.log.run.refresh()
        with suppress(CorruptRecord):  # a topic that is not UTF-8
            for item in self.log.walk(start):
                if isinstance(item.found, Layout):
                    yield item.message()

    def message_at(self, physical_offset: int) -> StoredMessage | None:
        """Return the message at the position of an offset message id; None if no record begins there."""
        return self.log.message(physical_offset)

    # Queues.

    def queues(self) -> list[tuple[str, int]]:
        """Return every topic and queue id that has a directory, sorted."""
        queues, odd = queues_in(self.root)
        _must_be_readable(odd)
        return queues

    def queue(self, topic: str, queue_id: int) -> ConsumeQueueReader:
        """Return the queue; an empty one if it has no files."""
        queue = self._queues.get((topic, queue_id))
        if queue is None:
            run = FileRun(self.root / "consumequeue" / topic / str(queue_id), self._opened)
            _must_be_readable(run.odd)
            queue = self._queues[topic, queue_id] = ConsumeQueueReader(run, self.log, topic, queue_id)
        return queue

    def min_offset(self, topic: str, queue_id: int) -> int:
        self.log.run.refresh()
        return self.queue(topic, queue_id).min_offset()

    def max_offset(self, topic: str, queue_id: int) -> int:
        self.log.run.refresh()
        return self.queue(topic, queue_id).max_offset()

    def read(self, topic: str, queue_id: int, start: int, stop: int) -> Iterator[StoredMessage]:
        """Yield messages of one queue with offsets in `[start, stop)`, in order.

        Those deleted from the log are left out.
        """
        for _, message in self.read_units(topic, queue_id, start, stop):
            yield message

    def read_units(self, topic: str, queue_id: int, start: int, stop: int) -> Iterator[tuple[QueueUnit, StoredMessage]]:
        """Yield the same messages, each with its queue entry.

        The tags code of an entry is a delivery time in SCHEDULE_TOPIC_XXXX.
        """
        self.log.run.refresh()
        queue = self.queue(topic, queue_id)
        for at, unit in queue.units(start, min(stop, queue.max_offset())):
            message = None if is_filler(unit) else self.log.message(unit.physical_offset, unit.store_bytes)
            if message is not None and (message.topic, message.queue_id, message.queue_offset) == (topic, queue_id, at):
                yield unit, message

    def offset_by_time(self, topic: str, queue_id: int, at_ms: int) -> int:
        """Return the queue offset of the message stored nearest to `at_ms`.

        `searchOffset` finds it in the same way within one file (spec observed 1.2.2).  A broker with several files
        chooses one by its modification time, which a copy does not keep; here all files count as one.
        """
        queue = self.queue(topic, queue_id)
        low, high = self.min_offset(topic, queue_id), queue.max_offset() - 1
        left: tuple[int, int] | None = None  # store time and offset of the last message before `at_ms`
        right: tuple[int, int] | None = None
        while low <= high:
            middle = (low + high) // 2
            unit = queue.unit(middle)
            item = self.log.layout(unit.physical_offset, unit.store_bytes) if unit is not None else None
            if item is None or not isinstance(item.found, Layout):
                return 0
            if item.found.store_ms == at_ms:
                return middle
            if item.found.store_ms > at_ms:
                high, right = middle - 1, (item.found.store_ms, middle)
            else:
                low, left = middle + 1, (item.found.store_ms, middle)
        if left is None or right is None:
            return (left or right or (0, 0))[1]
        return right[1] if at_ms - left[0] > right[0] - at_ms else left[1]

    # Index.

    def index_files(self) -> list[IndexFileReader]:
        """Return all index files, oldest first."""
        return index_files(self.root / "index", self._opened, self._index_slots)

    def query(self, topic: str, key: str, max_count: int, begin_ms: int, end_ms: int) -> KeyQueryResult:
        """Return messages by key, in order of arrival.

        RocketMQ: `DefaultMessageStore.queryMessage` (spec store-format 5).
        """
        files, key_hash = self.index_files(), key_hash_of(topic, key)
        last_update_ms = last_update_physical = 0
        for _ in range(QUERY_ROUNDS):
            offsets = sorted(find_offsets(files, key_hash, min(max_count, MAX_FOUND), begin_ms, end_ms))
            if not offsets:
                break
            newest = files[-1].header()
            last_update_ms, last_update_physical = newest.end_ms, newest.end_physical
            messages = [message for at in offsets if (message := self.log.message(at)) is not None]
            if messages:
                return KeyQueryResult(messages, last_update_ms, last_update_physical)
            if (first := self.log.message(offsets[0])) is None or (end_ms := first.store_ms) < begin_ms:
                break
        return KeyQueryResult([], last_update_ms, last_update_physical)

    # Other files.

    def config(self, name: str) -> Any:
        """Return the value in `config/<name>.json`, or in its `.bak` if the file is missing, empty or broken.

        None without either.
        """
        for path in (self.root / path_of(name), self.root / f"{path_of(name)}{BACKUP}"):
            data = small_file(path)
            with suppress(LooseJsonError):
                if data:
                    return value_in(data)
        return None

    def topics(self) -> dict[str, dict[str, object]]:
        """Return the topic configurations by name."""
        return _table(self.config(TOPICS), "topicConfigTable")

    def consumer_offsets(self) -> dict[tuple[str, str], dict[int, int]]:
        """Return the next offset of each queue by (topic, group)."""
        table: dict[tuple[str, str], dict[int, int]] = {}
        for name, offsets in _table(self.config(CONSUMER_OFFSETS), "offsetTable").items():
            topic, mark, group = name.partition("@")
            if mark and isinstance(offsets, dict):
                table[topic, group] = _numbers(offsets)
        return table

    def delay_offsets(self) -> dict[int, int]:
        """Return the next offset to deliver by delay level; level n is queue n - 1 of SCHEDULE_TOPIC_XXXX."""
        return _numbers(_table(self.config(DELAY_OFFSETS), "offsetTable"))

    def checkpoint(self) -> Checkpoint | None:
        data = small_file(self.root / "checkpoint")
        if data is None or len(data) < _CHECKPOINT.size:
            return None
        return Checkpoint._make(_CHECKPOINT.unpack_from(data))

    @property
    def aborted(self) -> bool:
        """True if the abort file exists: the store is open now, or was not closed."""
        return (self.root / "abort").exists()

    def lock(self) -> LockState:
        return lock_of(self.root)

    def _last_queued_end(self) -> int:
        """Return the end of the newest record in a queue; the log's start without one."""
        end = self.log.min_offset
        for topic, queue_id in self.queues():
            queue = self.queue(topic, queue_id)
            last = queue.unit(queue.max_offset() - 1)
            if last is not None and not is_filler(last):
                end = max(end, last.physical_offset + last.store_bytes)
        return end


def _must_be_store(root: Path) -> None:
    if not root.is_dir():
        raise StoreError(f"{root} is not a store: there is no such directory")
    young = (root / "checkpoint").is_file() and (root / "config").is_dir()  # opened, but nothing stored yet
    if not (root / "commitlog").is_dir() and not young:
        raise StoreError(f"{root} is not a store: it has no directory commitlog")


def _must_be_readable(odd: list[Odd]) -> None:
    """Raise StoreError if a file cannot be read, because it may be part of the store.  Unknown files are ignored."""
    for entry in odd:
        if entry.denied:
            raise StoreError(f"{entry.path} cannot be read: permission denied")


def _table(config: Any, name: str) -> dict[str, Any]:
    table = config.get(name) if isinstance(config, dict) else None
    return table if isinstance(table, dict) else {}


def _numbers(table: dict[str, object]) -> dict[int, int]:
    return {int(key): value for key, value in table.items() if key.isdecimal() and isinstance(value, int)}
