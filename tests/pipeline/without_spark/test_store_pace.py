"""Amounts of a store read at once: batches of a stream, their times, waiting rows, and numbers of tasks."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.pipeline.sources.progress import behind
from sandbox.pipeline.sources.store import StoreSource
from tests.pipeline.store_reads import Broker, streaming


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path / "broker-a")
    yield made
    made.store.crash()


def tasks(reader: Any, planned: Any) -> list[list[tuple[int, int]]]:
    """Queue and offset of the messages of each."""
    return [
        [(row["queueId"], row["queueOffset"]) for batch in reader.read(task) for row in batch.to_pylist()]
        for task in planned
    ]


def joined(divided: list[list[tuple[int, int]]]) -> list[tuple[int, int]]:
    return [place for task in divided for place in task]


def once(broker: Broker, **options: str) -> list[list[tuple[int, int]]]:
    reader = StoreSource({"path": str(broker.root), **options}).reader(None)
    return tasks(reader, reader.partitions())


def test_a_stream_waits_for_enough_messages_but_not_for_ever(broker: Broker) -> None:
    broker.put(5)
    stream = streaming(broker.now_s, path=str(broker.root), minOffsetsPerTrigger="50", maxTriggerDelay="2m")
    assert stream.step() == 5, "the first batch comes at once"
    broker.put(40)
    broker.put(9, queue_id=1)
    assert stream.step() is None
    broker.put(1)
    assert stream.step() == 50, "of all queues together"
    broker.put(3)
    broker.stores.advance(119)
    assert stream.step() is None
    broker.stores.advance(1)
    assert stream.step() == 3
    broker.put(3)
    stream.reader.prepareForTriggerAvailableNow()
    assert stream.step() == 3, "it reads what is available now"


def test_a_stream_that_waits_for_enough_messages_reads_no_more_than_it_may(broker: Broker) -> None:
    broker.put(30)
    stream = streaming(broker.now_s, path=str(broker.root), minOffsetsPerTrigger="4", maxOffsetsPerTrigger="9")
    assert [stream.step() for _ in range(4)] == [9, 9, 9, None]
    broker.put(1)
    assert stream.step() == 4


def test_what_waits_is_reported_beside_where_the_stream_stands(broker: Broker) -> None:
    broker.put(20)
    broker.put(10, queue_id=1)
    for options in ({"path": str(broker.root)}, {"stores": json.dumps({"broker-a": str(broker.root)})}):
        stream = streaming(maxOffsetsPerTrigger="12", **options)
        assert stream.reader.reportLatestOffset() is None, "nothing was planned yet"
        waits = []
        while stream.step() is not None:
            latest = stream.reader.reportLatestOffset()
            waits.append(behind({"latestOffset": json.dumps(latest), "endOffset": stream.last}))
        assert waits == [18, 6, 0]
    assert latest == {"broker-a": {"orders": {"0": 20, "1": 10}}}
    assert behind({"latestOffset": latest, "endOffset": {"broker-a": {"orders": {"0": 15}}}}) == 15


def test_what_waits_is_reported_also_where_only_a_part_of_it_is_read_now(broker: Broker) -> None:
    broker.put(5)
    stream = streaming(path=str(broker.root))
    stream.reader.prepareForTriggerAvailableNow()
    broker.put(5)
    assert len(stream.run()) == 5
    assert stream.reader.reportLatestOffset() == {"orders": {"0": 10}}


@pytest.mark.parametrize("least", [2, 7, 40, 45, 1_000])
def test_reading_once_is_divided_into_as_many_tasks_as_are_wanted(broker: Broker, least: int) -> None:
    for _ in range(3):
        broker.put(12)
        broker.put(3, queue_id=1)
    [together] = once(broker)
    apart = once(broker, minPartitions=str(least))
    assert joined(apart) == together
    assert min(least, 45) <= len(apart) <= 2 * min(least, 45) + 1


def test_tasks_are_divided_where_messages_are_read(broker: Broker) -> None:
    """Not more of them than messages, and none for a part of the log that is read elsewhere."""
    broker.put(40)
    part = {"startingOffsets": '{"orders": {"0": 37}}', "endingOffsets": '{"orders": {"0": 39}}'}
    assert len(once(broker, minPartitions="30", **part)) <= 5
    [together] = once(broker, skippedLogs="[[0, 4096]]")
    divided = once(broker, skippedLogs="[[0, 4096]]", minPartitions="8")
    assert 0 < len(together) < 40
    assert (joined(divided), len(divided) >= 8) == (together, True)


@pytest.mark.parametrize("least", [2, 7, 40, 45, 1_000])
def test_a_batch_of_a_stream_is_divided_into_as_many_tasks_as_are_wanted(broker: Broker, least: int) -> None:
    broker.put(36)
    broker.put(9, queue_id=1)
    stream = streaming(path=str(broker.root), minPartitions=str(least))
    assert stream.plan()
    divided = tasks(stream.reader, stream.reader.partitions(json.loads(stream.last), json.loads(stream.ends[-1])))
    assert sorted(joined(divided)) == [(0, offset) for offset in range(36)] + [(1, offset) for offset in range(9)]
    sizes = sorted({len(task) for task in divided[:-1]})
    assert (len(divided) >= min(least, 45), len(sizes)) == (True, 1)
