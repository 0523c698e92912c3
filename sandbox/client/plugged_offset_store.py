"""Offset store of the application, and the choice between it and RocketMQ's own stores."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sandbox.client.config import MessageModel
from sandbox.client.local_offset_store import LocalFileOffsetStore
from sandbox.client.offset_store import (
    MemoryOffsetStore,
    OffsetMemory,
    OffsetStore,
    RemoteBrokerOffsetStore,
    WatchedOffsetStore,
)
from sandbox.client.results import ReadOffsetType
from sandbox.kernel.errors import ClientError
from sandbox.message.queue import MessageQueue

if TYPE_CHECKING:
    from sandbox.client.instance import ClientInstance


class PluggedOffsetStore(OffsetMemory):
    """Offset store that forwards every call to the application's store and records the offsets for boards.

    It calls the application's store only when RocketMQ would; a board's request never reaches it.
    """

    def __init__(self, store: OffsetStore) -> None:
        super().__init__()
        self._store = store

    async def load(self) -> None:
        await self._store.load()

    async def read_offset(self, mq: MessageQueue, how: ReadOffsetType) -> int | None:
        offset = await self._store.read_offset(mq, how)
        if offset is not None:
            self.table[mq] = offset
            self.note_safe(mq, offset)
        return offset

    def update_offset(self, mq: MessageQueue, offset: int, *, increase_only: bool) -> None:
        self._store.update_offset(mq, offset, increase_only=increase_only)
        super().update_offset(mq, offset, increase_only=increase_only)

    async def persist_all(self, queues: Iterable[MessageQueue], *, by: str) -> None:
        requested = sorted(queues)
        await self._store.persist_all(requested, by=by)
        for mq in requested:
            self._note_safe_now(mq)

    async def persist(self, mq: MessageQueue, *, by: str) -> None:
        await self._store.persist(mq, by=by)
        self._note_safe_now(mq)

    def remove_offset(self, mq: MessageQueue) -> None:
        self._store.remove_offset(mq)
        super().remove_offset(mq)

    def clone_offset_table(self, topic: str) -> dict[MessageQueue, int]:
        return self._store.clone_offset_table(topic)

    async def update_consume_offset_to_broker(self, mq: MessageQueue, offset: int, *, oneway: bool) -> None:
        await self._store.update_consume_offset_to_broker(mq, offset, oneway=oneway)

    def _note_safe_now(self, mq: MessageQueue) -> None:
        offset = self.table.get(mq)
        if offset is not None:
            self.note_safe(mq, offset)


def offset_store_for(
    wish: str | OffsetStore, group: str, model: MessageModel, instance: "ClientInstance"
) -> WatchedOffsetStore:
    """Return the offset store that a consumer configures with `wish`.

    It is the application's own store, "memory", or RocketMQ's choice by message model ("default").  Raises
    ClientError if a broadcasting member has no directory for its file.
    """
    if not isinstance(wish, str):
        return PluggedOffsetStore(wish)
    if wish == "memory":
        return MemoryOffsetStore()
    if model is MessageModel.CLUSTERING:
        return RemoteBrokerOffsetStore(group, instance)
    if instance.files is None:
        raise ClientError("a broadcasting consumer needs a directory for its offset file")
    return LocalFileOffsetStore(group, instance.client_id, instance.files, instance.journal)
