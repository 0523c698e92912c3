"""Tables of Spark's catalog: their options at CREATE TABLE, and later in their schema."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from sandbox.pipeline.rocketmq import RocketMQ
from sandbox.pipeline.sources.catalog_source import CatalogSource
from sandbox.pipeline.sources.journal import JournalSource
from sandbox.pipeline.sources.store import StoreSource
from tests.pipeline.store_reads import Broker

CLUSTER = {"names": "127.0.0.1:9876", "subscribe": "orders"}
OF_CATALOG = {
    "provider": "rocketmq-store",
    "owner": "root",
    "location": "file:/srv",
    "external": "true",
    "comment": "c",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    broker = Broker(tmp_path / "a b")
    broker.put(3)
    broker.store.crash()
    return broker.root


def created(kind: type[CatalogSource], path: str | None = None, **options: str) -> Any:
    """Return the schema of a CREATE TABLE, whose options arrive as Spark 4.3 passes them."""
    passed = {**options, **{f"option.{name}": value for name, value in options.items()}, **OF_CATALOG}
    return kind(CaseInsensitiveDict(passed | ({} if path is None else {"path": path}))).schema()


def test_the_schema_of_a_table_holds_its_options(root: Path) -> None:
    schema = created(StoreSource, root.as_uri(), Columns="topic,body", endingOffsets='{"orders": {"0": 2}}')
    assert StructType.fromJson(schema.jsonValue()) == StructType(
        [
            StructField(
                "topic",
                StringType(),
                metadata={
                    "rocketmq-store.options": {
                        "columns": "topic,body",
                        "endingoffsets": '{"orders": {"0": 2}}',
                        "path": root.as_uri(),
                    }
                },
            ),
            StructField("body", BinaryType()),
        ]
    )
    reader = StoreSource(CaseInsensitiveDict()).reader(schema)
    assert [list(row) for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()] == [
        ["topic", "body"]
    ] * 2
    assert (
        StoreSource(CaseInsensitiveDict())
        .streamReader(created(StoreSource, root.as_uri(), startingOffsets="latest"))
        .asked.begins_late
    )


def test_options_of_a_query_win_and_those_of_another_source_stay_alone(root: Path) -> None:
    schema = created(StoreSource, root.as_uri(), topic="orders", failOnDataLoss="true")
    query = StoreSource(CaseInsensitiveDict({"failOnDataLoss": "false"})).options_with(schema)
    assert dict(query) == {"topic": "orders", "failondataloss": "false", "path": root.as_uri()}
    load = {"path": "/srv/other"}
    assert StoreSource(load).options_with(schema) == load
    assert RocketMQ(CLUSTER).options_with(created(RocketMQ, **CLUSTER, columns="body")) == CLUSTER


def test_an_unknown_option_of_a_table_is_refused_and_its_properties_are_not(root: Path) -> None:
    for kind, options in ((StoreSource, {}), (JournalSource, {}), (RocketMQ, CLUSTER)):
        with pytest.raises(ValueError, match=r"^No option colour\."):
            created(kind, colour="red", **options)
        with pytest.raises(ValueError, match=r"^No option location, owner\."):
            kind(CaseInsensitiveDict({"owner": "root", "location": "x", **options})).schema()
    table = StoreSource(CaseInsensitiveDict({**OF_CATALOG, "path": str(root), "colour": "red"}))
    assert table.schema().names[0] == "topic", "colour is of TBLPROPERTIES"


def test_a_table_keeps_no_key() -> None:
    with pytest.raises(ValueError, match="Remove secretKey: the schema of a table, which is readable"):
        created(RocketMQ, **CLUSTER, accessKey="a", secretKey="s")


def test_a_table_with_a_list_of_columns_has_no_options() -> None:
    for kind in (StoreSource, JournalSource, RocketMQ):
        with pytest.raises(ValueError, match=r"Spark passes no options to a table with a list of columns\.$"):
            kind(CaseInsensitiveDict()).reader(StructType([StructField("topic", StringType())]))
