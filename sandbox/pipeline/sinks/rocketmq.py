"""`df.write.format("rocketmq")` and `writeStream.format("rocketmq")`: rows become messages of a running broker.

Options: `names` (name servers, `host:port;host:port`), `topic` (for rows without their own), `group` (of the
producer), `accessKey`, `secretKey`, `tls`, `run` and `ask` (below).  Columns: see `rows.KINDS`; those of the sources
are allowed as well, so that their rows can be sent unchanged.  Mode `append` only: no topic is overwritten.  Rows
without a `queueId` go to the queues in turn; those with one keep the order of their partition.

Guarantees.  Every row is stored at least once, or the write fails.  And at most once, because every row has a name
(`rows.Naming`, its message's UNIQ_KEY), and a repeated attempt queries the topic's brokers for existing names
(QUERY_MESSAGE, by their index) and sends the others.  Repeated attempts are:

* a stream whose last epoch was not committed, after its restart: same checkpoint, same query id, same names;
* a task that Spark tries again, and a send without an answer;
* a batch with the option `run`, which is repeated with the same `run` after it failed.

Conditions.  The same rows come to the same partition again (in any order): true for files, stores and topics, and
for a shuffle of the same width; not for random values.  A broker whose index is off, that lost it in a crash, that
has deleted the messages, or that no name server lists any more cannot answer, and then a row may be stored twice.  A
listed one that does not answer fails the write.  A stream queries once, in its first epoch after a start: with
asynchronous progress tracking, which may repeat several epochs, use `ask` = `always`; likewise where executors are
lost after a shuffle, since Spark then counts attempts from 0 again.  Speculative tasks must be off, which is the
default.  A failed batch without `run` leaves its sent rows.  Flushing and replication are the broker's: a confirmed
message counts.
"""

import asyncio
import itertools
import os
import platform
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import ScaledClock, wall_ms
from sandbox.pipeline.sinks.rows import Naming, check_columns, rows_of
from sandbox.pipeline.sinks.sending import GROUP, Cluster, Sender
from sandbox.pipeline.sources.cluster_access import Access, access_of
from sandbox.pipeline.sources.cluster_rows import BROKER
from sandbox.pipeline.sources.error_reports import reports_errors
from sandbox.pipeline.sources.records import SCHEMA, STORE
from sandbox.pipeline.sources.source_columns import TIMESTAMP
from sandbox.transport.tcp_client import TcpConnector

QUERY = "sql.streaming.queryId"  # Spark's names of its local properties
EPOCH = "streaming.sql.batchId"
RUN_OF_QUERY = "spark.jobGroup.id"
ASKS = ("first", "always")
RUN_CHARACTERS = 16
RUNS_REMEMBERED = 64  # of a worker process; after that a run's rows are queried once more
NUMBERS = itertools.count(1)


class Target(NamedTuple):
    """The parsed options of the sink."""

    cluster: Cluster
    access: Access
    topic: str | None
    run: str | None
    always: bool


def batch_writer(options: Any, schema: Any, *, overwrite: bool) -> "BatchWriter":
    """Return the writer of a batch.  Without the option `run` it draws a random run name."""
    target = target_of(options, schema, overwrite=overwrite)
    drawn = Chance(f"{platform.node()} {os.getpid()} {wall_ms()} {next(NUMBERS)}")
    return BatchWriter(target, target.run or drawn.token(RUN_CHARACTERS, "0123456789abcdef"))


class Sent(WriterCommitMessage):
    """The result of one partition: rows sent, and rows already in the topic."""

    def __init__(self, sent: int, existing: int) -> None:
        self.sent, self.found = sent, existing


class BatchWriter(DataSourceArrowWriter):
    """The writer of a batch.  Its commit does nothing: messages are in the broker already."""

    def __init__(self, target: Target, run: str) -> None:
        self.target, self.run = target, run

    @reports_errors
    def write(self, iterator: Iterator[pa.RecordBatch]) -> Sent:
        task = TaskContext.get()
        assert task is not None
        asks = self.target.always or self.target.run is not None or task.attemptNumber() > 0
        return hand_over(self.target, Naming(self.run, 0, task.partitionId()), iterator, asks=asks)


class StreamWriter(DataSourceStreamArrowWriter):
    """The writer of a stream: it names rows by the query's id and the epoch's number."""

    def __init__(self, target: Target) -> None:
        self.target = target

    @reports_errors
    def write(self, iterator: Iterator[pa.RecordBatch]) -> Sent:
        task = TaskContext.get()
        assert task is not None
        query, epoch = task.getLocalProperty(QUERY), int(task.getLocalProperty(EPOCH) or 0)
        naming = Naming(self.target.run or query or "", epoch, task.partitionId())
        asks = (
            self.target.always
            or task.attemptNumber() > 0
            or maybe_again(task.getLocalProperty(RUN_OF_QUERY) or "", epoch)
        )
        return hand_over(self.target, naming, iterator, asks=asks)

    def commit(self, messages: Any, batchId: int) -> None:
        """Do nothing: messages are in the broker already."""

    def abort(self, messages: Any, batchId: int) -> None:
        """Do nothing: sent messages cannot be removed.  Spark repeats the epoch with the same names."""


_first_epoch: dict[str, int] = {}


def maybe_again(run: str, epoch: int) -> bool:
    """Return True if this may be the epoch that was running when the query ended.

    Only the first epoch of a run can be that one.  A worker process that has executed an earlier epoch of this run
    rules it out; a new process cannot.
    """
    if run not in _first_epoch and len(_first_epoch) == RUNS_REMEMBERED:
        _first_epoch.clear()
    return epoch <= _first_epoch.setdefault(run, epoch)


def target_of(options: Any, schema: Any, *, overwrite: bool) -> Target:
    """Return the parsed options of the sink.

    Raises ValueError with a sentence for invalid options or columns.
    """
    if overwrite:
        raise ValueError("A topic cannot be overwritten. Use the mode append.")
    access = access_of(options)
    ask = options.get("ask", ASKS[0])
    if ask not in ASKS:
        raise ValueError(f"Option ask must be {' or '.join(ASKS)}, not {ask}.")
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    topic = options.get("topic") or None
    check_columns(types, frozenset({STORE, BROKER, TIMESTAMP, *SCHEMA.names}))
    if topic is None and "topic" not in types:
        raise ValueError("No topic. Set the option topic, or add a column topic.")
    cluster = Cluster(access.name_servers, options.get("group", GROUP), access.access_key, access.secret_key)
    return Target(cluster, access, topic, options.get("run") or None, ask == "always")


def hand_over(target: Target, naming: Naming, batches: Iterator[pa.RecordBatch], *, asks: bool) -> Sent:
    """Send all rows of one partition and return the counts; an empty partition opens no connection."""
    loop = asyncio.new_event_loop()
    connector: TcpConnector | None = None
    sender: Sender | None = None
    clock = ScaledClock(loop, start_ms=wall_ms())
    try:
        for batch in batches:
            if not batch.num_rows:
                continue
            if sender is None:
                connector = TcpConnector(tls=target.access.context)
                number = f"{os.getpid()}#{next(NUMBERS)}"
                sender = Sender(
                    target.cluster,
                    naming,
                    clock=clock,
                    chance=Chance(f"{number} {wall_ms()}"),
                    connector=connector,
                    instance_name=number,
                    asks=asks,
                )
                loop.run_until_complete(sender.open())
            loop.run_until_complete(sender.send(rows_of(batch, target.topic)))
        return Sent(sender.sent, sender.found) if sender is not None else Sent(0, 0)
    finally:
        if sender is not None and connector is not None:
            loop.run_until_complete(sender.close())
            loop.run_until_complete(connector.close())
        clock.close()
        loop.close()
