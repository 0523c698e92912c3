"""Columns by a custom schema, and refused options and queues that do not exist."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import BinaryType, IntegerType, LongType, MapType, StringType, StructField, StructType

from sandbox.kernel.errors import SandboxError
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
        (schema(topic=StringType(), colour=StringType()), "No column colour. Columns are: topic, queueId, "),
        (
            schema(queueOffset=StringType()),
            "Column queueOffset is BIGINT, not STRING. Read it as that type and cast it.",
        ),
    ],
)
def test_a_schema_of_columns_that_are_not_there_is_answered(root: Path, asked: StructType, why: str) -> None:
    with pytest.raises(ValueError) as said:
        StoreSource({"path": str(root)}).reader(asked)
    assert str(said.value).startswith(why)


WRONG = [
    (
        {"starting": "latest", "Topics": "orders"},
        "No option Topics, starting. Did you mean topic and startingOffsets? Options are: path, stores, ",
    ),
    ({"startingTimestmp": "1"}, "No option startingTimestmp. Did you mean startingTimestamp? Options are: "),
    (
        {"stores": "[]", "path": ""},
        "Option stores must be a JSON object of names and directories, with at least one store.",
    ),
    ({"stores": "{}"}, "Set load(DIR) or the option stores, not both."),
    ({"failOnDataLoss": "no"}, "Option failOnDataLoss must be true or false, not no."),
    ({"queueId": "x"}, "Option queueId must be a number of 0 or more, not x."),
    (
        {"startingOffsets": '{"orders": {"0": -3}}'},
        "Option startingOffsets must be earliest, latest or JSON "
        '{topic: {"0": offset}}: queue 0 of topic orders has the invalid offset -3.',
    ),
    ({"startingTimestamp": "noon"}, "Option startingTimestamp must be a number of 0 or more, not noon."),
    ({"startingTimestamp": "1", "startingOffsets": "earliest"}, "Set startingTimestamp or startingOffsets, not both."),
    ({"startingOffsetsByTimestampStrategy": "skip"}, "Option startingOffsetsByTimestampStrategy must be latest or e"),
    (
        {"startingTimestamp": "1", "startingOffsetsByTimestamp": "{}"},
        "Set startingTimestamp or startingOffsetsByTimestamp, not both.",
    ),
    (
        {"startingOffsetsByTimestamp": '{"orders": {"0": -2}}'},
        'Option startingOffsetsByTimestamp must be JSON {topic: {"0": time}} with times in ms: -2 is not a time in ms',
    ),
    (
        {"startingOffsetsByTimestamp": '{"orders": [1]}'},
        'Option startingOffsetsByTimestamp must be JSON {topic: {"0": time}} with times in ms: [1] is not an object.',
    ),
    ({"startingOffsets": '{"orders": {"0": true}}'}, "Option startingOffsets must be earliest, latest or JSON {topic"),
    ({"topic": "orders", "subscribePattern": "o.*"}, "Set topic or subscribePattern, not both."),
    ({"subscribe": " , "}, "Option subscribe names no topic. Write topics, separated by commas."),
    ({"includeHeaders": "1", "columns": "topic"}, "Option includeHeaders must be true or false, not 1."),
    ({"kafka.bootstrap.servers": "a:9092"}, "No option kafka.bootstrap.servers. A store is read from files: load(DIR)"),
    ({"assign": "{}"}, "No option assign. Set topic and queueId, comma-separated lists."),
    ({"fetchOffset.numRetries": "3"}, "No option fetchOffset.numRetries. A broker that does not answer is retried f"),
    ({"minPartitions": "1000000"}, "Option minPartitions is 1000000; the maximum is 100000."),
]
WRONG_NOW = [
    (
        {"startingOffsetsByTimestamp": '{"order": {"0": 2}}'},
        "Option startingOffsetsByTimestamp names queue 0 of topic ",
    ),
    ({"subscribe": "order"}, "No topic order in the store. Did you mean orders?"),
    (
        {"startingOffsets": '{"orders": {"1": 2}}'},
        "Option startingOffsets names queue 1 of topic orders, which does not exist.",
    ),
    (
        {"startingOffsets": '{"order": {"0": 2}}'},
        "Option startingOffsets names queue 0 of topic order, which does not exist.",
    ),
]
WRONG_OF_A_STREAM = [
    ({"endingTimestamp": "5"}, "Option endingTimestamp needs a batch read: a stream has no end."),
    ({"endingOffsetsByTimestamp": "{}"}, "Option endingOffsetsByTimestamp needs a batch read: a stream has no end."),
    ({"endingOffsets": "latest"}, "Option endingOffsets needs a batch read: a stream has no end."),
    (
        {"maxOffsetsPerTrigger": "0"},
        "Option maxOffsetsPerTrigger must be 1 or more: with 0 no message would be read.",
    ),
    ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"}, "Option minOffsetsPerTrigger (9) is more than maxOff"),
    ({"maxTriggerDelay": "soon"}, "Option maxTriggerDelay must be a duration such as 30s, 15m or 1h, not soon."),
]
OUT_OF_A_BATCH = [
    {"startingOffsets": "latest"},
    {"startingOffsets": '{"orders": {"0": -1}}'},
    {"endingOffsets": "earliest"},
    {"endingOffsets": '{"orders": {"0": -2}}'},
]
WRONG_OF_READING_ONCE = [
    *(
        ({option: "5"}, f"Option {option} needs a stream: a batch read has no triggers.")
        for option in ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
    ),
    *((options, "A batch read begins at earliest and ends at latest, or at off") for options in OUT_OF_A_BATCH),
    (
        {"startingTimestamp": "5", "endingOffsetsByTimestamp": '{"orders": {"0": 4}}'},
        "The read starts at time 5, after its end at time 4. Choose a start before the end.",
    ),
    ({"endingTimestamp": "5", "endingOffsets": "latest"}, "Set endingTimestamp or endingOffsets, not both."),
    ({"endingTimestamp": "later"}, "Option endingTimestamp must be a number of 0 or more, not later."),
]


def why_refused(call: Callable[[], object]) -> str:
    with pytest.raises((ValueError, SandboxError)) as error:
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
        "No store. Set load(DIR), or the option stores as JSON {name: directory}."
    )
    assert why_refused(lambda: asked_of({"path": "/no"})) == (
        "/no is not a store: it has no directory commitlog. Choose the store directory of a broker."
    )


@pytest.mark.parametrize("text", ["1", "[1]", "[[0]]", '["ab"]', "{", '{"a": [[0, 1]]}'])
def test_parts_of_logs_to_skip_are_pairs_of_positions(root: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"Option skippedLogs must be JSON \[\[start, end\], \.\.\.\]: "):
        StoreSource({"path": str(root), "skippedLogs": text}).reader(None)


def test_a_skipped_part_of_a_log_is_no_row_and_what_is_behind_it_is_one(root: Path) -> None:
    asked = schema(physicalOffset=LongType())
    places = [row["physicalOffset"] for row in read(StoreSource({"path": str(root)}), asked)]
    for store in ({"path": str(root)}, {"stores": json.dumps({"a": str(root)})}):
        skipped = [[0, places[1] + 1], [1 << 40, 1 << 41]]
        text = json.dumps(skipped if "path" in store else {"a": skipped})
        source = StoreSource({**store, "skippedLogs": text})
        assert read(source, asked) == [{"physicalOffset": places[2]}]
    with pytest.raises(ValueError, match="Option skippedLogs names store b, which does not exist"):
        StoreSource({"stores": json.dumps({"a": str(root)}), "skippedLogs": '{"b": []}'}).reader(None)
    with pytest.raises(ValueError, match="Option skippedLogs needs a batch read"):
        StoreSource({"path": str(root), "skippedLogs": "[]"}).streamReader(None)


def test_an_option_is_known_in_any_case(root: Path) -> None:
    assert len(read(StoreSource({"path": str(root), "failondataloss": "false"}), schema(topic=StringType()))) == 3


def test_a_journal_s_options_are_known_too() -> None:
    with pytest.raises(ValueError, match=r"No option event\. Did you mean events\? Options are: path"):
        JournalSource({"path": "/", "event": "OffsetCommitted"}).schema()
