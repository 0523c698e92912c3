"""The columns `timestamp` and `headers` of the sources, and which columns a read has."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sandbox.journal.events import OffsetCommitted, SandboxSlept
from sandbox.pipeline.sealed import reading
from sandbox.pipeline.sources import records
from sandbox.pipeline.sources.cluster_options import schema_of
from sandbox.pipeline.sources.journal import JournalSource
from sandbox.pipeline.sources.records import SCHEMA, rows_of
from sandbox.pipeline.sources.source_columns import YEAR_1_MS, YEAR_10000_MS, instants
from sandbox.pipeline.sources.store import StoreSource
from tests.pipeline.journals import BEGIN_MS, write_journal

COMMIT = OffsetCommitted("g", "orders", "broker-a", 0, 7, None, "timer", "c-1")


def rows(source: Any) -> list[dict[str, Any]]:
    reader = source.reader(None)
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


def names(ddl: str) -> list[str]:
    return [column.split()[0].strip("`") for column in re.sub("<.*?>+", "", ddl).split(", ")]


def test_the_store_time_is_a_column_of_instants_behind_its_milliseconds(golden: Path) -> None:
    times = rows(StoreSource({"path": str(golden), "columns": "storeTimestamp,timestamp"}))
    assert len(times) > 100
    for row in times:
        assert row["timestamp"] == datetime.fromtimestamp(row["storeTimestamp"] / 1_000, UTC)
    columns = names(StoreSource({"path": str(golden)}).schema())
    assert columns == [*SCHEMA.names[:11], "timestamp", *SCHEMA.names[11:]]
    assert columns[10] == "storeTimestamp"
    assert schema_of({"names": "a:1", "subscribe": "T"}).names[10:12] == ["storeTimestamp", "timestamp"]


def test_an_instant_that_python_cannot_show_is_null() -> None:
    times = np.array([YEAR_1_MS - 1, YEAR_1_MS, -1, 0, YEAR_10000_MS - 1, YEAR_10000_MS, 1 << 62, -(1 << 63)])
    made = instants(times)
    assert made.type == pa.timestamp("us", "UTC")
    assert [None if one is None else one.year for one in made.to_pylist()] == [None, 1, 1969, 1970, 9999, *[None] * 3]
    assert len(instants(np.empty(0, np.int64))) == 0


def test_a_column_that_is_not_asked_for_is_not_computed(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    for name in ("instants", "headers_of"):
        monkeypatch.setattr(records, name, refuse)
    assert rows(StoreSource({"path": str(golden), "columns": "topic,properties,storeTimestamp"}))
    with pytest.raises(AssertionError):
        rows(StoreSource({"path": str(golden), "columns": "timestamp"}))


def test_jobs_and_sealed_files_keep_the_stored_columns(golden: Path) -> None:
    assert names(reading.ROWS) == SCHEMA.names
    assert all(batch.schema.names == SCHEMA.names for batch in rows_of(golden))
    assert not {"timestamp", "headers"} & set(SCHEMA.names)


def test_headers_are_the_properties_with_values_of_bytes(golden: Path) -> None:
    source = StoreSource({"path": str(golden), "columns": "properties", "includeHeaders": "true"})
    assert names(source.schema()) == ["properties", "headers"]
    assert source.schema().endswith(", headers ARRAY<STRUCT<key: STRING, value: BINARY>>")
    for row in rows(source):
        assert [(one["key"], one["value"].decode()) for one in row["headers"]] == row["properties"]
    assert any(row["headers"] for row in rows(source))
    everything = StoreSource({"path": str(golden), "includeHeaders": "true"})
    assert everything.schema().endswith("sysFlag INT, headers ARRAY<STRUCT<key: STRING, value: BINARY>>")
    assert "headers" not in StoreSource({"path": str(golden)}).schema()
    with pytest.raises(ValueError, match="Option includeHeaders must be true or false, not yes"):
        StoreSource({"path": str(golden), "includeHeaders": "yes"}).schema()


def test_a_journal_has_instants_behind_its_milliseconds(tmp_path: Path) -> None:
    journal = {"path": str(write_journal(tmp_path, [SandboxSlept("idle"), COMMIT]))}
    assert names(JournalSource(dict(journal)).schema()) == ["sandbox", "seq", "at_ms", "timestamp", "event", "fields"]
    at = [datetime.fromtimestamp((BEGIN_MS + 100 * seq) / 1_000, UTC) for seq in (0, 1)]
    assert [row["timestamp"] for row in rows(JournalSource(dict(journal)))] == at
    typed = {**journal, "events": "OffsetCommitted"}
    [row] = rows(JournalSource(dict(typed)))
    assert (row["timestamp"], row["offset"]) == (at[1], 7)
    [row] = rows(JournalSource({**typed, "columns": "offset"}))
    assert list(row) == ["sandbox", "seq", "at_ms", "event", "offset"]
    [row] = rows(JournalSource({**typed, "columns": "timestamp,offset"}))
    assert list(row) == ["sandbox", "seq", "at_ms", "timestamp", "event", "offset"]
    assert "timestamp" not in JournalSource({**journal, "columns": "fields"}).schema()
    with pytest.raises(ValueError, match="Option columns needs the option events"):
        JournalSource({**journal, "columns": "offset"}).schema()


def test_streams_have_the_same_columns(golden: Path) -> None:
    stream = StoreSource({"stores": json.dumps({"a": str(golden)}), "columns": "store,timestamp"}).streamReader(None)
    first = stream.initialOffset()
    parts = stream.partitions(first, stream.latestOffset(first, stream.getDefaultReadLimit()))
    batches = [batch for part in parts for batch in stream.read(part)]
    assert {tuple(batch.schema.names) for batch in batches} == {("store", "timestamp")}
