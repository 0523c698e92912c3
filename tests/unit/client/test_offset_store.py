"""Offsets in memory, at the broker, in a file."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from sandbox.client.local_offset_store import LocalFileOffsetStore, decode_offsets
from sandbox.client.offset_store import RemoteBrokerOffsetStore
from sandbox.client.results import ReadOffsetType
from sandbox.journal.events import OffsetCommitted, OffsetsPersisted
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import ScaledClock
from sandbox.kernel.errors import BrokerRefused, ClientError, SendTimeout
from sandbox.message.queue import MessageQueue
from sandbox.sim.loop import SimLoop

A, B = MessageQueue("T", "b", 0), MessageQueue("T", "b", 1)
STORE = ReadOffsetType.READ_FROM_STORE
MEMORY = ReadOffsetType.READ_FROM_MEMORY


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    with SimLoop() as loop:
        return loop.run(coroutine)


class Brokers:
    def __init__(self) -> None:
        self.table: dict[MessageQueue, int] = {}
        self.error: Exception | None = None

    async def query_offset(self, group: str, mq: MessageQueue) -> int:
        if self.error:
            raise self.error
        if mq not in self.table:
            raise BrokerRefused(22)
        return self.table[mq]

    async def commit_offset(self, group: str, mq: MessageQueue, offset: int, *, oneway: bool = True) -> None:
        self.table[mq] = offset


class Files:
    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}

    def read(self, name: str) -> bytes | None:
        return self.content.get(name)

    def write(self, name: str, content: bytes) -> None:
        if name in self.content:
            self.content[name + ".bak"] = self.content[name]
        self.content[name] = content


def local(files: Files) -> tuple[LocalFileOffsetStore, Journal]:
    journal = Journal(ScaledClock(SimLoop(), start_ms=0))
    return LocalFileOffsetStore("G", "c@1", files, journal), journal


def test_no_record_is_none_and_no_answer_is_an_error() -> None:
    brokers = Brokers()
    store = RemoteBrokerOffsetStore("G", brokers)
    assert run(store.read_offset(A, STORE)) is None
    brokers.error = SendTimeout("late")
    with pytest.raises(SendTimeout):
        run(store.read_offset(A, STORE))


@pytest.mark.seed("2.8")
def test_a_stored_value_goes_to_memory_and_memory_is_asked_first_if_wanted() -> None:
    brokers = Brokers()
    store = RemoteBrokerOffsetStore("G", brokers)
    brokers.table[A] = 7
    assert store.read_memory(A) is None
    assert run(store.read_offset(A, STORE)) == 7
    store.update_offset(A, 5, increase_only=True)
    assert store.read_memory(A) == 7
    store.update_offset(A, 5, increase_only=False)
    brokers.error = SendTimeout("nobody is asked")
    assert run(store.read_offset(A, ReadOffsetType.MEMORY_FIRST_THEN_STORE)) == 5
    assert run(store.read_offset(B, MEMORY)) is None


@pytest.mark.seed("2.9")
def test_persisting_forgets_queues_that_are_no_longer_ours_and_counts_what_was_in_doubt() -> None:
    brokers = Brokers()
    store = RemoteBrokerOffsetStore("G", brokers)
    brokers.table = {A: 0}
    run(store.read_offset(A, STORE))
    store.update_offset(A, 3, increase_only=True)
    store.update_offset(B, 4, increase_only=True)
    assert store.in_doubt(A) == 3
    run(store.persist_all([A], by="timer"))
    assert (brokers.table, store.in_doubt(A), store.read_memory(B)) == ({A: 3}, 0, None)
    run(store.persist_all([], by="timer"))
    assert store.read_memory(A) == 3


@pytest.mark.seed("2.8", "2.9")
def test_the_local_file_is_merged_and_survives_a_new_life() -> None:
    files = Files()
    store, journal = local(files)
    store.update_offset(A, 3, increase_only=True)
    store.update_offset(B, 4, increase_only=True)
    asyncio.run(store.persist_all([A], by="timer"))
    assert decode_offsets(files.content[store.file]) == {A: 3}
    assert store.read_memory(B) == 4, "what was not to be written is not forgotten"
    asyncio.run(store.persist_all([B], by="timer"))
    asyncio.run(store.persist_all([B], by="timer"))  # nothing new: nothing written
    assert [type(entry.event) for entry in journal.since(0)] == [OffsetCommitted, OffsetsPersisted] * 2
    again, _ = local(files)
    asyncio.run(again.load())
    assert (again.read_memory(A), again.read_memory(B)) == (3, 4)
    again.remove_offset(A)
    assert asyncio.run(again.read_offset(A, STORE)) == 3
    files.content.clear()
    assert asyncio.run(again.read_offset(A, ReadOffsetType.MEMORY_FIRST_THEN_STORE)) == 3, "read once and kept"


@pytest.mark.seed("2.4", "D24")
def test_fastjsons_own_file_is_read() -> None:
    text = (
        b'{\n\t"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:9,'
        b'{"brokerName":"b","queueId":1,"topic":"T"}:2}}'
    )
    assert decode_offsets(text) == {A: 9, B: 2}


@pytest.mark.seed("2.6")
def test_a_broken_file_falls_back_to_the_copy_before_it_and_then_to_nothing() -> None:
    files = Files()
    store, _ = local(files)
    store.update_offset(A, 1, increase_only=True)
    asyncio.run(store.persist_all([A], by="timer"))
    store.update_offset(A, 2, increase_only=True)
    asyncio.run(store.persist_all([A], by="timer"))
    files.content[store.file] = b'{"offsetTable":'
    again, _ = local(files)
    assert asyncio.run(again.read_offset(A, STORE)) == 1
    files.content.clear()
    files.content[store.file] = b"[]"
    assert asyncio.run(again.read_offset(A, STORE)) is None


def test_c1_a_member_whose_file_and_backup_are_damaged_does_not_start_and_writes_over_neither() -> None:
    """As RocketMQ's `readLocalOffsetBak`; files without content are no damage."""
    files = Files()
    store, _ = local(files)
    damaged = {store.file: bytes(60), f"{store.file}.bak": bytes(60)}
    files.content = dict(damaged)
    with pytest.raises(ClientError, match=r"offsets\.json and its backup cannot be read"):
        asyncio.run(store.load())
    assert asyncio.run(store.read_offset(A, STORE)) is None
    store.update_offset(A, 3, increase_only=True)
    asyncio.run(store.persist_all([A], by="timer"))
    assert files.content == damaged
    files.content = {store.file: b"", f"{store.file}.bak": b""}
    asyncio.run(store.persist_all([A], by="timer"))
    assert asyncio.run(store.read_offset(A, STORE)) == 3
