"""Reads from and up to store times, of all queues or of each, with the meaning that filtering by them has."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.kernel.errors import ClientError, SandboxError
from sandbox.pipeline.sources.store import StoreSource
from tests.pipeline.cluster_reads import options, rows
from tests.pipeline.cluster_reads import streaming as of_cluster
from tests.pipeline.store_reads import Broker, filled_in_turn, streaming
from tests.sim.client_world import World

QUEUES, EACH = 3, 20
Place = tuple[int, int, int]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """Queues of `orders` with a message a second in turn."""
    with filled_in_turn(tmp_path / "broker-a", QUEUES, EACH) as made:
        yield made


def once(root: Path, **given: str) -> list[Place]:
    """Queue, offset and store time of the rows of reading once."""
    return read({"path": str(root), **given})


def read(given: dict[str, str]) -> list[Place]:
    reader = StoreSource({"columns": "queueId,queueOffset,storeTimestamp", **given}).reader(None)
    return sorted(
        tuple(row.values()) for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()
    )


def test_an_end_at_a_time_leaves_out_what_was_stored_then_or_later(broker: Broker) -> None:
    everything = once(broker.root)
    times = sorted(at_ms for *_, at_ms in everything)
    for begin, end in ((0, 0), (0, 1), (5, 30), (10, 59), (30, 31)):
        start_ms, end_ms = times[begin], times[end]
        messages = once(broker.root, startingTimestamp=str(start_ms), endingTimestamp=str(end_ms))
        assert messages == [place for place in everything if start_ms <= place[2] < end_ms]
    assert once(broker.root, endingTimestamp=str(times[-1] + 1)) == everything, "a late time is the end of the queue"


def test_each_queue_has_its_own_time_and_others_are_read_completely(broker: Broker) -> None:
    everything = once(broker.root)
    starts, ends = {0: everything[5][2], 1: everything[EACH + 7][2]}, {0: everything[9][2], 2: everything[-3][2]}
    messages = once(
        broker.root,
        startingOffsetsByTimestamp=json.dumps({"orders": {str(queue): at_ms for queue, at_ms in starts.items()}}),
        endingOffsetsByTimestamp=json.dumps({"orders": {str(queue): at_ms for queue, at_ms in ends.items()}}),
    )
    assert messages == [
        (queue, offset, at_ms)
        for queue, offset, at_ms in everything
        if starts.get(queue, 0) <= at_ms < ends.get(queue, 1 << 62)
    ]
    assert len(messages) == 4 + 13 + 17


def test_times_are_below_the_name_of_their_store(broker: Broker, tmp_path: Path) -> None:
    other = Broker(tmp_path / "broker-b")
    other.put(3)
    named = json.dumps({made.root.name: str(made.root) for made in (broker, other)})
    at_ms = once(broker.root)[EACH - 2][2]
    of_store = {"stores": named, "queueId": "0", "columns": "queueId,queueOffset,storeTimestamp"}
    messages = read({**of_store, "startingOffsetsByTimestamp": f'{{"broker-a": {{"orders": {{"0": {at_ms}}}}}}}'})
    assert [offset for *_, offset, _ in messages] == [EACH - 2, EACH - 1, 0, 1, 2]
    with pytest.raises(ValueError, match=r"must be JSON \{store: \{topic: \{\"0\": time\}\}\} with times in ms"):
        read({**of_store, "startingOffsetsByTimestamp": '{"orders": {"0": 1}}'})
    other.store.crash()


def test_a_stream_begins_each_queue_at_its_time(broker: Broker) -> None:
    everything = once(broker.root)
    text = json.dumps({"orders": {"1": everything[EACH + 4][2], "2": everything[-1][2] + 60_000}})
    stream = streaming(path=str(broker.root), startingOffsetsByTimestamp=text)
    broker.put(1, queue_id=2)
    places = sorted(row[2:4] for row in stream.run())
    assert places == [(0, offset) for offset in range(EACH)] + [(1, offset) for offset in range(4, EACH)] + [(2, EACH)]
    strict = {"startingOffsetsByTimestamp": text, "startingOffsetsByTimestampStrategy": "error"}
    with pytest.raises(SandboxError, match=r"^Queue 2 of topic orders has no message stored at \d+ or later\."):
        once(broker.root, **strict)


@pytest.fixture
def world() -> Iterator[World]:
    """A cluster whose topic T has two queues with ten messages each, one a second."""
    made = World(2)
    for _ in range(10):
        for queue_id in (0, 1):
            made.send(1, queue_id=queue_id)
        made.pass_s(1)
    yield made
    made.loop.close()


def test_a_cluster_has_the_same_times(world: World) -> None:
    everything = [(row["queueId"], row["queueOffset"], row["storeTimestamp"]) for row in rows(world)]
    times = sorted({at_ms for *_, at_ms in everything})
    start_ms, end_ms = times[len(times) // 4], times[-len(times) // 4]
    messages = rows(world, startingTimestamp=str(start_ms), endingTimestamp=str(end_ms))
    assert [(row["queueId"], row["queueOffset"]) for row in messages] == [
        place[:2] for place in everything if start_ms <= place[2] < end_ms
    ]
    text = f'{{"T": {{"broker-a:1": {end_ms}}}}}'
    messages = rows(world, endingOffsetsByTimestamp=text)
    assert [(row["queueId"], row["queueOffset"]) for row in messages] == [
        place[:2] for place in everything if place[0] == 0 or place[2] < end_ms
    ]
    stream = of_cluster(world, startingOffsetsByTimestamp=text)
    stream.run()
    assert sorted(row[2:] for row in stream.rows) == [
        place[:2] for place in everything if place[0] == 0 or place[2] >= end_ms
    ]
    with pytest.raises(ClientError, match=r"^Option endingOffsetsByTimestamp names queue broker-a:7 of topic T, which"):
        rows(world, endingOffsetsByTimestamp='{"T": {"broker-a:7": 5}}')


def test_offsets_behind_the_end_of_a_queue_of_a_cluster_are_refused(world: World) -> None:
    """Case C25, its siblings."""
    past = '{"T": {"broker-a:0": 99}}'
    with pytest.raises(SandboxError, match=r"^startingOffsets is 99 for queue broker-a:0 of topic T, which ends at 10"):
        of_cluster(world, startingOffsets=past)
    with pytest.raises(SandboxError, match=r"^endingOffsets is 99 for queue broker-a:0 of topic T, which ends at 10"):
        rows(world, endingOffsets=past)
    assert len(rows(world, endingOffsets=past, failOnDataLoss="false")) == 20


def test_rows_of_a_cluster_have_instants_and_headers(world: World) -> None:
    [row, *_] = rows(world, columns="storeTimestamp,timestamp,properties", includeHeaders="true")
    assert round(row["timestamp"].timestamp() * 1_000) == row["storeTimestamp"]
    assert [(one["key"], one["value"].decode()) for one in row["headers"]] == row["properties"]
    assert options()["subscribe"] == "T"
