"""The job that seals, and jobs that read what it made: the same rows on Spark, whatever a broker does between."""

import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.pipeline.audits import table
from tests.pipeline.conftest import Run
from tests.pipeline.sealed_reads import rows_alone, spoil
from tests.pipeline.store_reads import Broker
from tests.pipeline.test_export import lines

pytestmark = pytest.mark.pipeline


def exported(run: Run, out: Path, **given: Any) -> list[dict[str, Any]]:
    *_, last = run("export", out=out, format="ndjson", **given)
    assert last["state"] == "done", last
    rows = [orjson.loads(line) for line in lines(out, "json")]
    return sorted(rows, key=lambda row: (row.get("store", ""), row["physicalOffset"]))


def test_a_closed_store_is_exported_from_its_sealed_files_alone(run: Run, golden: Path, tmp_path: Path) -> None:
    store, sealed = Path(shutil.copytree(golden, tmp_path / "a store [1]")), tmp_path / "sealed {1}"
    expected = exported(run, tmp_path / "plain", store=store)
    *_, last = run("seal", store=store, sealed=sealed)
    assert last["state"] == "done", last
    found = table(tmp_path / "out", "sealed")
    assert sum(row["rows"] for row in found) == len(expected)
    assert {row["state"] for row in found} == {"sealed"}
    assert exported(run, tmp_path / "through", store=store, sealed=sealed) == expected
    [topic, *_] = sorted({row["topic"] for row in expected})
    some = [row for row in expected if row["topic"] == topic and row["queueId"] in (0, 2)]
    assert exported(run, tmp_path / "some", store=store, sealed=sealed, topic=topic, queueId="0, 2") == some
    first = min((sealed / "broker-a").glob("*.parquet"))
    spoil(first)
    *_, last = run("export", store=store, sealed=sealed)
    assert last["why"].startswith(f"The sealed log file {first} is damaged or was deleted during the run. ")


def test_what_a_broker_writes_after_the_sealing_comes_from_its_log(run: Run, golden: Path, tmp_path: Path) -> None:
    broker = Broker(tmp_path / "live")
    broker.put(40)
    stores = {"live": broker.root, "golden": golden}
    *_, last = run("seal", stores=stores, sealed=tmp_path / "sealed")
    assert last["state"] == "done", last
    assert {row["state"] for row in table(tmp_path / "out", "sealed") if row["store"] == "live"} == {"sealed", "left"}
    broker.put(30, queue_id=1)
    through = exported(run, tmp_path / "through", stores=stores, sealed=tmp_path / "sealed")
    assert through == exported(run, tmp_path / "plain", stores=stores)
    assert sum(row["store"] == "live" for row in through) == 70
    for job, name in (("hot_keys", "queues"), ("latency", "percentiles")):
        for out, sealed in (("plain", None), ("through", tmp_path / "sealed")):
            run(job, stores=stores, out=tmp_path / job / out, sealed=sealed)
        plain, through = (sorted(table(tmp_path / job / out, name), key=str) for out in ("plain", "through"))
        assert plain == through
    broker.store.crash()


def test_a_table_is_kept_from_the_first_time_it_is_asked_for(run: Run, golden: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyiceberg")
    from tests.pipeline.sealed_tables import files_of, opened, scanned, sealed_files

    broker, sealed, out = Broker(tmp_path / "live"), tmp_path / "sealed", tmp_path / "out"
    broker.put(40)
    given: Any = {"stores": {"live": broker.root, "other": golden}, "sealed": sealed}
    assert run("seal", **given)[-1]["tables"].keys() == {"sealed"}
    assert run("seal", format="iceberg", **given)[-1]["state"] == "done"
    broker.put(30)
    *_, last = run("seal", **given)
    assert last["tables"]["iceberg"] == 2
    for row in table(out, "iceberg"):
        directory = sealed / row["store"]
        made = opened(directory)
        assert row == {
            "store": row["store"],
            "catalog": f"{directory}/iceberg/catalog.db",
            "rows": made.scan().count(),
            "files": len(made.inspect.files()),
            "snapshot": made.current_snapshot().snapshot_id,
        }
        assert files_of(directory) == sealed_files(directory)
    assert len(opened(sealed / "live").snapshots()) == 2
    assert scanned(sealed / "other") == rows_alone(golden)
    assert run("seal", format="csv", **given)[-1]["why"] == "Unknown value --format csv. Choose parquet, iceberg."
    broker.store.crash()


def test_it_is_not_guessed_where_sealed_files_go(run: Run, golden: Path) -> None:
    *_, last = run("seal", store=golden)
    assert last["why"] == ("The directory for sealed files of broker-a is not set. Choose one with --sealed.")
    *_, last = run("seal")
    assert last["why"].startswith("No store to seal. ")
