"""The lag of a stream from its progress reports."""

import json
from types import SimpleNamespace
from typing import Any

from sandbox.pipeline.sources.lag_listener import LagListener, StreamLag


def event(name: str | None, *sources: tuple[object, object]) -> Any:
    return SimpleNamespace(
        progress=SimpleNamespace(
            name=name,
            id="id-1",
            batchId=7,
            sources=[
                SimpleNamespace(latestOffset=latest, endOffset=end, inputRowsPerSecond=5.0, processedRowsPerSecond=9.0)
                for latest, end in sources
            ],
        )
    )


def test_each_source_with_offsets_by_queue_is_reported_after_a_batch() -> None:
    reports: list[StreamLag] = []
    listener = LagListener(reports.append)
    latest, end = json.dumps({"orders": {"0": 12, "1": 5}}), json.dumps({"orders": {"0": 10, "1": 5}})
    listener.onQueryProgress(event("audit", (latest, end), (None, '{"logOffset":3}'), ("17", "12"), (latest, latest)))
    assert reports == [StreamLag("audit", 7, 0, 2, 5.0, 9.0), StreamLag("audit", 7, 3, 0, 5.0, 9.0)]


def test_a_stream_without_a_name_is_reported_by_its_id() -> None:
    reports: list[StreamLag] = []
    LagListener(reports.append).onQueryProgress(event(None, ('{"a": {"0": 1}}', '{"a": {}}')))
    assert [(lag.query, lag.behind) for lag in reports] == [("id-1", 1)]
