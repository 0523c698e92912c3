"""Dispatch from the log to queues and index, which makes a stored message readable."""

import logging
from collections.abc import Callable, Container, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

from sandbox.journal.events import MessagesStored
from sandbox.journal.journal import Journal
from sandbox.kernel.errors import StoreFull
from sandbox.message import properties as names
from sandbox.message.key_pattern import TextReader
from sandbox.message.string_hash import tags_code_of_bytes
from sandbox.message.sys_flag import OUT_OF_QUEUE, TRANSACTION_MASK, TRANSACTION_ROLLBACK
from sandbox.store.commit_log import CommitLog
from sandbox.store.config import CONSUME_QUEUE_UNIT_BYTES as UNIT_BYTES
from sandbox.store.consume_queue import ConsumeQueue, has_a_place, pack_units
from sandbox.store.index_keys import IndexKeys
from sandbox.store.index_service import IndexService

log = logging.getLogger(__name__)

SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"

_TAGS = names.TAGS.encode()
_DELAY = names.DELAY.encode()

_READERS = 256  # topics with cached text patterns
_run = tuple.__new__  # half the cost of the NamedTuple's own constructor, once a message in short turns
_NEVER = 1 << 63  # no physical offset is so large
_READ_AT_ONCE = 1024  # records; a store may be larger than memory

Arrival = Callable[[str, int, int, int, int, dict[str, str] | None], None]
Note = Callable[[str, int, int], None]  # topic, messages, bytes
"""topic, queue id, queue offset + 1, tags code, store time, properties (decoded only for awaited queues)."""


class Run(NamedTuple):
    """Messages with consecutive offsets of one queue, put at one time; the lists have one value per message.

    RocketMQ: `DispatchRequest`, which is one message.
    """

    topic: str
    queue_id: int
    first_offset: int
    sys_flag: int
    store_ms: int
    physicals: list[int]
    sizes: list[int]
    texts: list[bytes]  # encoded properties


class Queues(Protocol):
    """The interface of all queues; a missing one is created."""

    def queue(self, topic: str, queue_id: int) -> ConsumeQueue: ...


class ReputMessageService:
    """The builder of queues and index, in operation and in recovery.  RocketMQ: `ReputMessageService`.

    New puts are passed with `add`, so that they need not be parsed again; everything else is read from the log.
    Both ways use `_build_all`, and a test compares their bytes.
    """

    def __init__(
        self,
        log: CommitLog,
        queues: Queues,
        index: IndexService,
        journal: Journal,
        *,
        broker: str,
        delay_levels_ms: tuple[int, ...],
        index_enable: bool,
        stuck: Callable[[bool], None],
    ) -> None:
        self._set_stuck = stuck
        self._stuck = False
        self._log = log
        self._queues = queues
        self._index = index
        self._journal = journal
        self._broker = broker
        self._delay_levels_ms = delay_levels_ms
        self._index_enable = index_enable
        self.pending: list[Run] = []  # passed, not dispatched
        self._growing: dict[tuple[str, int], Run] = {}  # pending ones that take the next message
        self._unindexed = IndexKeys()  # entries without room
        self._readers: dict[str, TextReader] = {}  # by topic
        self._busy = False
        self.position = 0  # everything below is dispatched
        self.dispatched_ms = 0  # store time of the newest dispatched message
        self.on_arrival: Arrival | None = None
        self.awaited: Container[tuple[str, int]] | None = None  # queues whose messages are reported; None: all

    def add(
        self,
        queue: tuple[str, int],
        queue_offset: int,
        sys_flag: int,
        store_ms: int,
        physical: int,
        size: int,
        text: bytes,
    ) -> None:
        """Pass a new put.  All messages of a queue in one turn become one run."""
        run = self._growing.get(queue)
        if run is not None and run[4] == store_ms and not sys_flag & OUT_OF_QUEUE:
            _, _, _, _, _, physicals, sizes, texts = run  # by index: half the time of names
            physicals.append(physical)
            sizes.append(size)
            texts.append(text)
            return
        topic, queue_id = queue
        run = _run(Run, (topic, queue_id, queue_offset, sys_flag, store_ms, [physical], [size], [text]))
        self.pending.append(run)
        if not sys_flag & OUT_OF_QUEUE:
            self._growing[queue] = run

    def add_batch(
        self,
        queue: tuple[str, int],
        queue_offset: int,
        sys_flag: int,
        store_ms: int,
        physicals: Sequence[int],
        sizes: Sequence[int],
        texts: Sequence[bytes],
    ) -> None:
        """Pass new puts of one queue, as `add` does for one."""
        run = self._growing.get(queue)
        if run is None or run.store_ms != store_ms or sys_flag & OUT_OF_QUEUE:
            run = Run(*queue, queue_offset, sys_flag, store_ms, [], [], [])
            self.pending.append(run)
            if not sys_flag & OUT_OF_QUEUE:
                self._growing[queue] = run
        run.physicals.extend(physicals)
        run.sizes.extend(sizes)
        run.texts.extend(texts)

    @property
    def behind_bytes(self) -> int:
        return self._log.max_offset - self.position

    @property
    def idle(self) -> bool:
        """True if nothing is left to dispatch."""
        return self.position >= self._log.max_offset and not len(self._unindexed)

    def forget(self) -> None:
        """Drop what is prepared for dispatch but not dispatched yet; the log still has it."""
        self.pending.clear()
        self._growing.clear()
        self._unindexed = IndexKeys()
        self.rest()

    def rest(self) -> None:
        """Drop caches, so that an idle store is small."""
        self._readers.clear()

    def run(self, *, quiet: bool = False, note: Note | None = None) -> None:
        """Dispatch all of the log, write one event per queue, then notify waiting pulls.

        A notified pull may put new messages; they are dispatched before this returns.  `quiet`: events of these
        messages were written before.  `note` counts them.  If a queue or index file finds no space, `stuck` is
        called, and the rest waits for the next run.
        """
        if self._busy:
            return
        self._busy = True
        try:
            while self.pending or self._unindexed.hashes or self._log.max_offset > self.position:
                before, unindexed = self.position, len(self._unindexed)
                built, resume = self._build_all(self._take())
                if self._journal.tracing and not quiet:
                    self._record(built)
                if note is not None:
                    for made in built:
                        note(made.topic, len(made.sizes), sum(made.sizes))
                if self.on_arrival is not None:
                    self._notify(built)
                if resume is not None or self._unindexed.hashes:
                    self._stand_back(resume)
                    return
                if self.position == before and not unindexed:
                    break  # the log ends within a record; its rest is still to come
            if self._stuck:
                self._stuck = False
                self._set_stuck(False)
        finally:
            self._busy = False

    def _build_all(self, runs: list[Run]) -> tuple[list[Run], int | None]:
        """Build the queue and index entries of these runs.

        Return the runs that were new, and the offset at which space ran out or None.
        """
        keys, self._unindexed = self._unindexed, IndexKeys()
        built: list[Run] = []
        resume: int | None = None
        for i, run in enumerate(runs):
            codes = self._read(run, keys)
            try:
                if run.sys_flag & OUT_OF_QUEUE or self._build_queue(run, codes):
                    built.append(run)
            except StoreFull as error:
                resume = min(left.physicals[0] for left in runs[i:])
                log.warning("cannot dispatch beyond %d: %s", resume, error)
                keys = keys.in_log_order(below=resume)  # the rest is read from the log again
                break
        if runs and resume is None:
            self.dispatched_ms = max([run[4] for run in runs])
        if keys.hashes:
            if len(runs) > 1:
                keys = keys.in_log_order()  # entries are in log order, however many queues a turn had
            done = self._index.put(keys)
            if done < len(keys.hashes):
                self._unindexed = keys.part(done)
        return built, resume

    def _read(self, run: Run, keys: IndexKeys) -> list[int]:
        """Return the tags codes of a run; add its index entries to `keys`: the unique key, then each word of KEYS."""
        topic, _, _, sys_flag, store_ms, physicals, _, texts = run
        reader = self._readers.get(topic)
        if reader is None:
            if len(self._readers) >= _READERS:
                self._readers.clear()
            reader = self._readers[topic] = TextReader(topic)
        index_from = self._index.end_physical
        if not self._index_enable or sys_flag & TRANSACTION_MASK == TRANSACTION_ROLLBACK:
            index_from = _NEVER
        if physicals[0] < index_from or topic == SCHEDULE_TOPIC or (key_hashes := reader.read(texts)) is None:
            return self._read_each(run, keys, index_from, reader.hasher.hash)
        codes, hashes = key_hashes
        if len(hashes) != len(texts):  # several keys a message, or none
            physicals = list(chain.from_iterable(zip(*[physicals] * (len(hashes) // len(texts)), strict=True)))
        keys.hashes += hashes
        keys.physicals += physicals
        keys.times += [store_ms] * len(hashes)
        return codes

    def _read_each(self, run: Run, keys: IndexKeys, index_from: int, hash_of: Callable[[bytes], int]) -> list[int]:
        """Return the tags codes of a run and add its index entries, message by message."""
        topic, _, _, _, store_ms, physicals, _, texts = run
        delayed = topic == SCHEDULE_TOPIC
        codes: list[int] = []
        for physical, text in zip(physicals, texts, strict=True):
            tags, unique, words = names.dispatched(text)
            if delayed:
                codes.append(self.tags_code_of(topic, text, store_ms))
            else:
                codes.append(tags_code_of_bytes(tags) if tags else 0)
            if physical < index_from:
                continue
            if unique:
                keys.add(hash_of(unique), physical, store_ms)
            if words:
                for word in words.split(b" "):
                    if word:
                        keys.add(hash_of(word), physical, store_ms)
        return codes

    def _build_queue(self, run: Run, codes: list[int]) -> bool:
        """Append the entries of a run that do not exist yet; return False if all exist."""
        topic, queue_id, queue_offset, _, store_ms, physicals, sizes, _ = run
        queue = self._queues.queue(topic, queue_id)
        units = pack_units(physicals, sizes, codes)
        if physicals[0] + sizes[0] <= queue.max_physical:
            ends = [physical + size for physical, size in zip(physicals, sizes, strict=True)]
            known = sum(1 for end in ends if end <= queue.max_physical)
            if known == len(physicals):
                return False
            units = units[known * UNIT_BYTES :]
            queue_offset += known
        queue.put_run(queue_offset, units, physicals[-1] + sizes[-1], store_ms)
        return True

    def _stand_back(self, resume: int | None) -> None:
        """Set the next run to continue from `resume`.

        Everything is in the log, and dispatching twice is harmless.
        """
        if resume is not None:
            self.position = resume
        self.pending.clear()
        self._growing.clear()
        if not self._stuck:
            self._stuck = True
            self._set_stuck(True)

    def _take(self) -> list[Run]:
        """Return the next runs: the passed ones if any, else those read from the log."""
        if self.pending:
            runs, self.pending = self.pending, []
            self._growing.clear()
            self.position = self._log.max_offset
            return runs
        runs, self.position = self.from_log(self.position)
        return runs

    def from_log(self, offset: int) -> tuple[list[Run], int]:
        """Return the next records from `offset` on, each as a run of its own, and the following offset."""
        runs: list[Run] = []
        while len(runs) < _READ_AT_ONCE:
            _, view, layout, following = self._log.step(offset, check_crc=False)
            if view is not None and layout is not None:
                topic = str(view[layout.topic_at : layout.topic_at + layout.topic_bytes], "utf-8", "replace")
                text = bytes(view[layout.properties_at : layout.properties_at + layout.properties_bytes])
                if has_a_place(topic):
                    runs.append(
                        Run(
                            topic,
                            layout.queue_id,
                            layout.queue_offset,
                            layout.sys_flag,
                            layout.store_ms,
                            [layout.physical_offset],
                            [layout.size],
                            [text],
                        )
                    )
                else:  # never written by this store
                    log.warning("the message at %d has no queue: %r is no directory", layout.physical_offset, topic)
            if following is None:
                break
            offset = following
        return runs, offset

    def tags_code_of(self, topic: str, properties: bytes, store_ms: int) -> int:
        """Return the tags code of the queue entry: the hash of the tags, or the delivery time of a delayed message."""
        if topic == SCHEDULE_TOPIC:
            level = names.find(properties, _DELAY)
            if level is not None and level.isdigit() and int(level) > 0:
                return store_ms + self._delay_levels_ms[min(int(level), len(self._delay_levels_ms)) - 1]
        tags = names.find(properties, _TAGS)
        return tags_code_of_bytes(tags) if tags else 0

    def _record(self, runs: list[Run]) -> None:
        for topic, queue_id, first, sys_flag, _, physicals, sizes, _ in runs:
            if not sys_flag & OUT_OF_QUEUE:
                self._journal.write(
                    MessagesStored(topic, self._broker, queue_id, first, len(sizes), physicals[0], sum(sizes))
                )

    def _notify(self, runs: list[Run]) -> None:
        arrived, awaited = self.on_arrival, self.awaited
        assert arrived is not None
        for topic, queue_id, first, sys_flag, store_ms, _, _, texts in runs:
            if awaited is not None and (topic, queue_id) not in awaited:
                continue
            if sys_flag & OUT_OF_QUEUE:
                continue  # RocketMQ wakes pulls for these too; they would find nothing
            for i, text in enumerate(texts, first + 1):
                arrived(
                    topic,
                    queue_id,
                    i,
                    self.tags_code_of(topic, text, store_ms),
                    store_ms,
                    names.decode(text.decode("utf-8", "replace")),
                )
