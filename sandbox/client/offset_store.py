"""Stores of a group's consumed offsets, one for each queue."""

from collections.abc import Iterable
from typing import Protocol

from sandbox.client.results import ReadOffsetType
from sandbox.kernel.errors import BrokerRefused
from sandbox.message.queue import MessageQueue


class OffsetStore(Protocol):
    """A store of a group's consumed offsets: the eight methods that an application's own store implements.

    `update_offset` is cheap and called per batch; `persist_all` makes the offsets visible to others.  None means: not
    stored yet; a store that cannot be reached raises.  `by` is the reason for persisting, for the journal
    (catalogue 1).  RocketMQ: `OffsetStore` (spec client-behaviour 3.1).
    """

    async def load(self) -> None: ...
    async def read_offset(self, mq: MessageQueue, how: ReadOffsetType) -> int | None: ...
    def update_offset(self, mq: MessageQueue, offset: int, *, increase_only: bool) -> None: ...
    async def persist_all(self, queues: Iterable[MessageQueue], *, by: str) -> None: ...
    async def persist(self, mq: MessageQueue, *, by: str) -> None: ...
    def remove_offset(self, mq: MessageQueue) -> None: ...
    def clone_offset_table(self, topic: str) -> dict[MessageQueue, int]:
        """A copy of what memory has of one topic's queues."""

    async def update_consume_offset_to_broker(self, mq: MessageQueue, offset: int, *, oneway: bool) -> None:
        """Send the broker this offset, past memory; a store without a broker does nothing."""


class WatchedOffsetStore(OffsetStore, Protocol):
    """An offset store boards can look into: what it remembers, and what of it a crash would forget."""

    def read_memory(self, mq: MessageQueue) -> int | None: ...
    def note_safe(self, mq: MessageQueue, offset: int) -> None:
        """A crash keeps `offset`: a pull carried it to the broker, or it is where we began."""

    def in_doubt(self, mq: MessageQueue) -> int:
        """Return how far memory is ahead of the persisted offset: a crash loses this progress."""


class BrokerOffsets(Protocol):
    """The two broker calls this store needs; the instance finds the address."""

    async def query_offset(self, group: str, mq: MessageQueue) -> int: ...
    async def commit_offset(self, group: str, mq: MessageQueue, offset: int, *, oneway: bool = True) -> None: ...


class OffsetMemory:
    """The common part of all stores: a table in memory, queue → offset, and the offsets that are persisted."""

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
        """Return the persisted offset, or None."""
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
    """The broker's table, written one-way every few seconds.  RocketMQ: `RemoteBrokerOffsetStore`.

    A broker that has no record answers None here; a broker that cannot be asked raises (Java's −1 and −2).
    """

    def __init__(self, group: str, brokers: BrokerOffsets) -> None:
        super().__init__()
        self._group = group
        self._brokers = brokers

    async def load(self) -> None:
        """Nothing to load: the broker is asked queue by queue."""

    async def read_stored(self, mq: MessageQueue) -> int | None:
        try:
            return await self._brokers.query_offset(self._group, mq)
        except BrokerRefused:  # any answer with an error code counts as: no record
            return None

    async def persist_all(self, queues: Iterable[MessageQueue], *, by: str) -> None:
        """One-way commits of the given queues; what is remembered of any other is dropped."""
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
    """An application's own store that forgets: what a consumer with its own offset handling may look like."""

    async def load(self) -> None:
        """Nothing is kept between lives."""

    async def read_offset(self, mq: MessageQueue, how: ReadOffsetType) -> int | None:
        return self.table.get(mq)

    def note_safe(self, mq: MessageQueue, offset: int) -> None:
        """Nothing is safe here."""

    async def persist_all(self, queues: Iterable[MessageQueue], *, by: str) -> None:
        """Memory is all there is."""

    async def persist(self, mq: MessageQueue, *, by: str) -> None:
        """Memory is all there is."""

    def remove_offset(self, mq: MessageQueue) -> None:
        """Kept: it is the only copy."""

    async def update_consume_offset_to_broker(self, mq: MessageQueue, offset: int, *, oneway: bool) -> None:
        """Does nothing: there is no broker."""

    def in_doubt(self, mq: MessageQueue) -> int:
        return self.table.get(mq, 0)
