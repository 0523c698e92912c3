"""Open transactions, for snapshots of the half queue.

Only the half and the op queue decide what the broker does.  This table saves reading them for every snapshot.
"""

import logging
from collections.abc import Iterator

from sandbox.broker.consumer_offsets import ConsumerOffsetManager
from sandbox.broker.transaction.half_messages import HALF_QUEUE_ID, HalfMessage, whole
from sandbox.journal.events import TransactionChecked, TransactionEnded, TransactionPrepared
from sandbox.journal.journal import Journal
from sandbox.kernel.errors import CorruptRecord
from sandbox.message import record
from sandbox.message import topic_names as names
from sandbox.message.message import StoredMessage
from sandbox.message.properties import UNIQ_KEY
from sandbox.store.message_store import MessageStore

log = logging.getLogger(__name__)

MAX_LISTED = 10_000  # half messages listed; older ones are checked and ended all the same
READ_AT_ONCE = 32
ALL_TIME_MS = 2**62


class OpenTransactions:
    """Open transactions by id, in the order of their preparation.  Writes the three events of a transaction."""

    def __init__(self, store: MessageStore, offsets: ConsumerOffsetManager, journal: Journal) -> None:
        self._store = store
        self._offsets = offsets
        self._journal = journal
        self.table: dict[str, HalfMessage] = {}

    def load(self) -> None:
        """Read both queues from the position of the check service."""
        removed = {whole(op.body.decode("ascii", "replace")) for op in self._after_progress(names.OP_HALF_TOPIC)}
        self.table.clear()
        for stored in self._after_progress(names.HALF_TOPIC):
            if stored.queue_offset not in removed:
                self._note(HalfMessage.of(stored))

    def prepared(self, half: HalfMessage) -> None:
        self._note(half)
        self._journal.write(TransactionPrepared(half.producer_group, half.transaction_id, half.half_offset))

    def moved(self, half: HalfMessage) -> None:
        """Record that a half message was put again and has another offset now."""
        if half.transaction_id in self.table:
            self.table[half.transaction_id] = half
        else:
            self._note(half)

    def checked(self, half: HalfMessage, client_id: str | None) -> None:
        self._journal.write(TransactionChecked(half.producer_group, half.transaction_id, half.checks, client_id))

    def ended(self, half: HalfMessage, outcome: str, by: str) -> None:
        """Write the end of a transaction and remove it.

        `outcome`: commit, rollback, discarded; `by`: producer, check.  The end of an older copy does not remove the
        newer one.
        """
        self.forget(half)
        self._journal.write(
            TransactionEnded(half.producer_group, half.transaction_id, half.half_offset, outcome, by, half.checks)
        )

    def forget(self, half: HalfMessage) -> None:
        known = self.table.get(half.transaction_id)
        if known is not None and known.half_offset == half.half_offset:
            del self.table[half.transaction_id]

    def was_here(self, transaction_id: str) -> bool:
        """Return True if the half queue has, or had, a message of this transaction."""
        result = self._store.query(names.HALF_TOPIC, transaction_id, READ_AT_ONCE, 0, ALL_TIME_MS)
        return any(record.decode(raw).properties.get(UNIQ_KEY) == transaction_id for raw in result.records)

    def _note(self, half: HalfMessage) -> None:
        self.table[half.transaction_id] = half
        if len(self.table) > MAX_LISTED:
            del self.table[next(iter(self.table))]

    def _after_progress(self, topic: str) -> Iterator[StoredMessage]:
        offset = self._offsets.get(names.TRANSACTION_GROUP, topic, HALF_QUEUE_ID) or 0
        while True:
            read = self._store.get_message(topic, HALF_QUEUE_ID, offset, READ_AT_ONCE, None)
            if read.next_offset <= offset:
                return
            try:
                yield from record.decode_all(read.records)
            except CorruptRecord as error:  # an unreadable record does not stop a broker from starting
                log.warning("messages of %s from %d on cannot be read: %s", topic, offset, error)
            offset = read.next_offset
