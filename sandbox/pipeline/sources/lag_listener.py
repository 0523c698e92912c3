"""Lag and rates of streams, reported after each batch: Spark 4.3 has no metrics for Python sources."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from sandbox.pipeline.sources.progress import behind


class StreamLag(NamedTuple):
    """The lag of one source of a stream at the end of a batch.

    `query`: the name of the stream, or its id.  `source`: the number of the source in the query.  `behind`: messages
    that were stored and not yet read when the batch was planned.
    """

    query: str
    batch: int
    source: int
    behind: int
    input_rows_per_s: float
    processed_rows_per_s: float


class LagListener(StreamingQueryListener):
    """Reporter of the lag of all streams of a session: `spark.streams.addListener(LagListener(print))`.

    It reports sources with offsets by queue or partition: `rocketmq-store`, `rocketmq` and Spark's Kafka source.
    """

    def __init__(self, report: Callable[[StreamLag], object]) -> None:
        self._on_lag = report

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        progress = event.progress
        for number, source in enumerate(progress.sources):
            if (count := _behind(source)) is not None:
                self._on_lag(
                    StreamLag(
                        progress.name or str(progress.id),
                        progress.batchId,
                        number,
                        count,
                        source.inputRowsPerSecond,
                        source.processedRowsPerSecond,
                    )
                )

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        pass

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        pass

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        pass


def _behind(source: Any) -> int | None:
    """Return the lag of a source, or None if it does not report its end or has no offsets by queue."""
    try:
        offsets = {name: json.loads(getattr(source, name)) for name in ("latestOffset", "endOffset")}
        return behind(offsets) if all(isinstance(value, dict) for value in offsets.values()) else None
    except (TypeError, ValueError):  # none, or a text of another source
        return None
