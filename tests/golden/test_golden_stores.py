"""Store directories of a real broker: opened, verified, and equal to what its own client read from them."""

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.kernel.loose_json import loads
from sandbox.message import msg_id
from sandbox.queries.rows.stores import message_row, offset_msg_id
from sandbox.store.reader import StoreReader
from sandbox.store_audit.one_process import verify
from sandbox.tools import mqstore
from tests.golden.golden_stores import MANIFEST, NAMES, queue_ends, rows, unpack

pytestmark = pytest.mark.golden

RECORDS = {"basic-clean": 153, "basic-crash": 153, "basic-recovered": 154}  # recovered: a half message put again


@pytest.fixture(scope="module", params=NAMES)
def directory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def store(directory: Path) -> Iterator[StoreReader]:
    with StoreReader(directory) as reader:
        yield reader


def assert_same(read: dict[str, Any], recorded: dict[str, Any]) -> None:
    """Field by field; a large body is recorded by its digest alone."""
    body = base64.b64decode(read["body"] or "")
    if "bodySha256" in recorded:
        assert hashlib.sha256(body).hexdigest() == recorded["bodySha256"]
    assert {name: read[name] for name in recorded} == recorded
    assert read.keys() - recorded.keys() <= {"body", "bodySha256"}


@pytest.mark.seed("0.10", "3.24")
def test_every_message_a_client_could_pull_is_read_field_by_field(store: StoreReader) -> None:
    recorded = {(row["topic"], row["queueId"], row["queueOffset"]): row for row in rows("messages")}
    assert len(recorded) == 146
    for name in store.queues():
        for message in store.read(*name, store.min_offset(*name), store.max_offset(*name)):
            if not message.topic.startswith("RMQ_SYS_TRANS"):
                assert_same(message_row(message), recorded.pop((*name, message.queue_offset)))
    assert not recorded


def test_half_messages_and_their_ends_are_found_in_the_log(store: StoreReader) -> None:
    found = {message.physical_offset: message for message in store.records()}
    for row in rows("unpullable_messages"):
        assert_same(message_row(found[row["commitLogOffset"]]), row)


def test_the_log_has_all_records_in_their_order_and_no_other(store: StoreReader, directory: Path) -> None:
    records = list(store.records())
    offsets = [message.physical_offset for message in records]
    recorded = sorted(row["commitLogOffset"] for row in (*rows("messages"), *rows("unpullable_messages")))
    assert offsets[: len(recorded)] == recorded
    assert len(offsets) == RECORDS[directory.parent.name.removesuffix("0")]
    last = records[-1]
    assert store.max_physical_offset() == last.physical_offset + last.store_bytes


def test_queues_begin_and_end_where_the_broker_said(store: StoreReader) -> None:
    for name, row in queue_ends().items():
        assert (store.min_offset(*name), store.max_offset(*name)) == (row["minOffset"], row["maxOffset"]), name
        first = next(store.read(*name, row["minOffset"], row["minOffset"] + 1), None)
        assert (first.store_ms if first else -1) == row["earliestStoreTime"], name
    assert {name for name in store.queues() if not name[0].startswith("RMQ_SYS")} <= queue_ends().keys()


def test_delayed_messages_stand_under_their_delivery_time(store: StoreReader) -> None:
    for topic, queue_id in store.queues():
        for unit, message in store.read_units(topic, queue_id, 0, store.max_offset(topic, queue_id)):
            if topic == "SCHEDULE_TOPIC_XXXX":
                assert unit.tags_code > message.store_ms
            else:
                assert unit.tags_code == message_row(message)["tagsCode"]


def test_offsets_by_time_are_those_the_broker_found(store: StoreReader) -> None:
    assert len(rows("search_offset")) == 381
    for row in rows("search_offset"):
        assert store.offset_by_time(row["topic"], row["queueId"], row["timestamp"]) == row["offset"], row


def test_queries_by_key_answer_as_the_broker_did(store: StoreReader, directory: Path) -> None:
    assert len(rows("query_by_key")) == 142
    for row in rows("query_by_key"):
        answer = store.query(row["topic"], row["key"], row["maxNum"], row["begin"], row["end"])
        found = [
            {
                "topic": m.topic,
                "queueId": m.queue_id,
                "queueOffset": m.queue_offset,
                "commitLogOffset": m.physical_offset,
                "storeTimestamp": m.store_ms,
            }
            for m in answer.messages
        ]
        assert found == row["rawResult"], row
        assert (row["code"] == 0) == bool(answer.messages)
        if "recovered" not in str(directory):  # asked before the last record of that store was put
            assert row["ext"] == {
                "indexLastUpdatePhyoffset": str(answer.last_update_physical),
                "indexLastUpdateTimestamp": str(answer.last_update_ms),
            }


def test_offset_message_ids_lead_to_their_messages(store: StoreReader) -> None:
    for row in rows("view_by_offset_msg_id"):
        where = msg_id.decode(row["offsetMsgId"])
        message = store.message_at(where.physical_offset)
        assert message is not None
        assert offset_msg_id(message) == row["offsetMsgId"]
        read = message_row(message)
        assert [read[name] for name in ("topic", "queueId", "queueOffset")] == [
            row[name] for name in ("topic", "queueId", "queueOffset")
        ]
        assert read["msgId"] == row["msgIdOfResult"]


def test_the_store_agrees_with_itself(store: StoreReader, directory: Path) -> None:
    verdict = verify(store.root)
    assert verdict.findings == []
    assert verdict.sound
    checked = verdict.checked
    assert checked["records"] == checked["queue_units"] == RECORDS[directory.parent.name.removesuffix("0")]
    assert checked["index_entries"] >= 312
    assert checked["blanks"] == 1


def test_what_stands_beside_the_log_is_read(store: StoreReader, directory: Path) -> None:
    assert store.aborted == ("crash" in str(directory))
    assert store.lock().present
    checkpoint = store.checkpoint()
    assert checkpoint is not None
    assert (checkpoint.log_ms == 0) == ("crash" in str(directory))
    assert store.consumer_offsets()["GoldenBasic", "GID_golden_push"] == {0: 12, 1: 12, 2: 12, 3: 13}
    assert store.delay_offsets() == {1: 2, 2: 1, 3: 4}
    assert store.topics()["GoldenOrder"]["writeQueueNums"] == 4


def test_the_tool_prints_every_message_as_one_line_of_json(directory: Path) -> None:
    lines: list[str] = []
    assert mqstore.run(mqstore.StoreOptions("messages", str(directory), json=True), lines.append) == 0
    read = {(row["topic"], row["queueId"], row["queueOffset"]): row for row in map(json.loads, lines)}
    for row in (*rows("messages"), *rows("unpullable_messages")):
        assert_same(read[row["topic"], row["queueId"], row["queueOffset"]], row)
    assert len(read) == len(lines) == RECORDS[directory.parent.name.removesuffix("0")]


def test_the_local_offsets_of_a_broadcasting_client_are_read() -> None:
    table = loads((MANIFEST / "broadcast_local_offsets.json").read_bytes())["offsetTable"]
    offsets = {loads(key)["queueId"]: offset for key, offset in table.items()}
    assert offsets == {0: 2, 1: 2, 2: 2, 3: 2}
