"""Columns by a schema of one's own, and options and queues that are not there: told, not passed over."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import BinaryType, IntegerType, LongType, MapType, StringType, StructField, StructType

from sandbox.kernel.errors import StoreError
from sandbox.pipeline.sources.journal import JournalSource
from sandbox.pipeline.sources.store import StoreSource
from sandbox.pipeline.sources.store_stream import asked_of
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
        [("queueOffset", n), ("topic", "orders"), ("queueId", 0)] for n in range(3)
    ]
    stream = StoreSource({"path": str(root)}).streamReader(asked)
    first = stream.initialOffset()
    parts = stream.partitions(first, stream.latestOffset(first, stream.getDefaultReadLimit()))
    assert [row for part in parts for made in stream.read(part) for row in made.to_pylist()] == rows


def test_the_name_of_a_store_is_a_column_like_others(root: Path) -> None:
    source = StoreSource({"stores": json.dumps({"a": str(root)})})
    assert read(source, schema(topic=StringType(), store=StringType())) == [{"topic": "orders", "store": "a"}] * 3
    assert read(source, schema(store=StringType())) == [{"store": "a"}] * 3
    assert read(source, schema(body=BinaryType(), properties=MapType(StringType(), StringType())))[0]["body"]


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (schema(topic=StringType(), colour=StringType()), "There is no column colour. Columns are: topic, queueId, "),
        (schema(queueOffset=StringType()), "Column queueOffset is BIGINT, not STRING: read it as that, and cast it."),
    ],
)
def test_a_schema_of_columns_that_are_not_there_is_answered(root: Path, asked: StructType, why: str) -> None:
    with pytest.raises(ValueError) as said:
        StoreSource({"path": str(root)}).reader(asked)
    assert str(said.value).startswith(why)


WRONG = [
    (
        {"starting": "latest", "Topics": "orders"},
        "There is no option Topics, starting. Did you mean topic and startingOffsets? Options are: path, stores, ",
    ),
    ({"startingTimestmp": "1"}, "There is no option startingTimestmp. Did you mean startingTimestamp? Options are: "),
    (
        {"stores": "[]", "path": ""},
        "Option stores has to be a JSON object of names and directories, with one store at least.",
    ),
    ({"stores": "{}"}, "Name the store by load(DIR) or several by option stores, not both."),
    ({"failOnDataLoss": "no"}, "Option failOnDataLoss has to be true or false, and no is neither."),
    ({"queueId": "x"}, "Option queueId has to be a number of 0 or more, and x is none."),
    (
        {"startingOffsets": '{"orders": {"0": -3}}'},
        "Option startingOffsets has to be earliest, latest or JSON "
        '{topic: {"0": offset}}, and is not: queue 0 of topic orders stands at -3.',
    ),
    ({"startingTimestamp": "noon"}, "Option startingTimestamp has to be a number of 0 or more, and noon is none."),
    ({"startingTimestamp": "1", "startingOffsets": "earliest"}, "Name where to begin by startingTimestamp or by sta"),
    ({"startingOffsetsByTimestampStrategy": "skip"}, "Option startingOffsetsByTimestampStrategy has to be latest or e"),
    ({"minPartitions": "1000000"}, "Option minPartitions is 1000000; more than 100000 are not made."),
]
WRONG_NOW = [
    (
        {"startingOffsets": '{"orders": {"1": 2}}'},
        "Option startingOffsets names queue 1 of topic orders, and there is none.",
    ),
    (
        {"startingOffsets": '{"order": {"0": 2}}'},
        "Option startingOffsets names queue 0 of topic order, and there is none.",
    ),
]
WRONG_OF_A_STREAM = [
    ({"endingOffsets": "latest"}, "A stream has no end: option endingOffsets is for reading once."),
    (
        {"maxOffsetsPerTrigger": "0"},
        "Option maxOffsetsPerTrigger has to be 1 or more: with 0 nothing would ever be read.",
    ),
    ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"}, "Option minOffsetsPerTrigger (9) is more than maxOff"),
    ({"maxTriggerDelay": "soon"}, "Option maxTriggerDelay has to be a time such as 30s, 15m or 1h, and soon is none."),
]
WRONG_OF_READING_ONCE = [
    ({option: "5"}, f"Reading once has no triggers: option {option} is for a stream.")
    for option in ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
]


def why_refused(call: Callable[[], object]) -> str:
    with pytest.raises((ValueError, StoreError)) as error:
        call()
    return str(error.value)


@pytest.mark.parametrize(("options", "why"), [*WRONG, *WRONG_NOW, *WRONG_OF_READING_ONCE])
def test_wrong_options_of_reading_once_are_refused(root: Path, options: dict[str, str], why: str) -> None:
    asked = {name: value for name, value in {"path": str(root), **options}.items() if value}
    assert why_refused(lambda: StoreSource(asked).reader(None)).startswith(why)


@pytest.mark.parametrize(("options", "why"), [*WRONG, *WRONG_NOW, *WRONG_OF_A_STREAM])
def test_wrong_options_of_a_stream_are_refused(root: Path, options: dict[str, str], why: str) -> None:
    asked = {name: value for name, value in {"path": str(root), **options}.items() if value}
    assert why_refused(lambda: StoreSource(asked).streamReader(None).initialOffset()).startswith(why)


def test_a_store_has_to_be_named_and_to_be_one() -> None:
    assert why_refused(lambda: asked_of({})) == (
        "Name the store: load(DIR), or several by option stores, as JSON {name: directory}."
    )
    assert why_refused(lambda: asked_of({"path": "/no"})) == (
        "/no is no store: it has no directory commitlog. Name the directory a broker writes to."
    )


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
