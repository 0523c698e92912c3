"""From the log to the queues and the index: what makes a stored message readable."""

import logging
from collections.abc import Callable, Container
from operator import itemgetter
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

_PHYSICAL = itemgetter(1)  # of an index key
_READ_AT_ONCE = 1024  # records; what a store holds may be more than memory

Arrival = Callable[[str, int, int, int, int, dict[str, str] | None], None]
"""topic, queue id, queue offset + 1, tags code, store time, properties (decoded only for queues somebody awaits)."""

Item = tuple[int, int, int, bytes]  # physical offset, store bytes, store time, encoded properties

Run = tuple[str, int, int, int, list[Item]]
"""Messages with consecutive offsets of one queue: topic, queue id, first queue offset, sys flag, items.

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
        self._growing: dict[tuple[str, int], Run] = {}  # of the pending ones, that which takes the queue's next message
        self._unindexed: list[IndexKey] = []  # entries that found no room
        self._busy = False
        self.position = 0  # everything below is dispatched
        self.dispatched_ms = 0  # store time of the newest dispatched message
        self.on_arrival: Arrival | None = None
        self.awaited: Container[tuple[str, int]] | None = None  # queues to tell about; None: all

    def add(self, queue: tuple[str, int], queue_offset: int, sys_flag: int, items: list[Item]) -> None:
        """Hand over what was just put.  One turn's messages of a queue become one run."""
        if sys_flag & OUT_OF_QUEUE:
            self._pending.append((*queue, queue_offset, sys_flag, items))
            return
        run = self._growing.get(queue)
        if run is not None:
            run[4].extend(items)
            return
        run = self._growing[queue] = (*queue, queue_offset, sys_flag, items)
        self._pending.append(run)

    @property
    def behind_bytes(self) -> int:
        return self._log.max_offset - self.position

    @property
    def idle(self) -> bool:
        """Nothing is left to do."""
        return self.position >= self._log.max_offset and not self._unindexed

    def forget(self) -> None:
        """Drop what was handed over; the log still has it."""
        self._pending.clear()
        self._growing.clear()
        self._unindexed.clear()

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
            while self._pending or self._unindexed or self._log.max_offset > self.position:
                before, unindexed = self.position, len(self._unindexed)
                built, resume = self._build_all(self._take())
                if self._journal.tracing and not quiet:
                    self._record(built)
                if self.on_arrival is not None:
                    self._notify(built)
                if resume is not None or self._unindexed:
                    self._stand_back(resume)
                    return
                if self.position == before and not unindexed:
                    break  # the log ends within a record; its rest is still to come
            if self._stuck:
                self._stuck = False
                self._tell_stuck(False)
        finally:
            self._busy = False

    def _build_all(self, runs: list[Run]) -> tuple[list[Run], int | None]:
        """Queue units and index entries.  Returns the runs that are new, and where there was no room any more."""
        keys, self._unindexed = self._unindexed, []
        built: list[Run] = []
        resume: int | None = None
        for i, run in enumerate(runs):
            units = self._read(run, keys)
            try:
                if run[3] & OUT_OF_QUEUE or self._build_queue(run, units):
                    built.append(run)
            except StoreFull as why:
                resume = min(left[4][0][0] for left in runs[i:])
                log.warning("cannot dispatch beyond %d: %s", resume, why)
                keys = [key for key in keys if key[1] < resume]  # the rest is read from the log again
                break
        if runs and resume is None:
            self.dispatched_ms = max(run[4][-1][2] for run in runs)
        if keys:
            if len(runs) > 1:
                keys.sort(key=_PHYSICAL)  # entries stand in the log's order, however many queues a turn had
            self._unindexed = keys[self._index.put(keys) :]
        return built, resume

    def _read(self, run: Run, keys: list[IndexKey]) -> list[int]:
        """The queue units of a run, flat; adds its index entries to `keys`: the unique key, then each word of KEYS."""
        topic, _, _, sys_flag, items = run
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

    def _build_queue(self, run: Run, units: list[int]) -> bool:
        """Append the units of a run, but not those that are there already; False when all are."""
        topic, queue_id, queue_offset, _, items = run
        queue = self._queues.queue(topic, queue_id)
        physical, size, store_ms, _ = items[-1]
        if items[0][0] + items[0][1] <= queue.max_physical:
            known = sum(1 for item in items if item[0] + item[1] <= queue.max_physical)
            if known == len(items):
                return False
            units = units[known * 3 :]
            queue_offset += known
        queue.put_run(queue_offset, units, len(units) // 3, physical + size, store_ms)
        return True

    def _stand_back(self, resume: int | None) -> None:
        """Go on from `resume` the next time; everything is still in the log, and doing it twice does no harm."""
        if resume is not None:
            self.position = resume
        self._pending.clear()
        self._growing.clear()
        if not self._stuck:
            self._stuck = True
            self._tell_stuck(True)

    def _take(self) -> list[Run]:
        """The next runs: those handed over if there are any, else read from the log."""
        if self._pending:
            runs, self._pending = self._pending, []
            self._growing.clear()
            self.position = self._log.max_offset
            return runs
        runs, self.position = self.from_log(self.position)
        return runs

    def from_log(self, offset: int) -> tuple[list[Run], int]:
        """The next records from `offset` on, each as a run of its own, and where to go on."""
        runs: list[Run] = []
        while len(runs) < _READ_AT_ONCE:
            _, view, found, following = self._log.step(offset, check_crc=False)
            if view is not None and found is not None:
                topic = str(view[found.topic_at : found.topic_at + found.topic_bytes], "utf-8", "replace")
                text = bytes(view[found.properties_at : found.properties_at + found.properties_bytes])
                item = (found.physical_offset, found.size, found.store_ms, text)
                runs.append((topic, found.queue_id, found.queue_offset, found.sys_flag, [item]))
            if following is None:
                break
            offset = following
        return runs, offset

    def tags_code_of(self, topic: str, properties: bytes, store_ms: int) -> int:
        """What the queue unit holds: the hash of the tags, or when a delayed message is due."""
        if topic == SCHEDULE_TOPIC:
            level = names.find(properties, _DELAY)
            if level is not None and level.isdigit() and int(level) > 0:
                return store_ms + self._delay_levels_ms[min(int(level), len(self._delay_levels_ms)) - 1]
        tags = names.find(properties, _TAGS)
        return tags_code_of_bytes(tags) if tags else 0

    def _record(self, runs: list[Run]) -> None:
        for topic, queue_id, first, sys_flag, items in runs:
            if not sys_flag & OUT_OF_QUEUE:
                size = items[0][1] if len(items) == 1 else sum(item[1] for item in items)
                self._journal.write(MessagesStored(topic, self._broker, queue_id, first, len(items), items[0][0], size))

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
