"""Store directories of a real broker, opened by our store: recovery ends where Apache's did."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.journal.journal import Journal
from sandbox.kernel.clock import ScaledClock
from sandbox.message import msg_id, record
from sandbox.message.message import InboundMessage
from sandbox.sim.loop import SimLoop
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import FileDisk, InlineFlusher
from sandbox.store.message_store import MessageStore
from sandbox.store.results import RecoveryReport
from tests.golden.golden_stores import NAMES, queue_ends, rows, unpack

pytestmark = pytest.mark.golden

HOST = msg_id.host_bytes("127.0.0.1", 10911)
AFTER_MS = 1_795_160_000_000
LOG_END = 1_348_762  # of the recorded run; the recovered store has one record more
CONFIG = MessageStoreConfig.from_properties(
    {
        "mappedFileSizeCommitLog": "1048576",
        "mappedFileSizeConsumeQueue": "20000",
        "maxHashSlotNum": "1000",
        "maxIndexNum": "4000",
    },
    memory_bytes=1 << 30,
)


def opened(root: Path) -> tuple[MessageStore, RecoveryReport]:
    clock = ScaledClock(SimLoop(), start_ms=AFTER_MS)
    store = MessageStore(
        CONFIG,
        disk=FileDisk(root),
        clock=clock,
        journal=Journal(clock),
        broker="broker-a",
        broker_id=0,
        store_host=HOST,
        flusher=InlineFlusher(),
    )
    return store, store.load()


@pytest.fixture(scope="module", params=NAMES)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MessageStore]:
    store, _ = opened(unpack(request.param, tmp_path_factory.mktemp(request.param)))
    yield store
    store.crash()


def test_every_queue_ends_where_the_broker_said(store: MessageStore) -> None:
    for (topic, queue_id), row in queue_ends().items():
        assert (store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)) == (
            row["minOffset"],
            row["maxOffset"],
        ), (topic, queue_id)
        earliest = store.earliest_store_time(topic, queue_id)
        assert (-1 if earliest is None else earliest) == row["earliestStoreTime"]


@pytest.mark.seed("D13")
def test_offsets_by_time_are_the_brokers(store: MessageStore) -> None:
    for row in rows("search_offset"):
        assert store.offset_by_time(row["topic"], row["queueId"], row["timestamp"]) == row["offset"], row


@pytest.mark.seed("D28")
def test_queries_by_key_answer_as_the_broker_did(store: MessageStore) -> None:
    newest = store.log.max_offset == LOG_END
    for row in rows("query_by_key"):
        answer = store.query(row["topic"], row["key"], row["maxNum"], row["begin"], row["end"])
        found = [record.decode(raw) for raw in answer.records]
        assert [(m.topic, m.queue_id, m.queue_offset, m.physical_offset, m.store_ms) for m in found] == [
            (m["topic"], m["queueId"], m["queueOffset"], m["commitLogOffset"], m["storeTimestamp"])
            for m in row["rawResult"] or []
        ], row
        if newest and row.get("ext"):
            assert str(answer.last_update_ms) == row["ext"]["indexLastUpdateTimestamp"]
            assert str(answer.last_update_physical) == row["ext"]["indexLastUpdatePhyoffset"]


def test_every_message_id_leads_to_its_message(store: MessageStore) -> None:
    for row in rows("view_by_offset_msg_id"):
        found = store.read_message(msg_id.decode(row["offsetMsgId"]).physical_offset)
        assert found is not None
        assert (found.topic, found.queue_offset) == (row["topic"], row["queueOffset"])


def test_a_whole_queue_is_pulled_as_recorded(store: MessageStore) -> None:
    recorded: dict[tuple[str, int], list[int]] = {}
    for row in rows("messages"):
        recorded.setdefault((row["topic"], row["queueId"]), []).append(row["commitLogOffset"])
    for (topic, queue_id), physical in recorded.items():
        got: list[int] = []
        offset = 0
        while (found := store.get_message(topic, queue_id, offset, 32, None)).count:
            got += [m.physical_offset for m in record.decode_all(found.records)]
            offset = found.next_offset
        assert got == physical


@pytest.mark.seed("3.21")
def test_recovery_after_the_kill_builds_apaches_files_again_byte_for_byte(tmp_path: Path) -> None:
    root, clean = unpack("basic-crash", tmp_path / "crash"), unpack("basic-clean", tmp_path / "clean")
    store, report = opened(root)
    assert (report.kind, report.from_offset, report.messages, report.truncated_bytes) == ("abnormal", 0, 153, 0)
    store.close()
    for part in ("commitlog", "consumequeue"):
        mine, theirs = _files(root / part), _files(clean / part)
        assert mine == theirs
    ((_, index),), ((_, recorded),) = _files(root / "index").items(), _files(clean / "index").items()
    assert index == recorded


def test_the_recovered_store_holds_what_ours_holds_and_one_message_more(tmp_path: Path) -> None:
    ours, _ = opened(unpack("basic-crash", tmp_path / "crash"))
    theirs, report = opened(unpack("basic-recovered", tmp_path / "recovered"))
    assert (report.kind, report.messages) == ("normal", 154)
    assert ours.log.max_offset == LOG_END
    for physical, end in ((0, 934_847), (1_048_576, LOG_END)):
        assert ours.log.read(physical, end - physical) == theirs.log.read(physical, end - physical)
    more = {key: theirs.max_offset(*key) - ours.max_offset(*key) for key in theirs.queues()}
    assert {key: count for key, count in more.items() if count} == {("RMQ_SYS_TRANS_HALF_TOPIC", 0): 1}
    ours.crash()
    theirs.crash()


def test_a_recorded_store_is_written_on(tmp_path: Path) -> None:
    root = unpack("basic-crash", tmp_path)
    store, _ = opened(root)
    store.start()
    before = store.max_offset("GoldenBasic", 0)
    done = store.put_message(InboundMessage("GoldenBasic", 0, b"one more", b"KEYS\x01late", 0, 0, 0, AFTER_MS, HOST))
    store.dispatch()
    assert (done.queue_offset, done.physical_offset) == (before, LOG_END)
    store.close()
    again, report = opened(root)
    assert report.kind == "normal"
    assert len(again.query("GoldenBasic", "late", 32, 0, 1 << 62).records) == 1
    again.crash()


def test_recorded_tables_of_a_broker_are_read(store: MessageStore) -> None:
    offsets = store.config_file("consumerOffset").read()
    topics = store.config_file("topics").read()
    assert offsets is not None
    assert all(queue.isdigit() for table in offsets["offsetTable"].values() for queue in table)
    assert topics is not None
    assert topics["topicConfigTable"]["GoldenBasic"]["writeQueueNums"] == 4
    json.dumps([offsets, topics])


def _files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }
