"""Columns by a schema of one's own, and options and queues that are not there: told, not passed over."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import BinaryType, IntegerType, LongType, MapType, StringType, StructField, StructType

from sandbox.pipeline.sources.journal import JournalSource
from sandbox.pipeline.sources.store import StoreSource
from tests.pipeline.store_reads import Broker


@pytest.fixture
def root(tmp_path: Path) -> Path:
    broker = Broker(tmp_path)
    broker.put(3)
    broker.store.crash()
    return tmp_path


def schema(**columns: Any) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


def read(source: StoreSource, asked: StructType) -> list[dict[str, Any]]:
    reader = source.reader(asked)
    return [row for part in reader.partitions() for made in reader.read(part) for row in made.to_pylist()]


def test_a_schema_chooses_columns_in_its_own_order(root: Path) -> None:
    asked = schema(queueOffset=LongType(), topic=StringType(), queueId=IntegerType())
    rows = read(StoreSource({"path": str(root)}), asked)
    assert [list(row.items()) for row in rows] == [
        [("queueOffset", n), ("topic", "orders"), ("queueId", 0)] for n in range(3)]
    stream = StoreSource({"path": str(root)}).streamReader(asked)
    first = stream.initialOffset()
    parts = stream.partitions(first, stream.latestOffset(first, stream.getDefaultReadLimit()))
    assert [row for part in parts for made in stream.read(part) for row in made.to_pylist()] == rows


def test_the_name_of_a_store_is_a_column_like_others(root: Path) -> None:
    source = StoreSource({"stores": json.dumps({"a": str(root)})})
    assert read(source, schema(topic=StringType(), store=StringType())) == [{"topic": "orders", "store": "a"}] * 3
    assert read(source, schema(store=StringType())) == [{"store": "a"}] * 3
    assert read(source, schema(body=BinaryType(), properties=MapType(StringType(), StringType())))[0]["body"]


@pytest.mark.parametrize(("asked", "why"), [
    (schema(topic=StringType(), colour=StringType()), "There is no column colour. Columns are: topic, queueId, "),
    (schema(queueOffset=StringType()),
     "Column queueOffset is BIGINT, not STRING: read it as that, and cast it."),
])  # fmt: skip
def test_a_schema_of_columns_that_are_not_there_is_answered(root: Path, asked: StructType, why: str) -> None:
    with pytest.raises(ValueError) as said:
        StoreSource({"path": str(root)}).reader(asked)
    assert str(said.value).startswith(why)


@pytest.mark.parametrize(("options", "why"), [
    ({"starting": "latest", "Topics": "orders"},
     "There is no option Topics, starting. Did you mean topic and startingOffsets? Options are: path, stores, "),
    ({"startingOffsets": '{"orders": {"1": 2}}'},
     "Option startingOffsets names queue 1 of topic orders, and there is none."),
    ({"startingOffsets": '{"order": {"0": 2}}'},
     "Option startingOffsets names queue 0 of topic order, and there is none."),
])  # fmt: skip
def test_options_and_queues_that_are_not_there_are_told(root: Path, options: dict[str, str], why: str) -> None:
    source = StoreSource({"path": str(root), **options})
    for asked in (lambda: source.reader(None), lambda: source.streamReader(None).initialOffset()):
        with pytest.raises(ValueError) as said:
            asked()
        assert str(said.value).startswith(why)


@pytest.mark.parametrize("text", ["1", "[1]", "[[0]]", '["ab"]', "{", '{"a": [[0, 1]]}'])
def test_parts_of_logs_to_skip_are_pairs_of_positions(root: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"Option skippedLogs has to be JSON \[\[start, end\], \.\.\.\], and is not: "):
        StoreSource({"path": str(root), "skippedLogs": text}).reader(None)


def test_a_skipped_part_of_a_log_is_no_row_and_what_is_behind_it_is_one(root: Path) -> None:
    asked = schema(physicalOffset=LongType())
    places = [row["physicalOffset"] for row in read(StoreSource({"path": str(root)}), asked)]
    for store in ({"path": str(root)}, {"stores": json.dumps({"a": str(root)})}):
        skipped = [[0, places[1] + 1], [1 << 40, 1 << 41]]
        text = json.dumps(skipped if "path" in store else {"a": skipped})
        source = StoreSource({**store, "skippedLogs": text})
        assert read(source, asked) == [{"physicalOffset": places[2]}]
    with pytest.raises(ValueError, match="Option skippedLogs names store b, and there is none"):
        StoreSource({"stores": json.dumps({"a": str(root)}), "skippedLogs": '{"b": []}'}).reader(None)
    with pytest.raises(ValueError, match="option skippedLogs is for reading once"):
        StoreSource({"path": str(root), "skippedLogs": "[]"}).streamReader(None)


def test_an_option_is_known_in_any_case(root: Path) -> None:
    assert len(read(StoreSource({"path": str(root), "failondataloss": "false"}), schema(topic=StringType()))) == 3


def test_a_journal_s_options_are_known_too() -> None:
    with pytest.raises(ValueError, match=r"There is no option event\. Did you mean events\? Options are: path"):
        JournalSource({"path": "/", "event": "OffsetCommitted"}).schema()
