"""`spark.readStream.format("rocketmq")`: new messages of a running cluster, each exactly once by its checkpoint.

A stream stands at an offset of each queue.  Queues and topics that are new begin with their first message.  A queue
whose broker is away keeps its place while the others go on; after `cluster_link.PATIENCE_S` the stream ends with a
sentence.  Nothing is committed in the cluster.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from sandbox.kernel.errors import ConnectFailed, RemotingError, SandboxError, StoreError
from sandbox.message.queue import MessageQueue
from sandbox.pipeline.sources import cluster_offsets as offsets
from sandbox.pipeline.sources.cluster import RangePartition, batches, queues_of, started, there
from sandbox.pipeline.sources.cluster_line import Dial, Line, TcpLine
from sandbox.pipeline.sources.cluster_link import LONGEST_PAUSE_S, Link
from sandbox.pipeline.sources.cluster_offsets import Ends
from sandbox.pipeline.sources.cluster_options import Asked, plain, position_of
from sandbox.pipeline.sources.store_offsets import LATEST, WAY_ON, shares

QUIET_S = 0.1  # Spark asks every 10 ms while nothing comes
AGAIN_S = 5.0  # before a broker that did not answer is asked again

Offsets = dict[MessageQueue, int]


class ClusterStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans in one process with one connection to each node; reads in the workers."""

    def __init__(self, asked: Asked, dial: Dial = TcpLine) -> None:
        self.asked, self._dial = asked, dial
        self._open: Line | None = None
        self._target: Offsets | None = None
        self._initial: dict[str, Any] | None = None
        self._first: dict[str, Any] | None = None  # the same, while a batch without rows has to write it down
        self._quiet: tuple[dict[str, Any], float] | None = None
        self._triggered_s: float | None = None
        self._highs: Offsets = {}
        self._absent_since: dict[MessageQueue, float] = {}
        self._away: dict[str, tuple[float, SandboxError]] = {}  # brokers: when they are asked again

    def initialOffset(self) -> dict[str, Any]:
        found = self._line.run(there(self._line.link, self.asked.chosen))
        starts = self._line.run(started(self._line.link, self.asked, found))
        offsets.begins(starts, found, fail_on_data_loss=self.asked.fail_on_data_loss)
        self._initial = plain(starts)
        if self._begins_late:
            self._first = self._initial
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:
        most, least, _ = self.asked.pace
        if most is not None:
            return ReadMaxRows(most)
        return ReadAllAvailable() if least is None else ReadMinRows(least)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        if start == self._first:
            # Spark stores ends only: without this first end, a stream with `latest` that was killed in its first
            # batch would begin later when started again.
            self._first = None
            return start
        clock = self._line.link.clock
        if self._quiet is not None and self._quiet[0] == start and clock.monotonic() - self._quiet[1] < QUIET_S:
            return start
        position = position_of(start)
        found = self._line.run(self._looked(self._line.link, position))
        begins = offsets.begins(position, found, fail_on_data_loss=self.asked.fail_on_data_loss)
        ends = {queue: max(begins[queue], min(high, self._bound(queue))) for queue, (_, high, _) in found.items()}
        waiting = {queue: end - begins[queue] for queue, end in ends.items()}
        if not any(waiting.values()) and self._target is None:
            self._quiet = start, clock.monotonic()
        if self._holds_back(sum(waiting.values()), limit, clock.monotonic()):
            return start
        granted = shares(waiting, limit.max_rows) if isinstance(limit, ReadMaxRows) else waiting
        return plain(position | {queue: begins[queue] + count for queue, count in granted.items()})

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """As the last planning found it; `cluster_offsets.behind` counts what is between."""
        return plain(self._highs) if self._highs else None

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = {}
        found = self._line.run(self._looked(self._line.link, {}))
        self._target = {queue: ends.high for queue, ends in found.items()}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        ranges = offsets.between(position_of(start), position_of(end), is_first=start == self._initial)
        return [RangePartition(piece) for piece in offsets.split(ranges, self.asked.min_partitions)]

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
        """Whether its start depends on the time of the call."""
        starting = self.asked.starting
        return self.asked.from_ms is not None or starting == "latest" or (
            isinstance(starting, Mapping) and LATEST in starting.values())

    def _bound(self, queue: MessageQueue) -> int:
        return 1 << 62 if self._target is None else self._target.get(queue, 0)

    def _holds_back(self, waiting: int, limit: ReadLimit, now_s: float) -> bool:
        """Fewer than minOffsetsPerTrigger wait for more, up to maxTriggerDelay; the first batch comes at once."""
        least = self.asked.pace.least
        if least is None or self._target is not None or isinstance(limit, ReadAllAvailable):
            return False
        since_s = None if self._triggered_s is None else now_s - self._triggered_s
        if waiting < least and since_s is not None and since_s * 1_000 < self.asked.pace.delay_ms:
            return True
        self._triggered_s = now_s
        return False

    async def _looked(self, link: Link, position: Offsets) -> dict[MessageQueue, Ends]:
        """The ends of queues that can be asked now.  With availableNow the others are waited for.

        Raises StoreError for queues that are gone, ConnectFailed for those whose broker is away, both after a while.
        """
        while True:
            found, absent = await self._seen(link, position)
            now_s = link.clock.monotonic()
            self._absent_since = {queue: self._absent_since.get(queue, now_s) for queue in absent}
            overdue = {queue for queue, since_s in self._absent_since.items() if now_s - since_s >= link.patience_s}
            for queue in sorted(overdue):
                if (why := absent[queue]) is not None:
                    raise ConnectFailed(f"The stream waits for {offsets.named(queue)} for {link.patience_s:.0f} s: "
                                        f"{why}") from why
                if self.asked.fail_on_data_loss:
                    raise StoreError(f"Name servers do not know {offsets.named(queue)} any more: it was deleted, or "
                                     f"its broker is away for longer than {link.patience_s:.0f} s.{WAY_ON}")
            if self._target is None or absent.keys() <= overdue:
                return found
            link.forget()
            await link.clock.sleep(LONGEST_PAUSE_S)

    async def _seen(self, link: Link, position: Offsets) -> tuple[
            dict[MessageQueue, Ends], dict[MessageQueue, SandboxError | None]]:
        """Queues that answer, and those that do not with the reason; None: name servers do not know them."""
        try:
            queues, unknown = await queues_of(link, self.asked.chosen)
        except ConnectFailed as why:
            if not position:
                raise
            return {}, dict.fromkeys(position, why)
        if self.asked.fail_on_data_loss and (new := unknown.keys() - {queue.topic for queue in position}):
            raise unknown[min(new)]
        position = {queue: place for queue, place in position.items() if self.asked.chosen.includes(queue)}
        now_s = link.clock.monotonic()
        absent: dict[MessageQueue, SandboxError | None] = dict.fromkeys(set(position) - set(queues))
        asleep = {broker: why for broker, (again_s, why) in self._away.items() if now_s < again_s}
        absent |= {queue: asleep[queue.broker] for queue in queues if queue.broker in asleep}
        answers = await link.ends([queue for queue in queues if queue not in absent], places=position, patience_s=0)
        self._away = {broker: self._away[broker] for broker in asleep}
        found: dict[MessageQueue, Ends] = {}
        for queue, answer in answers.items():
            if isinstance(answer, Ends):
                found[queue] = answer
                self._highs[queue] = answer.high
            elif isinstance(answer, RemotingError):
                absent[queue] = answer
                self._away[queue.broker] = link.clock.monotonic() + AGAIN_S, answer
            elif queue in position:
                absent[queue] = None
        return found, {queue: why for queue, why in absent.items() if queue in position or why is not None}
