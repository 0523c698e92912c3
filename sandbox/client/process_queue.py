"""Process queue: the messages of one queue that a member has pulled and not yet finished."""

import asyncio
from collections.abc import Iterable
from itertools import groupby

from sandbox.client.offset_runs import OffsetRuns, Run
from sandbox.client.offset_store import WatchedOffsetStore
from sandbox.kernel.clock import Clock
from sandbox.message import properties as names
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue


class ProcessQueue:
    """Cache of pulled messages of one queue, and the offset that may be committed.  RocketMQ: `ProcessQueue`.

    The committed offset is the smallest unfinished one, so one slow message holds it back while pulling continues.
    Only orderly consumption uses `taken`: the batch that a listener works on.  `next_offset` and
    `first_lock_pending` are fields of the queue's `PullRequest` in Java.
    """

    def __init__(self, mq: MessageQueue, *, now_ms: int, next_offset: int = 0) -> None:
        self.mq = mq
        self.next_offset = next_offset
        self.first_lock_pending = True
        self.queue_offset_max = 0
        self.bytes = 0
        self.accumulated = 0  # msgAccCnt: how far the last pull was behind the queue's end
        self.dropped = False
        self.locked = False
        self.consuming = False
        self.released_offset: int | None = None  # the committed offset at the release of the queue
        self.unlock_tries = 0
        self.taken_at_ms = now_ms
        self.last_pull_ms = now_ms
        self.last_consume_ms = now_ms
        self.last_lock_ms = now_ms
        self.lapse_reported = False
        self.flow_control: str | None = None  # count, size, span
        self.held_back_ms = 0  # when a limit last delayed a pull
        self.pause = ""  # reason why the next pull waits (pull_service); "" if it does not
        self.pull_again_ms = 0  # until when, while it waits
        self.pinned_offset: int | None = None  # for which MessagePinned was written
        self._cache: dict[int, Message] = {}  # by queue offset, ascending
        self._taken: dict[int, Message] = {}
        self._started: dict[int, int] = {}  # first start of each unfinished message
        self._processing: set[int] = set()
        self._until_quiet: asyncio.Future[None] | None = None
        self._done_ahead: set[int] = set()
        self._seen = OffsetRuns()  # offsets passed to a listener, finished or not

    # Pulling.

    def put(self, messages: Iterable[Message]) -> bool:
        """Cache pulled messages.  Return True if orderly consumption was idle and must be started."""
        last: Message | None = None
        in_order = True
        for message in messages:
            offset = offset_of(message)
            if offset not in self._cache:
                in_order = in_order and offset > self.queue_offset_max
                self.bytes += len(message.body)
                self.queue_offset_max = offset
            self._cache[offset] = message
            last = message
        if not in_order:
            self._cache = dict(sorted(self._cache.items()))
        if last is not None and names.MAX_OFFSET in last.properties:
            self.accumulated = max(0, int(last.properties[names.MAX_OFFSET]) - offset_of(last))
        wake = bool(self._cache) and not self.consuming
        self.consuming = self.consuming or wake
        return wake

    # Consuming concurrently.

    def remove(self, messages: Iterable[Message]) -> int:
        """Remove finished messages; return the offset that may be committed, −1 if the cache was empty before."""
        if not self._cache:
            return -1
        removed = [offset_of(message) for message in messages]
        for offset in removed:
            self._forget(self._cache, offset)
        first = next(iter(self._cache), None)
        if first is None:
            self._done_ahead.clear()
            return self.queue_offset_max + 1
        self._done_ahead.update(removed)
        if self._done_ahead and min(self._done_ahead) < first:
            self._done_ahead = {offset for offset in self._done_ahead if offset > first}
        return first

    def first(self) -> Message | None:
        return next(iter(self._cache.values()), None)

    # Consuming in order.

    def take(self, count: int) -> list[Message]:
        """Move up to `count` of the oldest messages to `taken` and return them.

        If none is left, consumption stops.
        """
        batch = [self._cache.pop(offset) for offset in list(self._cache)[:count]]
        self._taken.update((offset_of(message), message) for message in batch)
        if not batch:
            self.consuming = False
        return batch

    def commit(self) -> int:
        """Remove the taken messages as finished; return the offset to commit, −1 if none was taken."""
        if not self._taken:
            return -1  # Java raises here
        committed = max(self._taken) + 1
        for offset in list(self._taken):
            self._forget(self._taken, offset)
        return committed

    def rollback(self) -> None:
        """Move all taken messages back to the cache."""
        self.again(list(self._taken.values()))

    def again(self, messages: Iterable[Message]) -> None:
        """Move these messages from `taken` back to the cache, to be consumed once more."""
        for message in messages:
            offset = offset_of(message)
            if self._taken.pop(offset, None) is not None:
                self._cache[offset] = message
        self._cache = dict(sorted(self._cache.items()))

    # Read by boards and services.

    @property
    def count(self) -> int:
        return len(self._cache) + len(self._taken)

    @property
    def cached(self) -> int:
        return len(self._cache)

    @property
    def span(self) -> int:
        """Distance from the first to the last cached offset: how far pulling has run ahead of a stuck message."""
        if not self._cache:
            return 0
        return next(reversed(self._cache)) - next(iter(self._cache))

    @property
    def has_unfinished(self) -> bool:
        return bool(self._cache or self._taken)

    def begin(self, messages: Iterable[Message], now_ms: int) -> None:
        """Record that a listener starts on these messages at `now_ms`."""
        for message in messages:
            offset = offset_of(message)
            self._seen.add(offset)
            self._started.setdefault(offset, now_ms)
            self._processing.add(offset)

    def end(self, messages: Iterable[Message]) -> None:
        """Record that the listener has returned.  The caller decides afterwards if the messages are finished."""
        self._processing.difference_update(offset_of(message) for message in messages)
        if not self._processing and self._until_quiet is not None and not self._until_quiet.done():
            self._until_quiet.set_result(None)

    def ends(self) -> tuple[Run, Run]:
        """Return first and last offset of the cache and of the taken batch; (0, 0) for an empty one."""
        tables = (self._cache, self._taken)
        cached, taken = ((next(iter(table)), next(reversed(table))) if table else (0, 0) for table in tables)
        return cached, taken

    async def quiet(self, clock: Clock, seconds: float) -> bool:
        """Wait up to `seconds` until no listener works on this queue; return True if none does.

        RocketMQ: `tryLock` of the queue's consume lock.
        """
        if not self._processing:
            return True
        quiet = self._until_quiet = asyncio.get_running_loop().create_future()
        timer = clock.call_later(seconds, lambda: None if quiet.done() else quiet.set_result(None))
        try:
            await quiet
        finally:
            timer.cancel()
        return not self._processing

    def first_unfinished(self) -> int | None:
        if self._taken and self._cache:
            return min(next(iter(self._taken)), next(iter(self._cache)))
        return next(iter(self._taken or self._cache), None)

    def oldest(self) -> tuple[int, str, int] | None:
        """Return offset, key and first start (ms) of the oldest unfinished message.

        None if there is no such message or no listener has started on it.
        """
        offset = self.first_unfinished()
        if offset is None or offset not in self._started:
            return None
        message = self._taken.get(offset) or self._cache[offset]
        return offset, message.keys, self._started[offset]

    def attempts(self, offset: int) -> int:
        """Return how often a listener failed with an unfinished message, before and since it came to this queue."""
        message = self._taken.get(offset) or self._cache.get(offset)
        return 0 if message is None else message.reconsume_times

    def mark_of(self, offset: int) -> str | None:
        """Return the state of an offset: "p" processing, "b" buffered, "d" done before an older one is.

        None if the queue does not hold the offset.
        """
        if offset in self._processing:
            return "p"
        if offset in self._cache or offset in self._taken:
            return "b"
        return "d" if offset in self._done_ahead else None

    def started_ms(self, offset: int) -> int | None:
        """Return when a listener first started on an unfinished message, in ms; None if none has."""
        return self._started.get(offset)

    def cells(self) -> tuple[int, str]:
        """Return the first unfinished offset, and the states of the offsets from there to the last pulled one.

        States are runs of d(one), p(rocessing), b(uffered).  The scan ends after the last message that does not
        simply wait: a board reads this twenty times a second.
        """
        first = self.first_unfinished()
        if first is None:
            return self.next_offset, ""
        last = max(next(reversed(table)) for table in (self._taken, self._cache) if table)
        done_left, processing_left = last - first + 1 - self.count, len(self._processing)
        marks: list[str] = []
        offset = first
        while (done_left or processing_left) and offset <= last:
            if offset in self._processing:
                processing_left -= 1
                marks.append("p")
            elif offset in self._cache or offset in self._taken:
                marks.append("b")
            else:
                done_left -= 1
                marks.append("d")
            offset += 1
        text = [(mark, sum(1 for _ in run)) for mark, run in groupby(marks)]
        waiting = last - offset + 1
        if waiting and text and text[-1][0] == "b":
            waiting += text.pop()[1]
        if waiting:
            text.append(("b", waiting))
        if self.queue_offset_max > last:
            text.append(("d", self.queue_offset_max - last))
        return first, "".join(f"{count}{mark}" for mark, count in text)

    def unfinished_runs(self) -> tuple[Run, ...]:
        """Return the unfinished offsets as runs, both bounds included."""
        return runs(sorted(self._taken.keys() | self._cache.keys()))

    @property
    def processing(self) -> int:
        """Number of messages that a listener works on now."""
        return len(self._processing)

    @property
    def done_ahead(self) -> int:
        """Number of messages finished before an older one: after a crash they are delivered again."""
        return len(self._done_ahead)

    def seen_from(self, offset: int) -> int:
        """Count the messages at or above `offset` that a listener received.

        A consumer that starts at `offset` passes them to a listener again.
        """
        return self._seen.count_from(offset)

    def begun_from(self, offset: int) -> int:
        """Count the unfinished messages at or above `offset` on which a listener has started."""
        return sum(1 for begun in self._started if begun >= offset)

    def given_runs(self) -> tuple[Run, ...]:
        """Return the offset runs passed to a listener, finished or not."""
        return self._seen.runs()

    def clear(self) -> None:
        self._seen.clear()
        for table in (self._cache, self._taken, self._started, self._processing, self._done_ahead):
            table.clear()
        self.bytes = 0
        self.queue_offset_max = 0

    def _forget(self, table: dict[int, Message], offset: int) -> None:
        message = table.pop(offset, None)
        if message is None:
            return
        self.bytes -= len(message.body)
        self._started.pop(offset, None)
        self._processing.discard(offset)


def redelivered(pq: ProcessQueue, store: WatchedOffsetStore, beginning: int | None) -> int:
    """Count the messages passed to the application at or above `beginning`, the next owner's start offset.

    `beginning` None means the last persisted offset, which is known to this member only.
    """
    if beginning is None:
        beginning = (store.read_memory(pq.mq) or 0) - store.in_doubt(pq.mq)
    return pq.seen_from(beginning)


def offset_of(message: Message) -> int:
    """Return the queue offset of a message that came from a broker."""
    assert message.queue_offset is not None
    return message.queue_offset


def runs(offsets: Iterable[int]) -> tuple[Run, ...]:
    """Return ascending offsets as runs, both bounds included.

    >>> runs([1, 2, 3, 7])
    ((1, 3), (7, 7))
    """
    ranges: list[list[int]] = []
    for offset in offsets:
        if ranges and offset == ranges[-1][1] + 1:
            ranges[-1][1] = offset
        else:
            ranges.append([offset, offset])
    return tuple((first, last) for first, last in ranges)
