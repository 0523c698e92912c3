"""`spark.read.format("rocketmq")`: topics of a running cluster, QueueViz's or Apache's, one row per message.

Options: see `cluster_options.NAMES`; queues and offsets are named as the Kafka source names them, a queue as
`broker-a:0`.  The ends are those at planning: later messages are not read.  A partition is a range of one queue.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from sandbox.kernel.errors import ClientError, RemotingError, SandboxError
from sandbox.message.queue import MessageQueue
from sandbox.pipeline.sources import cluster_offsets as offsets
from sandbox.pipeline.sources.asked_range import check_range
from sandbox.pipeline.sources.cluster_line import Dial, Line, TcpLine
from sandbox.pipeline.sources.cluster_link import Link, no_name_server
from sandbox.pipeline.sources.cluster_offsets import Ends, Range
from sandbox.pipeline.sources.cluster_options import Asked, Chosen, Offsets
from sandbox.pipeline.sources.cluster_pull import Pulls
from sandbox.pipeline.sources.cluster_rows import rows
from sandbox.pipeline.sources.conditions import NoTopic
from sandbox.pipeline.sources.error_reports import reports_errors
from sandbox.pipeline.sources.time_bounds import END, START, Times


class RangePartition(InputPartition):
    """A partition of a read: a range of one queue."""

    def __init__(self, piece: Range) -> None:
        super().__init__(piece)
        self.piece = piece


class ClusterReader(DataSourceReader):
    """The batch reader: it plans with the queues' ends and reads in the workers."""

    def __init__(self, asked: Asked, dial: Dial = TcpLine) -> None:
        self.asked, self._dial = asked, dial

    @reports_errors
    def partitions(self) -> Sequence[InputPartition]:
        with closing(self._dial(self.asked.access)) as line:
            return [RangePartition(piece) for piece in line.run(planned(line.link, self.asked))]

    @reports_errors
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, RangePartition):  # else Spark's own, for an empty plan
            with closing(self._dial(self.asked.access)) as line:
                yield from batches(line, partition.piece, self.asked)


def batches(line: Line, piece: Range, asked: Asked) -> Iterator[pa.RecordBatch]:
    """Yield the messages of a range.  Raises SandboxError with a sentence."""
    pulls = Pulls(line.link, piece, fail_on_data_loss=asked.fail_on_data_loss)
    try:
        while pulled := line.run(pulls.more()):
            yield from rows(piece.queue, pulled, asked.columns)
    finally:
        line.run(pulls.close())


async def planned(link: Link, asked: Asked) -> list[Range]:
    """Return the ranges that a read covers.  Raises SandboxError with a sentence."""
    queue_ends = await there(link, asked.chosen)
    check_asked(asked, queue_ends)
    starts = await started(link, asked, queue_ends)
    begins = offsets.begins(starts, queue_ends, fail_on_data_loss=asked.fail_on_data_loss)
    ends = await _resolved(link, (END[2], asked.ending, "latest"), (END[1], asked.times.end), queue_ends)
    ranges = [Range(queue, begin, min(ends[queue], queue_ends[queue].high)) for queue, begin in sorted(begins.items())]
    return offsets.split(ranges, asked.min_partitions)


async def started(link: Link, asked: Asked, queue_ends: dict[MessageQueue, Ends]) -> dict[MessageQueue, int]:
    """Return the offsets where a first read begins."""
    return await _resolved(link, (START[2], asked.starting, "earliest"), (START[1], asked.times.start), queue_ends)


def check_asked(asked: Asked, queue_ends: Mapping[MessageQueue, Ends]) -> None:
    """Raise OffsetsOutOfRange if the options of a first read request offsets that are not a range of their queue."""
    starting, ending = ({} if isinstance(option, str) else option for option in (asked.starting, asked.ending))
    check_range(
        starting,
        ending,
        {queue: ends.high for queue, ends in queue_ends.items() if ends.by_master},
        offsets.named,
        fail_on_data_loss=asked.fail_on_data_loss,
    )


async def _resolved(
    link: Link,
    by_offset: tuple[str, str | Offsets, str],
    by_time: tuple[str, Times | None],
    queue_ends: Mapping[MessageQueue, Ends],
) -> dict[MessageQueue, int]:
    """Return the requested offsets, by a time if there is one.

    `by_offset`: the option, its value, and the one for queues without an offset or time.
    """
    option, value, otherwise = by_offset
    time_option, times = by_time
    if times is None:
        return offsets.resolved(option, value, queue_ends, otherwise)
    offsets.check_read(time_option, times.by_queue, queue_ends)
    positions = offsets.resolved(option, otherwise, queue_ends, otherwise)
    for queue, ends in queue_ends.items():
        if (at_ms := times.of(queue)) is not None:
            first = await link.from_time(queue, ends, at_ms)
            positions[queue] = times.or_end(first, ends.high, at_ms, f"The {offsets.named(queue)}")
    return positions


async def there(link: Link, chosen: Chosen) -> dict[MessageQueue, Ends]:
    """Return the chosen queues with their ends.

    Raises NoTopic or ClientError for a topic or queue that does not exist or is not readable, ConnectFailed without
    a name server.
    """
    queues, unknown = await queues_of(link, chosen)
    if unknown:
        raise unknown[min(unknown)]
    if missing := sorted((chosen.queues or frozenset()) - set(queues)):
        raise ClientError(f"Option assign names {offsets.named(missing[0])}, which does not exist.")
    if unreadable := sorted(set(chosen.topics) - {queue.topic for queue in queues}):
        raise ClientError(f"The topic {unreadable[0]} has no readable queue: its permission lacks R.")
    queue_ends: dict[MessageQueue, Ends] = {}
    for queue, ends in (await link.ends(queues)).items():
        if isinstance(ends, SandboxError):
            raise ends
        queue_ends[queue] = ends
    return queue_ends


async def queues_of(link: Link, chosen: Chosen) -> tuple[list[MessageQueue], dict[str, NoTopic]]:
    """Return the chosen queues, and by topic the errors of chosen topics that do not exist.

    Raises ConnectFailed if no name server answers.
    """
    queues: list[MessageQueue] = []
    unknown: dict[str, NoTopic] = {}
    try:
        by_pattern = chosen.pattern is not None
        for topic in filter(chosen.matches, await link.topics()) if by_pattern else chosen.topics:
            try:
                queues += [queue for queue in await link.queues(topic) if chosen.has(queue)]
            except NoTopic as error:
                if not by_pattern:  # else it was deleted just now
                    unknown[topic] = error
    except RemotingError as error:
        raise no_name_server(link.access, error) from error
    return queues, unknown
