"""Tables and views of Spark's catalog, and several directories in one `load`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.journal.events import SandboxSlept
from tests.pipeline.broker_process import broker_with
from tests.pipeline.journals import write_journal
from tests.pipeline.spark_streams import Streams, streams
from tests.pipeline.store_reads import Broker

pytestmark = pytest.mark.pipeline


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streams]:
    with streams(tmp_path_factory.mktemp("spark")) as process:
        yield process


def sql(spark: Streams, statement: str) -> Any:
    """Return the rows of a statement, or the sentence that refuses it."""
    report = spark.ask(how="sql", format="sql", statement=statement)
    return report.get("table", report.get("why"))


def store(root: Path, messages: int) -> Path:
    broker = Broker(root)
    broker.put(messages)
    broker.store.crash()
    return root


def test_a_table_of_a_store_is_read_with_its_options_and_not_written(spark: Streams, tmp_path: Path) -> None:
    root = store(tmp_path / "a b%20" / "broker-a", 3)
    options = f"path '{root}', columns 'topic,queueOffset'"
    assert sql(spark, f"CREATE TABLE s USING `rocketmq-store` OPTIONS ({options}) TBLPROPERTIES ('k' = 'v')") == []
    assert sql(spark, "SELECT * FROM s WHERE queueOffset > 0") == [["orders", "1"], ["orders", "2"]]
    assert sql(spark, """SELECT * FROM s WITH (endingOffsets = '{"orders": {"0": 1}}')""") == [["orders", "0"]]
    assert sql(spark, "INSERT INTO s VALUES ('orders', 4)") == (
        "Spark cannot write to a store: only its broker does. Send rows to a topic with the format rocketmq."
    )
    stores = json.dumps({"x": str(root), "y": str(store(tmp_path / "y", 2))})
    assert sql(spark, f"CREATE TABLE both USING `rocketmq-store` OPTIONS (stores '{stores}') COMMENT 'c'") == []
    assert sql(spark, "SELECT store, count(*) FROM both GROUP BY store ORDER BY store") == [["x", "3"], ["y", "2"]]
    assert sql(spark, f"CREATE TEMPORARY VIEW v USING `rocketmq-store` OPTIONS ({options})") == []
    assert sql(spark, "DROP TABLE s") == sql(spark, "DROP TABLE both") == []
    assert sql(spark, "SELECT count(*) FROM v") == [["3"]], "dropping a table deletes no store"
    assert sql(spark, f"CREATE TABLE typo USING `rocketmq-store` OPTIONS (path '{root}', colums 'topic')").startswith(
        "No option colums. Did you mean columns? Options are: path, stores"
    )
    assert sql(spark, f"CREATE TABLE listed (topic STRING) USING `rocketmq-store` OPTIONS (path '{root}')") == []
    assert sql(spark, "SELECT * FROM listed") == (
        "No store. Set load(DIR), or the option stores as JSON {name: directory}. "
        "Spark passes no options to a table with a list of columns."
    )
    assert sql(spark, "CREATE TABLE far USING `rocketmq-store` OPTIONS (path 's3a://bucket/store')") == []
    assert sql(spark, "SELECT * FROM far") == (
        "s3a://bucket/store is not a local directory. Mount or copy it, and set its local path."
    )


def test_a_table_of_a_journal_is_read_and_not_written(spark: Streams, tmp_path: Path) -> None:
    journal = write_journal(tmp_path / "s" / "journal", [SandboxSlept("idle")] * 2)
    assert sql(spark, f"CREATE EXTERNAL TABLE j USING `rocketmq-journal` LOCATION '{journal}'") == []
    assert sql(spark, "SELECT sandbox, seq FROM j ORDER BY seq") == [["s", "0"], ["s", "1"]]
    assert sql(spark, "INSERT INTO j SELECT * FROM j") == "Spark cannot write to a journal: only its sandbox does."


def test_rows_inserted_into_a_table_of_a_topic_are_its_messages(spark: Streams, tmp_path: Path) -> None:
    with broker_with({"orders": 2}, tmp_path) as address:
        options = f"names '{address}', subscribe 'orders', columns 'topic,queueId,body'"
        assert sql(spark, f"CREATE TABLE k USING rocketmq OPTIONS ({options})") == []
        assert sql(spark, "INSERT INTO k VALUES ('orders', 1, CAST('a' AS BINARY))") == []
        assert sql(spark, "SELECT topic, queueId, CAST(body AS STRING) FROM k") == [["orders", "1", "a"]]
        refusal = sql(spark, f"CREATE TABLE key USING rocketmq OPTIONS ({options}, accessKey 'a', secretKey 'b')")
        assert refusal.startswith("Remove secretKey: ")


def test_several_directories_are_read_at_once(spark: Streams, tmp_path: Path) -> None:
    paths = [store(tmp_path / "x" / "broker-a", 1), store(tmp_path / "y 1" / "broker-a", 2)]
    report = spark.ask(how="load", format="rocketmq-store", paths=json.dumps([str(paths[0]), paths[1].as_uri()]))
    assert report == {"table": [["x/broker-a", 1], ["y 1/broker-a", 2]]}
    journals = [write_journal(tmp_path / name / "journal", [SandboxSlept("idle")]) for name in ("a", "b")]
    report = spark.ask(how="load", format="rocketmq-journal", paths=json.dumps([str(path) for path in journals]))
    assert report == {"table": [["a", 1], ["b", 1]]}
