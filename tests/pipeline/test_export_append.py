"""An export that grows: what came since is appended, once, and columns may be directories."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from queueviz.runs.text_tables import lines_of
from sandbox.pipeline.runs.appended_results import OtherResult, check_unchanged
from sandbox.pipeline.runs.results import Manifest, manifest_of, publish
from tests.pipeline.audits import table
from tests.pipeline.conftest import Run
from tests.pipeline.store_reads import written
from tests.unit.store.stores import Stores, message

spark = pytest.mark.pipeline

Put = Callable[..., Path]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Puts messages with these bodies, and gives the store's directory as it lies there then."""
    stores = Stores()
    store = stores.opened()

    def more(*bodies: str, topic: str = "orders", queue_id: int = 0) -> Path:
        for body in bodies:
            stores.put(store, message(0, topic=topic, queue_id=queue_id, body=body.encode()))
        return written(stores.sim_disk.image(), tmp_path / "store")

    return more


def last_of(out: Path) -> Manifest:
    found = manifest_of(out)
    assert found is not None
    return found


def bodies(out: Path) -> list[str]:
    return sorted(row["body"].decode() for row in table(out, "messages"))


@spark
def test_what_came_since_is_appended_once(run: Run, put: Put, tmp_path: Path) -> None:
    def appended(store: Path, **options: str) -> Any:
        return run("export", store=store, format="parquet", append="true", **options)[-1]

    out = tmp_path / "out"
    assert appended(put("a", "b"))["tables"] == {"messages": 2}
    [file] = (out / last_of(out).tables["messages"].path).glob("*.parquet")
    number = file.stat().st_ino
    put("c")
    store = put("d", queue_id=1)
    assert appended(store)["tables"] == {"messages": 4}
    assert bodies(out) == ["a", "b", "c", "d"]
    assert number in {path.stat().st_ino for path in out.rglob("*.parquet")}, "files are links, not copies"
    files = sorted(path.name for path in out.rglob("*.parquet"))
    assert appended(store)["tables"] == {"messages": 4}
    assert sorted(path.name for path in out.rglob("*.parquet")) == files, "nothing new is no new file"
    assert [path.name for path in out.glob("run-*")] == [f"run-{last_of(out).run}"]

    before = last_of(out)
    for options, why in (
        ({"body": "text"}, f"The type of _malformed in {out} is none, in the new rows binary. Choose"),
        ({"partition_by": "topic"}, f"{out} is partitioned by nothing. Set the same partition_by, or"),
    ):
        assert appended(store, **options)["why"].startswith(why)
    reported = run("export", stores={"other": store}, format="parquet", append="true")[-1]
    assert reported["why"] == f"{out} was exported from other stores ({store}). Choose another --out."
    assert (last_of(out), bodies(out)) == (before, ["a", "b", "c", "d"])


@spark
def test_directories_by_topic_grow_too_and_columns_of_bodies_stay_what_they_were(
    run: Run, put: Put, tmp_path: Path
) -> None:
    out, options = tmp_path / "out", {"format": "parquet", "append": "true", "partition_by": "topic", "body": "json"}
    put('{"keys": 1}', topic="007")
    reported = run("export", store=put('{"far": 2.5}'), **options)[-1]
    assert reported["state"] == "done", reported
    reported = run("export", store=put('{"far": 3, "new": 1}', "x", topic="007"), **options)[-1]
    assert (reported["tables"], reported["malformed"]) == ({"messages": 4}, {"messages": 1})
    made = last_of(out).tables["messages"]
    assert made.partitions == {"topic": "string"}
    assert {path.parent.name for path in (out / made.path).rglob("*.parquet")} == {"topic=007", "topic=orders"}
    *_, total = lines_of(out, "messages", made, 9)
    assert total == f"messages: 4 rows, 1 of them malformed, in {out}"

    results = f'{{"export": "{out}"}}'
    reported = run(
        "sql",
        store=tmp_path / "store",
        results=results,
        out=tmp_path / "asked",
        query="SELECT topic, far, body_keys, string(_malformed) AS bad FROM export_messages ORDER BY ALL",
    )[-1]
    assert reported["state"] == "done", reported
    assert [tuple(row.values()) for row in table(tmp_path / "asked", "result")] == [
        ("007", None, None, "x"),
        ("007", None, 1, None),
        ("007", 3.0, None, None),
        ("orders", 2.5, None, None),
    ]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"append": "true"}, "append needs Parquet files. Set --format parquet or iceberg."),
        ({"partition_by": "topic"}, "partition_by needs Parquet files. Set --format parquet."),
        (
            {"format": "parquet", "partition_by": "queueOffset"},
            "queueOffset cannot be a partition directory. Columns for partition_by are: topic, queueId, tags, ",
        ),
        ({"format": "iceberg", "partition_by": "topic"}, "partition_by needs Parquet files. Set --format parquet."),
        ({"format": "parquet", "partition_by": "topic,topic"}, "partition_by has a column more than once."),
    ],
)
@spark
def test_what_cannot_be_appended_or_divided_is_said(run: Run, put: Put, options: dict[str, str], why: str) -> None:
    assert run("export", store=put("a"), **options)[-1]["why"].startswith(why)


def test_a_result_that_another_run_changed_meanwhile_is_not_appended_to(tmp_path: Path) -> None:
    publish(tmp_path, Manifest("export", "1", {}, {}, 0, {}))
    seen = last_of(tmp_path)
    check_unchanged(tmp_path, seen)
    publish(tmp_path, seen._replace(run="2"))
    with pytest.raises(OtherResult, match=r" at the same time\. Nothing was appended: run the job again\.$"):
        check_unchanged(tmp_path, seen)


@spark
def test_an_iceberg_table_has_a_snapshot_for_each_export_of_the_files_that_spark_wrote(
    run: Run, put: Put, tmp_path: Path
) -> None:
    catalogs = pytest.importorskip("pyiceberg.catalog.sql")
    out = tmp_path / "out"

    def exported(store: Path, **options: str) -> dict[str, int]:
        reported = run("export", store=store, format="iceberg", **options)[-1]
        assert reported["state"] == "done", reported
        return dict(reported["tables"])

    def read() -> Any:
        catalog = catalogs.SqlCatalog("queueviz", uri=f"sqlite:///{out}/iceberg/catalog.db")
        table = catalog.load_table("queueviz.messages")
        found = sorted(row["body"].decode() for row in table.scan().to_arrow().to_pylist())
        catalog.engine.dispose()
        return table, found

    store = put("a", "b")
    assert exported(store, append="true") == {"messages": 2}
    assert exported(put("c"), append="true") == {"messages": 3}
    assert exported(store, append="true") == {"messages": 3}
    table, found = read()
    assert (found, len(table.snapshots())) == (["a", "b", "c"], 2)
    assert bodies(out) == found
    files = table.inspect.files().column("file_path").to_pylist()
    assert sorted(files) == sorted(f"file://{path}" for path in out.rglob("*.parquet")), "no copy"
    assert run("export", store=store, format="parquet", append="true")[-1]["why"] == (
        f"{out} does not have the format parquet. Choose another --out or the earlier --format."
    )
    assert exported(put("d")) == {"messages": 4}
    assert read()[1] == bodies(out) == ["a", "b", "c", "d"]
    assert exported(store, topic="nothing") == {"messages": 0}
    assert read()[1] == []
