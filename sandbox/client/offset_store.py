"""Offset stores: the consumed offset of a group in each queue."""

from collections.abc import Iterable
from typing import Protocol

from sandbox.client.results import ReadOffsetType
from sandbox.kernel.errors import BrokerRefused
from sandbox.message.queue import MessageQueue


class OffsetStore(Protocol):
    """Store of a group's consumed offsets: the eight methods that an application's own store implements.

    `update_offset` is cheap and called per batch; `persist_all` makes the offsets visible to other members.  None
    means that no offset is stored; a store that cannot be reached raises an error.  `by` is the reason for
    persisting, for the journal (catalogue 1).  RocketMQ: `OffsetStore` (spec client-behaviour 3.1).
    """

    async def load(self) -> None: ...
    async def read_offset(self, mq: MessageQueue, how: ReadOffsetType) -> int | None: ...
    def update_offset(self, mq: MessageQueue, offset: int, *, increase_only: bool) -> None: ...
    async def persist_all(self, queues: Iterable[MessageQueue], *, by: str) -> None: ...
    async def persist(self, mq: MessageQueue, *, by: str) -> None: ...
    def remove_offset(self, mq: MessageQueue) -> None: ...
    def clone_offset_table(self, topic: str) -> dict[MessageQueue, int]:
        """Return a copy of the offsets in memory for the queues of one topic."""

    async def update_consume_offset_to_broker(self, mq: MessageQueue, offset: int, *, oneway: bool) -> None:
        """Send this offset to the broker without changing memory; a store without a broker does nothing."""


class WatchedOffsetStore(OffsetStore, Protocol):
    """Offset store that also reports which progress a crash would lose, for the boards."""

    def read_memory(self, mq: MessageQueue) -> int | None: ...
    def note_safe(self, mq: MessageQueue, offset: int) -> None:
        """Record that `offset` survives a crash: a pull carried it to the broker, or it is the start offset."""

    def in_doubt(self, mq: MessageQueue) -> int:
        """Return how far memory is ahead of the persisted offset: a crash loses this progress."""


class BrokerOffsets(Protocol):
    """Broker requests that this store needs; the client instance finds the address."""

    async def query_offset(self, group: str, mq: MessageQueue) -> int: ...
    async def commit_offset(self, group: str, mq: MessageQueue, offset: int, *, oneway: bool = True) -> None: ...


class OffsetMemory:
    """Base of all stores: a table in memory, queue → offset, and the offsets that are persisted."""

    def __init__(self) -> None:
        self.table: dict[MessageQueue, int] = {}
        self._safe: dict[MessageQueue, int] = {}

    async def read_offset(self, mq: MessageQueue, how: ReadOffsetType) -> int | None:
        if how is not ReadOffsetType.READ_FROM_STORE:
            known = self.table.get(mq)
            if known is not None or how is ReadOffsetType.READ_FROM_MEMORY:
                return known
        offset = await self.read_stored(mq)
        if offset is not None:
            self.table[mq] = self._safe[mq] = offset
        return offset

    async def read_stored(self, mq: MessageQueue) -> int | None:
        """Return the persisted offset, or None if none is stored."""
        return None

    def read_memory(self, mq: MessageQueue) -> int | None:
        return self.table.get(mq)

    def update_offset(self, mq: MessageQueue, offset: int, *, increase_only: bool) -> None:
        if not increase_only or offset > self.table.get(mq, -1):
            self.table[mq] = offset

    def note_safe(self, mq: MessageQueue, offset: int) -> None:
        self._safe[mq] = offset

    def in_doubt(self, mq: MessageQueue) -> int:
        now = self.table.get(mq)
        return 0 if now is None else max(0, now - self._safe.get(mq, now))

    def remove_offset(self, mq: MessageQueue) -> None:
        self.table.pop(mq, None)
        self._safe.pop(mq, None)

    def clone_offset_table(self, topic: str) -> dict[MessageQueue, int]:
        return {mq: self.table[mq] for mq in sorted(self.table) if mq.topic == topic}


class RemoteBrokerOffsetStore(OffsetMemory):
    """Offset store in the broker's table, written one-way every few seconds.  RocketMQ: same name.

    If the broker has no offset, the result is None (Java: −1).  If the broker cannot be asked, the store raises an
    error (Java: −2).
    """

    def __init__(self, group: str, brokers: BrokerOffsets) -> None:
        super().__init__()
        self._group = group
        self._brokers = brokers

    async def load(self) -> None:
        """Do nothing: the broker is asked queue by queue."""

    async def read_stored(self, mq: MessageQueue) -> int | None:
        try:
            return await self._brokers.query_offset(self._group, mq)
        except BrokerRefused:  # any answer with an error code means that no offset is stored
            return None

    async def persist_all(self, queues: Iterable[MessageQueue], *, by: str) -> None:
        """Commit the offsets of these queues one-way, and remove all other queues from memory."""
        requested = sorted(queues)
        if not requested:
            return
        for mq in self.table.keys() - set(requested):
            self.remove_offset(mq)
        for mq in requested:
            await self.persist(mq, by=by)

    async def persist(self, mq: MessageQueue, *, by: str) -> None:
        offset = self.table.get(mq)
        if offset is None:
            return
        await self.update_consume_offset_to_broker(mq, offset, oneway=True)
        self.note_safe(mq, offset)

    async def update_consume_offset_to_broker(self, mq: MessageQueue, offset: int, *, oneway: bool) -> None:
        await self._brokers.commit_offset(self._group, mq, offset, oneway=oneway)


class MemoryOffsetStore(OffsetMemory):
    """Offset store without persistence, an example of an application's own offset handling."""

    async def load(self) -> None:
        """Do nothing: no offsets survive a restart."""

    async def read_offset(self, mq: MessageQueue, how: ReadOffsetType) -> int | None:
        return self.table.get(mq)

    def note_safe(self, mq: MessageQueue, offset: int) -> None:
        """Do nothing: no offset of this store survives a crash."""

    async def persist_all(self, queues: Iterable[MessageQueue], *, by: str) -> None:
        """Do nothing: this store has only memory."""

    async def persist(self, mq: MessageQueue, *, by: str) -> None:
        """Do nothing: this store has only memory."""

    def remove_offset(self, mq: MessageQueue) -> None:
        """Do nothing: memory holds the only copy of the offset."""

    async def update_consume_offset_to_broker(self, mq: MessageQueue, offset: int, *, oneway: bool) -> None:
        """Do nothing: this store uses no broker."""

    def in_doubt(self, mq: MessageQueue) -> int:
        return self.table.get(mq, 0)
