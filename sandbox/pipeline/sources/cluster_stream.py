"""`spark.readStream.format("rocketmq")`: new messages of a running cluster, each exactly once by its checkpoint.

The position of a stream is an offset of each queue.  New queues and topics begin with their first message.  A queue
whose broker is away keeps its offset while the others continue; after `cluster_link.PATIENCE_S` the stream ends with
a sentence.  Nothing is committed in the cluster.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from sandbox.message.queue import MessageQueue
from sandbox.pipeline.sources import cluster_offsets as offsets
from sandbox.pipeline.sources.cluster import RangePartition, batches, check_asked, started, there
from sandbox.pipeline.sources.cluster_line import Dial, Line, TcpLine
from sandbox.pipeline.sources.cluster_options import Asked, Offsets, plain, position_of
from sandbox.pipeline.sources.cluster_watch import Watch
from sandbox.pipeline.sources.error_reports import reports_errors
from sandbox.pipeline.sources.first_end import FirstEnd
from sandbox.pipeline.sources.store_offsets import LATEST, shares
from sandbox.pipeline.sources.trigger import Trigger

QUIET_S = 0.1  # Spark asks every 10 ms while nothing comes


class ClusterStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The stream reader: it plans in one process with one connection to each node and reads in the workers."""

    def __init__(self, asked: Asked, dial: Dial = TcpLine) -> None:
        self.asked, self._dial = asked, dial
        self._open: Line | None = None
        self._target: Offsets | None = None
        self._first_end = FirstEnd()
        self._quiet: tuple[dict[str, object], float] | None = None
        self._trigger = Trigger(asked.pace)
        self._watch = Watch(asked)

    @reports_errors
    def initialOffset(self) -> dict[str, object]:
        queue_ends = self._line.run(there(self._line.link, self.asked.chosen))
        check_asked(self.asked, queue_ends)
        starts = self._line.run(started(self._line.link, self.asked, queue_ends))
        offsets.begins(starts, queue_ends, fail_on_data_loss=self.asked.fail_on_data_loss)
        return self._first_end.begun(plain(starts), is_late=self._begins_late)

    def getDefaultReadLimit(self) -> ReadLimit:
        return self._trigger.limit

    @reports_errors
    def latestOffset(self, start: dict[str, object], limit: ReadLimit) -> dict[str, Any]:
        if self._first_end.take(start):
            return start
        clock = self._line.link.clock
        if self._quiet is not None and self._quiet[0] == start and clock.monotonic() - self._quiet[1] < QUIET_S:
            return start
        position = position_of(start)
        queue_ends = self._line.run(self._watch.ends(self._line.link, position, waits=self._target is not None))
        begins = offsets.begins(position, queue_ends, fail_on_data_loss=self.asked.fail_on_data_loss)
        ends = {queue: max(begins[queue], min(high, self._bound(queue))) for queue, (_, high, _) in queue_ends.items()}
        waiting = {queue: end - begins[queue] for queue, end in ends.items()}
        if not any(waiting.values()) and self._target is None:
            self._quiet = start, clock.monotonic()
        if self._target is None and self._trigger.holds_back(sum(waiting.values()), limit, clock.monotonic()):
            return start
        granted = shares(waiting, limit.max_rows) if isinstance(limit, ReadMaxRows) else waiting
        return plain(position | {queue: begins[queue] + count for queue, count in granted.items()})

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Return the ends at the last planning, or None before it; `progress.behind` counts the messages up to them."""
        return plain(self._watch.highs) if self._watch.highs else None

    @reports_errors
    def prepareForTriggerAvailableNow(self) -> None:
        queue_ends = self._line.run(self._watch.ends(self._line.link, {}, waits=True))
        self._target = {queue: ends.high for queue, ends in queue_ends.items()}

    @reports_errors
    def partitions(self, start: dict[str, object], end: dict[str, object]) -> Sequence[InputPartition]:
        ranges = offsets.between(position_of(start), position_of(end), is_first=self._first_end.planned(start))
        return [RangePartition(piece) for piece in offsets.split(ranges, self.asked.min_partitions)]

    @reports_errors
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangePartition)
        line = self._dial(self.asked.access)
        try:
            yield from batches(line, partition.piece, self.asked)
        finally:
            line.close()

    def stop(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    @property
    def _line(self) -> Line:
        if self._open is None:
            self._open = self._dial(self.asked.access)
        return self._open

    @property
    def _begins_late(self) -> bool:
        """True if the start depends on the time of the call."""
        starting = self.asked.starting
        return (
            self.asked.times.start is not None
            or starting == "latest"
            or (isinstance(starting, Mapping) and LATEST in starting.values())
        )

    def _bound(self, queue: MessageQueue) -> int:
        return 1 << 62 if self._target is None else self._target.get(queue, 0)
