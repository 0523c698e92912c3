"""The journal entries in memory about each queue's messages, indexed by queue for repeated queries."""

from collections import deque
from collections.abc import Iterable

from sandbox.journal.events import (
    Entry,
    FlowSkipped,
    MessageConsumedOnce,
    MessagesConsumed,
    MessagesFiltered,
    MessagesStored,
    PullAnswered,
)
from sandbox.journal.journal import Journal

OfQueue = MessagesStored | PullAnswered | MessagesFiltered | MessagesConsumed | MessageConsumedOnce
QueueKey = tuple[str, str, int]  # topic, broker, queue id

_OF_QUEUES = frozenset({MessagesStored, PullAnswered, MessagesFiltered, MessagesConsumed, MessageConsumedOnce})


class QueueHistory:
    """Journal entries by queue.  Reads new entries on request, and drops those that leave the journal's memory."""

    def __init__(self) -> None:
        self.skips: deque[Entry] = deque()  # FlowSkipped
        self._by_queue: dict[QueueKey, deque[Entry]] = {}
        self._next = 0

    def read(self, journal: Journal) -> None:
        first = journal.first_in_memory
        for entry in journal.since(max(self._next, first)):
            kind = type(entry.event)
            if kind in _OF_QUEUES:
                event: OfQueue = entry.event  # type: ignore[assignment]  # it is one of them
                key = event.topic, event.broker, event.queue_id
                self._by_queue.setdefault(key, deque()).append(entry)
            elif kind is FlowSkipped:
                self.skips.append(entry)
        self._next = journal.next_seq
        for entries in (self.skips, *self._by_queue.values()):
            while entries and entries[0].seq < first:
                entries.popleft()
        for key in [key for key, entries in self._by_queue.items() if not entries]:
            del self._by_queue[key]

    def of(self, key: QueueKey) -> Iterable[Entry]:
        """Return the entries of a queue, oldest first."""
        return self._by_queue.get(key, ())
