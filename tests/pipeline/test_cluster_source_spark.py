"""A running cluster as Spark reads it: once, again by the sink, and by a stream that is killed between."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.notebook.remote import Remote, connect
from sandbox.pipeline.sources.records import rows_of
from tests.pipeline.broker_process import broker_with
from tests.pipeline.test_store_stream import reading

pytestmark = [pytest.mark.pipeline, pytest.mark.slow]

QUEUES, AT_ONCE = 2, 50


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    with broker_with({"T": QUEUES, "U": QUEUES}, tmp_path) as address:
        yield address


class Feed:
    """Sends to T, queue after queue, and knows what is there."""

    def __init__(self, cluster: Remote) -> None:
        self._producer = cluster.producer("P", send_timeout_ms=20_000)
        self.counts = [0] * QUEUES

    def send(self, batches: int) -> None:
        for number in range(batches):
            queue_id = number % QUEUES
            first = self.counts[queue_id]
            batch = [Message.make("T", bytes(10), keys=f"k{offset}") for offset in range(first, first + AT_ONCE)]
            self._producer.send_batch(batch, queue=MessageQueue("T", "broker-a", queue_id))
            self.counts[queue_id] += AT_ONCE

    def rows(self) -> list[list[object]]:
        return [["T", queue_id, offset, f"k{offset}", 10] for queue_id, count in enumerate(self.counts)
                for offset in range(count)]


@pytest.mark.in_turn
def test_a_cluster_is_read_once_and_again_and_by_a_stream_that_goes_on_where_it_was_killed(broker: str,
                                                                                         tmp_path: Path) -> None:
    with connect(broker) as cluster:
        feed = Feed(cluster)
        feed.send(8)
        stream = {"subscribe": "T", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "90"}
        with reading("cluster_reader", broker, tmp_path) as reader:
            assert reader.ask(how="once", subscribe="V")["why"].startswith("There is no topic V at 127.0.0.1:")
            assert sorted(reader.ask(how="again", subscribe="T", minPartitions="3", to="U")["rows"]) == feed.rows()
            reader.order(how="follow", **stream)
            reader.waits_for(2)
            feed.send(4)
            reader.waits_for(4)
            os.killpg(reader.process.pid, signal.SIGKILL)
        feed.send(2)
        with reading("cluster_reader", broker, tmp_path) as reader:
            told = reader.ask(how="now", **stream)
            assert sorted(told.get("rows", [])) == feed.rows(), told.get("why")
            assert told["behind"] == sorted(told["behind"], reverse=True)
            assert told["behind"][-1] == 0
    stored = rows_of(tmp_path / "store", ["topic", "queueId", "queueOffset"])
    copies = [tuple(row.values()) for batch in stored for row in batch.to_pylist() if row["topic"] == "U"]
    assert sorted(copies) == [("U", queue_id, offset) for queue_id in range(QUEUES) for offset in range(4 * AT_ONCE)]
