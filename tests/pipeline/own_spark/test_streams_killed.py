"""Streams of a store, of a cluster and to a topic, in one process that is killed: each row is there once.

Then what a stream cannot read any more is said.  A cluster is also read once, and its rows are sent to another topic.
"""

import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.notebook.remote import Remote, connect
from sandbox.pipeline.sources.records import rows_of
from tests.pipeline.broker_process import broker_with
from tests.pipeline.command_line import WITHIN_S
from tests.pipeline.spark_streams import Streams, streams
from tests.pipeline.store_reads import Broker
from tests.server.server import until

pytestmark = pytest.mark.pipeline

QUEUES, AT_ONCE = 2, 50
FILE_ROWS = 1_500


class Feed:
    """Batches for T, queue after queue."""

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

    def places(self) -> list[list[int]]:
        return [[queue_id, offset] for queue_id, count in enumerate(self.counts) for offset in range(count)]


def put_file(number: int, directory: Path) -> list[str]:
    """Bodies of one more file of rows to send; the first two rows say the same."""
    directory.mkdir(exist_ok=True)
    bodies = [f"file {number} row {max(1, row)}" for row in range(FILE_ROWS)]
    path = directory / f"{number}.json"
    path.with_suffix(".draft").write_text(
        "".join(
            json.dumps({"body": body, "keys": f"k{number}", "properties": {"file": str(number)}}) + "\n"
            for body in bodies
        )
    )
    os.utime(path.with_suffix(".draft"), (1_700_000_000 + number, 1_700_000_000 + number))  # the order of a stream
    path.with_suffix(".draft").rename(path)
    return bodies


def stored(home: Path, topic: str) -> Counter[str]:
    """Bodies in the broker's log."""
    return Counter(
        row["body"].decode()
        for batch in rows_of(home / "store", ["topic", "body"])
        for row in batch.to_pylist()
        if row["topic"] == topic
    )


def whole(report: dict[str, list[object]], places: list[list[int]]) -> None:
    assert sorted(report.get("rows", [])) == places, report.get("why")  # type: ignore[type-var]
    assert report["behind"] == sorted(report["behind"], reverse=True)  # type: ignore[type-var]
    assert report["behind"][-1] == 0
    assert report["heard"] == report["behind"]


def test_streams_go_on_where_they_were_killed_and_say_what_they_cannot_read_any_more(tmp_path: Path) -> None:
    broker, bodies = Broker(tmp_path / "broker-a"), Counter(put_file(0, tmp_path / "in") + put_file(1, tmp_path / "in"))
    broker.put(20)
    with broker_with({"T": QUEUES, "U": QUEUES, "S": 4}, tmp_path) as names, connect(names) as cluster:
        feed = Feed(cluster)
        feed.send(8)
        of_cluster = {
            "format": "rocketmq",
            "at": "cluster",
            "names": names,
            "subscribe": "T",
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": "90",
        }
        of_store = {"format": "rocketmq-store", "at": "of-store", "path": str(broker.root), "maxOffsetsPerTrigger": "7"}
        to_topic = {"format": "rows", "at": "sink", "path": str(tmp_path / "in"), "names": names, "to": "S"}
        with streams(tmp_path) as spark:
            once = {"how": "again", "format": "rocketmq", "names": names, "to": "U", "minPartitions": "3"}
            assert spark.ask(**once, subscribe="V")["why"].startswith("No topic V at 127.0.0.1:")
            assert sorted(spark.ask(**once, subscribe="T")["rows"]) == feed.places()
            copies = feed.places()
            spark.order(how="follow", **of_cluster)
            spark.order(how="follow", **of_store)
            spark.wait_for(2, "cluster")
            feed.send(4)
            for queue_id in (1, 3, 5):
                spark.wait_for(queue_id, "of-store")
                broker.put(10, queue_id=queue_id)
            spark.wait_for(4, "cluster")
            spark.order(how="follow", **to_topic)
            until(
                lambda: stored(tmp_path, "S").total() > FILE_ROWS or spark.process.poll() is not None, within_s=WITHIN_S
            )
            spark.kill()
        feed.send(2)
        broker.put(5)
        bodies.update(put_file(2, tmp_path / "in"))
        assert FILE_ROWS < stored(tmp_path, "S").total() < bodies.total()
        with streams(tmp_path) as spark:
            whole(spark.ask(how="now", **of_cluster), feed.places())
            everything = [[0, offset] for offset in range(25)] + [
                [queue_id, offset] for queue_id in (1, 3, 5) for offset in range(10)
            ]
            whole(spark.ask(how="now", **of_store), everything)
            assert "why" not in spark.ask(how="now", **to_topic)
            says_what_it_cannot_read(spark, broker, of_store, everything)
    assert stored(tmp_path, "S") == bodies
    rows = rows_of(tmp_path / "store", ["topic", "queueId", "queueOffset"])
    assert (
        sorted(
            [row["queueId"], row["queueOffset"]] for batch in rows for row in batch.to_pylist() if row["topic"] == "U"
        )
        == copies
    )


def says_what_it_cannot_read(spark: Streams, broker: Broker, stream: dict[str, str], seen: list[list[int]]) -> None:
    """Retention removes what a stream has not read; then the whole store is gone."""
    broker.put(50)
    broker.remove_old()
    assert spark.ask(how="now", **stream)["why"].startswith("Queue 0 of topic orders no longer has the messages 25 to ")
    rows = spark.ask(how="now", **stream, failOnDataLoss="false")["rows"]
    assert len(rows) == len({tuple(row) for row in rows})
    new = sorted(offset for queue_id, offset in rows if [queue_id, offset] not in seen)
    assert new == list(range(new[0], 75))
    assert new[0] > 25
    broker.store.crash()
    shutil.rmtree(broker.root)
    assert spark.ask(how="now", **stream)["why"].startswith(
        f"{broker.root} is not a store: it has no directory commitlog."
    )
