"""Filters of one table, one query after the other, and what all of a query's references have in common (case C21)."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from sandbox.journal.events import SandboxSlept
from sandbox.pipeline.sources.records import rows_of
from sandbox.pipeline.sources.store import StoreSource
from sandbox.pipeline.spark import read_here
from tests.pipeline.journals import write_journal
from tests.pipeline.random_queries import TOPICS, by_duckdb, query_of
from tests.pipeline.spark_streams import Streams, streams
from tests.pipeline.store_reads import written
from tests.unit.store.stores import Stores, message
from tests.wide import seeds

pytestmark = pytest.mark.pipeline


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streams]:
    with streams(tmp_path_factory.mktemp("spark")) as made:
        yield made


def test_a_filter_changes_no_later_answer(spark: Streams, golden: Path, tmp_path: Path) -> None:
    topics = Counter(row["topic"] for batch in rows_of(golden, ["topic"]) for row in batch.to_pylist())
    [(topic, n)] = topics.most_common(1)
    found = spark.ask(how="counts", format="rocketmq-store", path=str(golden), where=f"topic = '{topic}'")
    assert found == {"counts": [topics.total(), n, topics.total()]}
    journal = write_journal(tmp_path, [SandboxSlept("idle")] * 30)
    found = spark.ask(how="counts", format="rocketmq-journal", path=str(journal), where="seq < 5")
    assert found == {"counts": [30, 5, 30]}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of four log files, with messages in twelve queues; smaller files would cost most of the time."""
    stores = Stores(commit_log_file_bytes=1 << 16, consume_queue_file_entries=1_000)
    store = stores.opened()
    for number in range(1_050):
        stores.put(store, message(number, topic=TOPICS[number % 3], queue_id=number // 3 % 4))
    store.close()
    return written(stores.sim_disk.image(), tmp_path_factory.mktemp("many"))


def duckdb_answers(root: Path, seeds: range) -> Iterator[list[list[Any]]]:
    table = pa.Table.from_batches(rows_of(root))
    with duckdb.connect() as base:
        base.register("messages", table)
        for seed in seeds:
            rows = base.sql(by_duckdb(query_of(seed))).fetchall()
            yield sorted((list(row) for row in rows), key=str)


@pytest.mark.parametrize("part", seeds(1, 10))
def test_random_queries_have_the_answers_of_another_engine(spark: Streams, many: Path, part: int) -> None:
    """Twenty queries a part."""
    numbers = range(20 * part, 20 * part + 20)
    asked = {"first": str(numbers.start), "beyond": str(numbers.stop)}
    report = spark.ask(how="queries", format="rocketmq-store", path=str(many), **asked)
    expected = list(duckdb_answers(many, numbers))
    wrong = {
        query_of(seed): (rows, answer)
        for seed, rows, answers in zip(numbers, expected, report["answers"], strict=True)
        for answer in answers
        if answer != rows
    }
    assert not wrong
    assert sum(bool(rows) for rows in expected) >= len(numbers) // 3, "many have rows"


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("SELECT * FROM messages WHERE topic = 'a'", {"topic": "a"}),
        (
            "SELECT * FROM (SELECT topic AS t, queueId FROM messages) WHERE t IN ('a', 'b') AND queueId = 3",
            {"topic": "a,b", "queueId": "3"},
        ),
        ("SELECT * FROM messages WHERE topic = 'a' AND topic IN ('b', 'a')", {"topic": "a"}),
        (
            "SELECT * FROM messages WHERE topic = 'a' UNION ALL SELECT * FROM messages WHERE topic = 'b'",
            {"topic": "a,b"},
        ),
        ("SELECT * FROM messages WHERE topic = 'a' UNION ALL SELECT * FROM messages", {}),
        ("SELECT (SELECT count(*) FROM messages) FROM messages WHERE topic = 'a'", {}),
        ("SELECT * FROM messages WHERE topic = 'a' OR queueId = 3", {}),
        ("SELECT * FROM messages WHERE topic <> 'a' AND upper(topic) = 'B'", {}),
        ("SELECT * FROM messages WHERE topic = 'a,b'", {}),
        ("SELECT * FROM messages WHERE topic = ' a'", {}),
        ("SELECT count(*) FROM (SELECT * FROM messages LIMIT 5) WHERE topic = 'a'", {}),
        ("SELECT * FROM messages m LEFT JOIN messages n USING (queueOffset) WHERE m.topic = 'a'", {}),
        (
            "SELECT * FROM messages WHERE queueId IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)",
            {"queueId": "0,1,10,11,2,3,4,5,6,7,8,9"},
        ),
    ],
)
def test_what_all_references_ask_for_narrows_the_source(
    spark: Streams, golden: Path, query: str, options: dict[str, str]
) -> None:
    found = spark.ask(how="narrowed", format="rocketmq-store", path=str(golden), query=query)
    assert found == {"options": options}


def test_a_small_run_reads_here_what_spark_reads_in_its_workers(spark: Streams, golden: Path, tmp_path: Path) -> None:
    rows = sum(batch.num_rows for batch in rows_of(golden, ["topic"]))
    for options, number in (
        ({"path": str(golden)}, rows),
        ({"stores": json.dumps({"a": str(golden), "b": str(golden)}), "columns": "properties,queueOffset"}, 2 * rows),
        ({"path": str(golden), "topic": "no such topic"}, 0),
    ):
        report = spark.ask(how="here", format="rocketmq-store", **options)
        assert (report["rows"], report["is_here"], report["is_equal"]) == (number, number > 0, True), report
    journal = write_journal(tmp_path, [SandboxSlept("idle")] * 30)
    for events, column in (("", "fields"), ("SandboxSlept", "reason"), ("SandboxWoken", "at_ms")):
        report = spark.ask(
            how="here", format="rocketmq-journal", path=str(journal), **({"events": events} if events else {})
        )
        assert (report["rows"], report["is_equal"]) == (0 if events == "SandboxWoken" else 30, True), report
        assert column in report["columns"]


def test_rows_that_expand_too_much_are_left_to_spark(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_here, "MAX_BYTES", 1_000)
    assert read_here._read(StoreSource({"path": str(golden)})) is None
