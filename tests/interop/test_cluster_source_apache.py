"""Topics of ours, Apache's 4.9 and Apache's 5.x as a Spark source: what it gives is what lies in the broker's store.

`script/test interop --wide` also reads 100,000 messages, by a stream that is killed five times.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox import Message, connect
from sandbox.kernel.chance import Chance
from sandbox.message.queue import MessageQueue
from sandbox.pipeline.sources.cluster import ClusterReader
from sandbox.pipeline.sources.cluster_options import asked_of
from sandbox.pipeline.sources.cluster_rows import BROKER, SCHEMA
from sandbox.pipeline.sources.records import rows_of
from sandbox.pipeline.sources.source_columns import HEADERS
from tests.interop.each_server import EACH, server_or_skip
from tests.interop.ours.stage import sender, until
from tests.interop.servers import PATIENT, Server
from tests.pipeline.command_line import WITHIN_S
from tests.pipeline.spark_streams import streams
from tests.server.server import until as until_within

QUEUES = 4
MANY, KILLS, AT_ONCE = 100_000, 5, 500
TOOLS = "TOOLS_CONSUMER"
OFFSET_MOVED = "OFFSET_MOVED_EVENT"


@pytest.fixture(scope="module", params=EACH)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with server_or_skip(request.param, properties=PATIENT) as made:
        yield made


def options(server: Server, topic: str, **given: str) -> dict[str, str]:
    return {"names": server.namesrv, "subscribe": topic, **given}


def read(server: Server, topic: str, **given: str) -> list[dict[str, Any]]:
    reader = ClusterReader(asked_of(options(server, topic, **given)))
    return [row for partition in reader.partitions() for batch in reader.read(partition) for row in batch.to_pylist()]


def stored(server: Server, topic: str) -> list[dict[str, Any]]:
    """Return the stored rows of QueueViz's store reader, queue by queue."""
    names = [name for name in SCHEMA.names if name not in (BROKER, HEADERS)]
    found = [row for batch in rows_of(server.store, names) for row in batch.to_pylist() if row["topic"] == topic]
    return sorted(found, key=lambda row: (row["queueId"], row["queueOffset"]))


def sent(server: Server, topic: str, counts: list[int], *, body: bytes = b"") -> None:
    """So many messages to each queue, `AT_ONCE` in a batch at most; returns when all can be read."""
    with connect(server.namesrv) as cluster:
        until(lambda: cluster.admin.names.route(topic))
        producer = sender(cluster, "source-feed")
        for queue_id, count in enumerate(counts):
            queue = MessageQueue(topic, "broker-a", queue_id)
            for begin in range(0, count, AT_ONCE):
                producer.send_batch(
                    [
                        Message.make(topic, body or b"body %d" % offset, keys=f"k{offset}", tags="red")
                        for offset in range(begin, min(count, begin + AT_ONCE))
                    ],
                    queue=queue,
                )
            until(lambda queue=queue, count=count: cluster.admin.offsets.largest(server.broker, queue) == count)


def test_rows_are_what_lies_in_the_store(server: Server) -> None:
    topic = server.create_topic("source-rows", queues=QUEUES)
    sent(server, topic, [150, 0, 40, 1])
    with connect(server.namesrv) as cluster:
        packed = sender(cluster, "source-packed").send(Message.make(topic, b"z" * 20_000, keys="packed"))
    assert packed.queue is not None
    found = read(server, topic)
    assert Counter(row["queueId"] for row in found) == Counter({0: 150, 2: 40, 3: 1}) + Counter([packed.queue.queue_id])
    [large] = [row for row in found if row["keys"] == "packed"]
    assert (large["body"], large["sysFlag"] & 1) == (b"z" * 20_000, 1)
    assert {row.pop(BROKER) for row in found} == {"broker-a"}
    assert found == stored(server, topic)


def test_offsets_and_times_say_where_reading_begins(server: Server) -> None:
    topic = server.create_topic("source-begins", queues=1)
    with connect(server.namesrv) as cluster:
        until(lambda: cluster.admin.names.route(topic))
        producer = sender(cluster, "source-times")
        for number in range(20):
            producer.send(Message.make(topic, b"%d" % number))
        until(lambda: cluster.admin.offsets.largest(server.broker, MessageQueue(topic, "broker-a", 0)) == 20)
    rows = read(server, topic)
    times = [row["storeTimestamp"] for row in rows]
    for at_ms in (times[0] - 5, times[7], times[7] + 1, times[19]):
        expected = [row["queueOffset"] for row in rows if row["storeTimestamp"] >= at_ms]
        assert [row["queueOffset"] for row in read(server, topic, startingTimestamp=str(at_ms))] == expected
    assert read(server, topic, startingTimestamp=str(times[19] + 1)) == []
    part = read(
        server,
        topic,
        startingOffsets=f'{{"{topic}": {{"broker-a:0": 5}}}}',
        endingOffsets=f'{{"{topic}": {{"broker-a:0": 9}}}}',
        minPartitions="3",
    )
    assert [row["body"] for row in part] == [b"5", b"6", b"7", b"8"]


def test_a_pattern_finds_no_topics_of_the_system_and_reading_leaves_nothing_behind(server: Server) -> None:
    topic = server.create_topic("source-pattern", queues=2)
    sent(server, topic, [3, 3])
    given = {"names": server.namesrv, "subscribePattern": ".*"}
    topics = {partition.piece.queue.topic for partition in ClusterReader(asked_of(given)).partitions()}
    assert topic in topics
    assert all(name.startswith("source-") for name in topics), topics
    assert len(read(server, topic)) == 6
    assert f"{topic}@".encode() not in server.ask(43)["body"], "no offset was committed"
    assert server.ask(38, {"consumerGroup": TOOLS})["code"] != 0, "no group was joined"
    assert server.records(OFFSET_MOVED) == [], "no pull was outside its queue"


@pytest.mark.wide
def test_a_hundred_thousand_messages_are_read_once_each_by_a_batch_and_by_a_stream_killed_five_times(
    server: Server, tmp_path: Path
) -> None:
    topic = server.create_topic("source-many", queues=QUEUES)
    counts = [MANY // 2, MANY // 4, MANY // 8, MANY // 8]
    sent(server, topic, counts, body=bytes(100))
    everything = {(queue_id, offset) for queue_id, count in enumerate(counts) for offset in range(count)}
    chance = Chance(f"kills of a source {server.name}")
    source = {"format": "rocketmq", "names": server.namesrv, "subscribe": topic}
    stream = {**source, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "2500"}
    planned = tmp_path / "out" / "checkpoint" / "offsets"
    for _ in range(KILLS):
        goal = len(list(planned.glob("[0-9]*"))) + 1 + chance.below(2)
        with streams(tmp_path) as reader:
            reader.order(how="follow", **stream)
            until_within(
                lambda goal=goal, reader=reader: (
                    len(list(planned.glob("[0-9]*"))) >= goal or reader.process.poll() is not None
                ),
                within_s=WITHIN_S,
            )
            if chance.random() < 0.5:
                reader.wait_for(goal)  # else it is killed while it reads
            reader.kill()
    with streams(tmp_path) as reader:
        for rows in (
            reader.ask(how="now", **stream)["rows"],
            reader.ask(how="once", **source, minPartitions="8")["rows"],
        ):
            assert len(rows) == MANY
            assert {(row[0], row[1]) for row in rows} == everything
