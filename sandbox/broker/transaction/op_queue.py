"""Ended half messages, read from the op queue."""

from sandbox.broker.consumer_offsets import ConsumerOffsetManager
from sandbox.broker.stats import BrokerStats
from sandbox.broker.transaction.half_messages import HALF_QUEUE_ID, REMOVED_TAG, whole
from sandbox.message import properties as names
from sandbox.message import record
from sandbox.message import topic_names as topics
from sandbox.store.message_store import MessageStore
from sandbox.store.results import GetMessageStatus

READ_AT_ONCE = 32
NOTHING_NEW = (GetMessageStatus.NO_MESSAGE_IN_QUEUE, GetMessageStatus.OFFSET_OVERFLOW_ONE)


class EndedHalves:
    """Reader of op messages, 32 at a time, as far as a check run over the half queue needs them.

    An op message is done when the run has passed the half message that it names.  The position kept for the next run
    is the first one that is not done.  RocketMQ: `fillOpRemoveMap`, `calculateOpOffset`.
    """

    def __init__(
        self, store: MessageStore, offsets: ConsumerOffsetManager, stats: BrokerStats, first_half_offset: int
    ) -> None:
        self._store = store
        self._stats = stats
        self._offsets = offsets
        self._first_half_offset = first_half_offset
        known = offsets.get(topics.TRANSACTION_GROUP, topics.OP_HALF_TOPIC, HALF_QUEUE_ID)
        self._first = store.min_offset(topics.OP_HALF_TOPIC, HALF_QUEUE_ID) if known is None else known
        self._next = self._first
        self._ended: dict[int, int] = {}  # half offset to op offset
        self._done: set[int] = set()
        self._last_born_ms: int | None = None  # of the last batch; None: there were no more
        self.read_on()

    def read_on(self) -> None:
        """Read the next batch of op messages."""
        read = self._store.get_message(topics.OP_HALF_TOPIC, HALF_QUEUE_ID, self._next, READ_AT_ONCE, None)
        self._stats.get(topics.TRANSACTION_GROUP, topics.OP_HALF_TOPIC, read.count, len(read.records))
        self._last_born_ms = None
        if read.status is not GetMessageStatus.FOUND:
            if read.status not in NOTHING_NEW:  # invalid position: continue at the corrected one
                self._offsets.commit(
                    topics.TRANSACTION_GROUP, topics.OP_HALF_TOPIC, HALF_QUEUE_ID, read.next_offset, "timer"
                )
            self._next = read.next_offset
            return
        for op in record.decode_all(read.records):
            self._last_born_ms = op.born_ms
            if op.properties.get(names.TAGS) != REMOVED_TAG:
                continue
            half_offset = whole(op.body.decode("ascii", "replace"))
            if half_offset < self._first_half_offset:
                self._done.add(op.queue_offset)
            else:
                self._ended[half_offset] = op.queue_offset
        self._next = read.next_offset

    def read_on_needed(self, begun_ms: int, timeout_ms: int) -> bool:
        """Return True if unread op messages may contain an end.

        They do not if the last batch was empty or is more than `timeout_ms` newer than the run.
        """
        return self._last_born_ms is not None and self._last_born_ms - begun_ms <= timeout_ms

    def take(self, half_offset: int) -> bool:
        """Return True if the half message has ended; its op message is then done."""
        op_offset = self._ended.pop(half_offset, None)
        if op_offset is not None:
            self._done.add(op_offset)
        return op_offset is not None

    def progress(self) -> int | None:
        """Return the offset at which the next run begins to read; None if it is the same as for this run."""
        offset = self._first
        while offset in self._done:
            offset += 1
        return offset if offset != self._first else None
