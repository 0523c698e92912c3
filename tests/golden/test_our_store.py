"""Stores of QueueViz, read by the second reader, which knows only the format."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.journal.journal import Journal
from sandbox.kernel.clock import ScaledClock
from sandbox.message import msg_id, properties, sys_flag
from sandbox.message.compression import ZLIB_FLAGS, compress
from sandbox.message.message import InboundMessage
from sandbox.message.string_hash import tags_code
from sandbox.sim.loop import SimLoop
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import FileDisk, InlineFlusher
from sandbox.store.message_store import MessageStore
from sandbox.store.reader import StoreReader
from sandbox.store.results import PutMessageStatus
from sandbox.store_audit.one_process import verify
from tests.golden.independent_reader import IndependentReader, Record

pytestmark = pytest.mark.golden

V4, V6 = msg_id.host_bytes("127.0.0.1", 10911), msg_id.host_bytes("2001:db8::1", 40123)
START_MS = 1_795_150_704_156
CONFIG = MessageStoreConfig(
    commit_log_file_bytes=65_536,
    consume_queue_file_entries=50,
    index_slots=97,
    index_entries=400,
    max_message_bytes=16_384,
    memory_bytes=1 << 20,
)


def message(
    number: int,
    *,
    topic: str = "orders",
    queue_id: int = 0,
    body: bytes = b"",
    flags: int = 0,
    born_host: bytes = V4,
    prepared_offset: int = 0,
    **more: str,
) -> InboundMessage:
    pairs = {"KEYS": f"k{number} both 键{number % 7}", "TAGS": f"Tag{number % 3}", "UNIQ_KEY": f"{number:032X}", **more}
    text = properties.encode({name: value for name, value in pairs.items() if value}).encode()
    return InboundMessage(
        topic,
        queue_id,
        body or f"message {number}".encode(),
        text,
        tags_code(pairs["TAGS"]),
        flags,
        number,
        START_MS - number // 100,
        born_host,
        0,
        prepared_offset,
    )


def all_kinds() -> Iterator[list[InboundMessage]]:
    """Single messages and batches of everything a record can be."""
    for n in range(120):
        yield [message(n, queue_id=n % 4)]
    yield [message(n, topic="batches", queue_id=1) for n in range(200, 260)]
    text = b"compress me " * 500
    yield [message(300, body=compress(text), flags=ZLIB_FLAGS)]
    yield [message(301, born_host=V6, flags=sys_flag.BORN_HOST_V6)]
    yield [message(302, topic="中文主题", KEYS="", TAGS="标签")]
    yield [message(303, KEYS="", TAGS="", UNIQ_KEY="")]
    for level in (1, 3, 18, 25):
        yield [message(310 + level, topic="SCHEDULE_TOPIC_XXXX", queue_id=min(level, 18) - 1, DELAY=str(level))]
    yield [message(340, topic="halves", flags=sys_flag.TRANSACTION_PREPARED)]
    yield [message(341, topic="halves", flags=sys_flag.TRANSACTION_COMMIT, prepared_offset=77)]
    yield [message(342, topic="halves", flags=sys_flag.TRANSACTION_ROLLBACK)]
    for n in range(400, 460):
        yield [message(n, topic="large", body=bytes([n % 256]) * 3000)]


class Life:
    """A directory and the processes that open it, one after the other."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.loop = SimLoop()
        self.clock = ScaledClock(self.loop, start_ms=START_MS)

    def opened(self) -> MessageStore:
        store = MessageStore(
            CONFIG,
            disk=FileDisk(self.root),
            clock=self.clock,
            journal=Journal(self.clock),
            broker="broker-a",
            broker_id=0,
            store_host=V4,
            flusher=InlineFlusher(),
        )
        store.load()
        store.start()
        return store

    def put_all(self, store: MessageStore) -> list[InboundMessage]:
        """Everything, over a minute and a half, so that entries of the index differ in time."""
        sent: list[InboundMessage] = []
        for batch in all_kinds():
            done = store.put_message(batch[0]) if len(batch) == 1 else store.put_messages(batch)
            assert done.status is PutMessageStatus.PUT_OK
            sent += batch
            store.dispatch()
            self.loop.run_for(0.45)
        return sent


def assert_written(root: Path, sent: list[InboundMessage]) -> None:
    store = IndependentReader(root, slots=97, entries=400)
    assert store.problems == []
    assert [as_sent(record) for record in store.records] == [
        (m.topic, m.queue_id, m.body, m.properties, m.sys_flag, m.flag, m.born_ms, m.born_host, m.prepared_offset)
        for m in sent
    ]
    assert all(record.store_host == V4 for record in store.records)
    assert verify(root).findings == []
    with StoreReader(root) as reader:
        assert [found.physical_offset for found in reader.records()] == [record.at for record in store.records]


def as_sent(record: Record) -> tuple[object, ...]:
    return (
        record.topic,
        record.queue_id,
        record.body,
        record.text.encode(),
        record.sys_flag,
        record.flag,
        record.born,
        record.born_host,
        record.prepared,
    )


@pytest.mark.seed("0.8", "0.10", "0.11", "0.12", "3.30", "3.31", "D26", "D27")
def test_a_store_closed_cleanly_is_what_the_format_says(tmp_path: Path) -> None:
    life = Life(tmp_path)
    store = life.opened()
    sent = life.put_all(store)
    store.close()
    assert_written(tmp_path, sent)
    assert not (tmp_path / "abort").exists()
    assert len(list((tmp_path / "commitlog").iterdir())) >= 4
    assert len(list((tmp_path / "index").iterdir())) >= 2


def test_a_store_being_written_and_one_killed_are_readable_at_once(tmp_path: Path) -> None:
    life = Life(tmp_path)
    store = life.opened()
    sent = life.put_all(store)
    life.loop.run_for(61)  # the checkpoint is written on the first thorough flush
    with StoreReader(tmp_path) as reader:
        assert reader.aborted
        assert reader.lock().holder == os.getpid()
    assert_written(tmp_path, sent)
    store.crash()
    assert_written(tmp_path, sent)
    with StoreReader(tmp_path) as reader:
        assert reader.lock().holder == 0


def test_a_store_opened_again_goes_on_in_the_same_files(tmp_path: Path) -> None:
    life = Life(tmp_path)
    sent: list[InboundMessage] = []
    for _ in range(2):
        store = life.opened()
        sent += life.put_all(store)
        store.close()
    assert_written(tmp_path, sent)


def test_reader_and_store_answer_the_same(tmp_path: Path) -> None:
    life = Life(tmp_path)
    store = life.opened()
    life.put_all(store)
    with StoreReader(tmp_path) as reader:
        assert set(reader.queues()) == set(store.queues())
        assert reader.max_physical_offset() == store.max_physical_offset
        for name in store.queues():
            ends = (store.min_offset(*name), store.max_offset(*name))
            assert (reader.min_offset(*name), reader.max_offset(*name)) == ends
            for message in reader.read(*name, *ends):
                assert store.read_message(message.physical_offset) == message
                assert store.store_time(*name, message.queue_offset) == message.store_ms
        for key in ("both", "k17", "键3", f"{205:032X}"):
            for topic in ("orders", "batches"):
                mine = reader.query(topic, key, 32, 0, 2**62)
                theirs = store.query(topic, key, 32, 0, 2**62)
                assert [store.read(m.physical_offset) for m in mine.messages] == theirs.records
                assert mine[1:] == theirs[1:]
    store.close()
