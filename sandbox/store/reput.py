"""From the log to the queues and the index: what makes a stored message readable."""

import contextlib
import logging
from collections.abc import Callable, Container, Sequence
from typing import Protocol

from sandbox.journal.events import MessagesStored
from sandbox.journal.journal import Journal
from sandbox.kernel.errors import StoreFull
from sandbox.message import properties as names
from sandbox.message.string_hash import tags_code_of_bytes
from sandbox.message.sys_flag import OUT_OF_QUEUE, TRANSACTION_MASK, TRANSACTION_ROLLBACK
from sandbox.store.commit_log import CommitLog
from sandbox.store.consume_queue import ConsumeQueue
from sandbox.store.index_file import IndexKey
from sandbox.store.index_service import IndexService

log = logging.getLogger(__name__)

SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"

_TAGS = names.TAGS.encode()
_DELAY = names.DELAY.encode()

_READ_AT_ONCE = 1024  # records; what a store holds may be more than memory

Arrival = Callable[[str, int, int, int, int, dict[str, str] | None], None]
"""topic, queue id, queue offset + 1, tags code, store time, properties (decoded only for queues somebody awaits)."""

Item = tuple[int, int, int, bytes]  # physical offset, store bytes, store time, encoded properties

Run = tuple[str, int, int, int, Sequence[Item]]
"""Messages that lie side by side in one queue: topic, queue id, first queue offset, sys flag, items.

RocketMQ: `DispatchRequest`, which is one message.
"""


class Queues(Protocol):
    """Where queues come from; asking for one that is not there creates it."""

    def queue(self, topic: str, queue_id: int) -> ConsumeQueue: ...


class ReputMessageService:
    """Builds queues and index, in life and in recovery.  RocketMQ: `ReputMessageService`.

    What this process has just put is handed over with `add`, so that it need not be parsed again;
    everything else is read from the log.  Both ways meet in `_build_all`, and a test holds them to
    the same bytes.
    """

    def __init__(self, log: CommitLog, queues: Queues, index: IndexService, journal: Journal, *, broker: str,
                 delay_levels_ms: tuple[int, ...], index_enable: bool, stuck: Callable[[bool], None]) -> None:
        self._tell_stuck = stuck
        self._stuck = False
        self._log = log
        self._queues = queues
        self._index = index
        self._journal = journal
        self._broker = broker
        self._delay_levels_ms = delay_levels_ms
        self._index_enable = index_enable
        self._pending: list[Run] = []
        self._busy = False
        self.position = 0  # everything below is dispatched
        self.dispatched_ms = 0  # store time of the newest dispatched message
        self.on_arrival: Arrival | None = None
        self.awaited: Container[tuple[str, int]] | None = None  # queues to tell about; None: all

    def add(self, run: Run) -> None:
        self._pending.append(run)

    @property
    def behind_bytes(self) -> int:
        return self._log.max_offset - self.position

    def forget(self) -> None:
        """Drop what was handed over; the log still has it."""
        self._pending.clear()

    def run(self, *, quiet: bool = False) -> None:
        """Dispatch all that is in the log, tell the journal once per queue, then tell who waits.

        A wake-up may put new messages; they are dispatched before this returns.  `quiet`: these
        messages were told to the journal before.  Without room for a queue or index file
        `stuck` is told, and the rest waits for the next run.
        """
        if self._busy:
            return
        self._busy = True
        try:
            while self._pending or self._log.max_offset > self.position:
                start, runs = self.position, self._take()
                built = self._build_all(runs)
                if self._journal.tracing and not quiet:
                    self._record(built)
                if self.on_arrival is not None:
                    self._notify(built)
                if len(built) < len(runs):
                    self._stand_back(built, start)
                    return
            if self._stuck:
                self._stuck = False
                self._tell_stuck(False)
        finally:
            self._busy = False

    def _build_all(self, runs: list[Run]) -> list[Run]:
        """Queue units and index entries, until there is no room; returns the runs that are whole."""
        keys: list[IndexKey] = []
        built = 0
        try:
            for topic, queue_id, queue_offset, sys_flag, items in runs:
                before = len(keys)
                units = self._read(topic, sys_flag, items, keys)
                if not sys_flag & OUT_OF_QUEUE:
                    try:
                        self._build_queue(self._queues.queue(topic, queue_id), queue_offset, units, items)
                    except StoreFull:
                        del keys[before:]
                        raise
                built += 1
            if keys:
                self._index.put(keys)
        except StoreFull as why:
            log.warning("cannot dispatch beyond %d runs: %s", built, why)
            self._index_what_fits(keys)
            return runs[:built]
        self.dispatched_ms = runs[-1][4][-1][2] if runs else self.dispatched_ms
        return runs

    def _index_what_fits(self, keys: list[IndexKey]) -> None:
        """Index the runs that are whole.  Entries that find no room either are lost: the queue has the message."""
        fresh = [key for key in keys if key[1] > self._index.end_physical]
        with contextlib.suppress(StoreFull):
            self._index.put(fresh)

    def _read(self, topic: str, sys_flag: int, items: Sequence[Item], keys: list[IndexKey]) -> list[int]:
        """The queue units of a run, flat; adds its index entries to `keys`: the unique key, then each word of KEYS."""
        indexed = self._index_enable and sys_flag & TRANSACTION_MASK != TRANSACTION_ROLLBACK
        hash_of = self._index.hasher(topic).hash
        end_physical = self._index.end_physical
        delayed = topic == SCHEDULE_TOPIC
        units: list[int] = []
        last_tags: bytes | None = None
        code = 0
        for physical, size, store_ms, text in items:
            tags, unique, words = names.dispatched(text)
            if delayed:
                code = self.tags_code_of(topic, text, store_ms)
            elif tags != last_tags:  # neighbours mostly have the same tags
                code = tags_code_of_bytes(tags) if tags else 0
                last_tags = tags
            units += (physical, size, code)
            if not indexed or physical < end_physical:
                continue
            if unique:
                keys.append((hash_of(unique), physical, store_ms))
            if words:
                if b" " in words:
                    keys += [(hash_of(word), physical, store_ms) for word in words.split(b" ") if word]
                else:
                    keys.append((hash_of(words), physical, store_ms))
        return units

    def _build_queue(self, queue: ConsumeQueue, queue_offset: int, units: list[int], items: Sequence[Item]) -> None:
        """Append the units of a run, but not those that were dispatched before a crash."""
        last = items[-1]
        physical_end = last[0] + last[1]
        if items[0][0] + items[0][1] <= queue.max_physical:
            known = sum(1 for item in items if item[0] + item[1] <= queue.max_physical)
            if known == len(items):
                return
            units = units[known * 3 :]
            queue_offset += known
        queue.put_run(queue_offset, units, len(units) // 3, physical_end, last[2])

    def _stand_back(self, built: list[Run], start: int) -> None:
        """Begin the next run after what is built; everything is still in the log, and doing it twice does no harm."""
        last = built[-1][4][-1] if built else None
        self.position = last[0] + last[1] if last else start
        self._pending.clear()
        if not self._stuck:
            self._stuck = True
            self._tell_stuck(True)

    def _take(self) -> list[Run]:
        """The next runs: those handed over if they begin where we stand, else read from the log."""
        if self._pending:
            runs, self._pending = self._pending, []
            self.position = self._log.max_offset
            return runs
        runs = self.from_log(self.position)
        last = runs[-1][4][-1] if len(runs) == _READ_AT_ONCE else None
        self.position = last[0] + last[1] if last else self._log.max_offset
        return runs

    def from_log(self, offset: int) -> list[Run]:
        """The next records from `offset` on, each as a run of its own."""
        runs: list[Run] = []
        for _, view, found in self._log.walk(offset, check_crc=False):
            topic = str(view[found.topic_at : found.topic_at + found.topic_bytes], "utf-8", "replace")
            text = bytes(view[found.properties_at : found.properties_at + found.properties_bytes])
            item = (found.physical_offset, found.size, found.store_ms, text)
            runs.append((topic, found.queue_id, found.queue_offset, found.sys_flag, (item,)))
            if len(runs) == _READ_AT_ONCE:
                break
        return runs

    def tags_code_of(self, topic: str, properties: bytes, store_ms: int) -> int:
        """What the queue unit holds: the hash of the tags, or when a delayed message is due."""
        if topic == SCHEDULE_TOPIC:
            level = names.find(properties, _DELAY)
            if level is not None and level.isdigit() and int(level) > 0:
                return store_ms + self._delay_levels_ms[min(int(level), len(self._delay_levels_ms)) - 1]
        tags = names.find(properties, _TAGS)
        return tags_code_of_bytes(tags) if tags else 0

    def _record(self, runs: list[Run]) -> None:
        ranges: dict[tuple[str, int], list[int]] = {}
        for topic, queue_id, first, sys_flag, items in runs:
            if sys_flag & OUT_OF_QUEUE:
                continue
            size = items[0][1] if len(items) == 1 else sum(item[1] for item in items)
            stored = ranges.get((topic, queue_id))
            if stored is None:
                ranges[topic, queue_id] = [first, len(items), items[0][0], size]
            else:
                stored[1] += len(items)
                stored[3] += size
        for (topic, queue_id), (first, count, physical, size) in ranges.items():
            self._journal.write(MessagesStored(topic, self._broker, queue_id, first, count, physical, size))

    def _notify(self, runs: list[Run]) -> None:
        arrived, awaited = self.on_arrival, self.awaited
        assert arrived is not None
        for topic, queue_id, first, sys_flag, items in runs:
            if awaited is not None and (topic, queue_id) not in awaited:
                continue
            if sys_flag & OUT_OF_QUEUE:
                continue  # RocketMQ wakes pulls for these too; they would find nothing
            for i, (_, _, store_ms, text) in enumerate(items, first + 1):
                arrived(topic, queue_id, i, self.tags_code_of(topic, text, store_ms), store_ms,
                        names.decode(text.decode("utf-8", "replace")))
