"""Positions of a store stream, taken from the disk: every message exactly once after any interruption."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from sandbox.kernel.errors import StoreError
from sandbox.pipeline.sources import store
from sandbox.pipeline.sources import store_offsets as offsets
from sandbox.pipeline.sources.store import LogPartition, StoreSource
from sandbox.pipeline.sources.store_offsets import Extent, Position, Queue, Slice
from sandbox.pipeline.sources.store_options import Root
from sandbox.pipeline.sources.store_stream import StoreStreamReader, asked_of
from sandbox.store.reader import StoreReader
from sandbox.store_columns.queue_positions import EVERYTHING
from tests.pipeline.store_reads import Broker, reported, streaming

ORDERS = Queue("", "orders", 0)


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[list[Broker]]:
    made = [Broker(tmp_path / name) for name in ("broker-a", "broker-b")]
    yield made
    for broker in made:
        broker.store.crash()


@pytest.fixture
def broker(brokers: list[Broker]) -> Broker:
    return brokers[0]


@pytest.mark.parametrize("seed", range(8))
def test_cut_anywhere_and_started_again_a_stream_gives_every_row_exactly_once(brokers: list[Broker], seed: int) -> None:
    chance = Random(seed)
    for made in brokers:
        made.put(1)
    stream = streaming(
        stores=json.dumps({made.root.name: str(made.root) for made in brokers}),
        **({"maxOffsetsPerTrigger": "7"} if seed % 2 else {}),
    )
    for _ in range(60):
        what = chance.choice(["put", "put", "plan", "read", "commit", "restart", "kill"])
        if what == "put":
            chance.choice(brokers).put(
                chance.randrange(1, 9), topic=chance.choice(["orders", "payments"]), queue_id=chance.randrange(3)
            )
        elif what == "kill":
            made = chance.choice(brokers)
            made.store = made.stores.killed(made.store)
        elif what == "restart":
            stream.start()
        elif stream.plan():
            rows = stream.read()
            if what == "commit":
                stream.commit(rows)
    stream.run()
    assert sorted(stream.rows, key=str) == sorted(
        (row for made in brokers for row in reported(made.root, made.root.name)), key=str
    )
    assert len(stream.rows) == sum(made.count for made in brokers)


def test_a_batch_holds_at_most_what_was_asked_for_and_each_queue_its_share(broker: Broker) -> None:
    broker.put(30)
    broker.put(10, queue_id=1)
    stream = streaming(path=str(broker.root), maxOffsetsPerTrigger="8")
    sizes = []
    while stream.plan():
        rows = stream.read()
        sizes.append([sum(row[2] == queue_id for row in rows) for queue_id in (0, 1)])
        stream.commit(rows)
    assert sizes == [[6, 2]] * 5


def test_a_stream_begins_where_it_was_asked_to(broker: Broker) -> None:
    broker.put(10)
    broker.put(10, queue_id=1)
    late = streaming(path=str(broker.root), startingOffsets="latest")
    named = streaming(path=str(broker.root), startingOffsets='{"orders": {"0": 7, "1": -1}}')
    broker.put(1, queue_id=1)
    broker.put(1, topic="payments")
    assert [row[1:4] for row in late.run()] == [("orders", 1, 10), ("payments", 0, 0)]
    assert [row[1:4] for row in named.run()] == [
        ("orders", 0, 7),
        ("orders", 0, 8),
        ("orders", 0, 9),
        ("orders", 1, 10),
        ("payments", 0, 0),
    ]


@pytest.mark.parametrize("meanwhile", [0, 3])
def test_a_stream_that_begins_late_begins_there_also_when_its_first_batch_never_ended(
    broker: Broker, meanwhile: int
) -> None:
    """Without a message between the kill and the new start it is not taken for idle."""
    broker.put(2)
    stream = streaming(path=str(broker.root), startingOffsets="latest")
    assert stream.plan()
    broker.put(meanwhile)
    stream.start()
    broker.put(3 - meanwhile)
    stream.reader.prepareForTriggerAvailableNow()
    assert [row[3] for row in stream.run()] == [2, 3, 4]


def test_to_read_what_is_there_now_ends_there(broker: Broker) -> None:
    broker.put(5)
    stream = streaming(path=str(broker.root), maxOffsetsPerTrigger="2")
    stream.reader.prepareForTriggerAvailableNow()
    broker.put(5)
    broker.put(5, topic="payments")
    assert len(stream.run()) == 5


def test_without_a_limit_from_spark_the_option_does_not_count(broker: Broker) -> None:
    broker.put(9)
    reader = StoreStreamReader(asked_of({"path": str(broker.root), "maxOffsetsPerTrigger": "2"}))
    assert reader.getDefaultReadLimit() == ReadMaxRows(2)
    assert reader.latestOffset(reader.initialOffset(), ReadAllAvailable()) == {"orders": {"0": 9}}


def test_messages_removed_before_the_read_are_reported_or_omitted(broker: Broker) -> None:
    broker.put(5)
    strict = streaming(path=str(broker.root))
    loose = streaming(path=str(broker.root), failOnDataLoss="false")
    strict.run()
    loose.run()
    broker.put(60)
    broker.remove_old()
    first = offsets.extents([Root(None, broker.root)], EVERYTHING)[ORDERS].first
    assert first > 5
    with pytest.raises(StoreError) as why:
        strict.run()
    assert str(why.value) == (
        f"Queue 0 of topic orders no longer has the messages 5 to {first - 1}: retention removed "
        "them before they were read. Set failOnDataLoss to false to continue with the existing messages."
    )
    assert [row[3] for row in loose.run()] == list(range(first, 65))


def test_messages_removed_between_plan_and_read_are_reported_or_omitted(broker: Broker) -> None:
    broker.put(60)
    strict = streaming(path=str(broker.root))
    loose = streaming(path=str(broker.root), failOnDataLoss="false")
    plans = []
    for stream in (strict, loose):
        stream.plan()
        plans.append(stream.reader.partitions(json.loads(stream.last), json.loads(stream.ends[0])))
    broker.remove_old()
    with pytest.raises(StoreError, match="Queue 0 of topic orders no longer has the messages 0 to"):
        [list(strict.reader.read(partition)) for partition in plans[0]]
    left = [
        row["queueOffset"]
        for partition in plans[1]
        for batch in loose.reader.read(partition)
        for row in batch.to_pylist()
    ]
    with StoreReader(broker.root) as reader:
        assert left == [m.queue_offset for m in reader.records()]


def test_a_recreated_queue_is_reported_and_an_offline_queue_keeps_its_position(broker: Broker) -> None:
    broker.put(20)
    broker.put(3, queue_id=1)
    stream = streaming(path=str(broker.root))
    stream.run()
    away = broker.root / "consumequeue" / "orders" / "1"
    away.rename(broker.root / "away")
    broker.put(1)
    assert [row[2:4] for row in stream.run()] == [(0, 20)]
    (broker.root / "away").rename(away)
    assert stream.run() == []
    Path(away / f"{0:020}").write_bytes(bytes(200))
    with pytest.raises(StoreError, match="Queue 1 of topic orders ends at 0 and has no offset 3 to continue from"):
        stream.run()


def test_a_store_that_is_gone_is_said_in_a_sentence(broker: Broker) -> None:
    broker.put(1)
    stream = streaming(path=str(broker.root))
    shutil.rmtree(broker.root)
    with pytest.raises(StoreError, match="broker-a is not a store: there is no such directory"):
        stream.run()


def test_a_queue_that_began_in_the_middle_lost_nothing(broker: Broker) -> None:
    broker.put(3)
    stream = streaming(path=str(broker.root), topic="orders")
    stream.run()
    filler = bytes(8) + (0x7FFF_FFFF).to_bytes(4, "big") + bytes(8)
    new = broker.root / "consumequeue" / "orders" / "4"
    shutil.copytree(broker.root / "consumequeue" / "orders" / "0", new)
    (new / f"{0:020}").write_bytes(filler * 10)
    assert stream.run() == [], "units that stand for no message"


def test_reading_once_ends_where_the_store_ended_when_it_was_planned(broker: Broker) -> None:
    broker.put(30)
    reader = StoreSource({"path": str(broker.root), "startingOffsets": '{"orders": {"0": 4}}'}).reader(None)
    partitions = [part for part in reader.partitions() if isinstance(part, LogPartition)]
    broker.put(3)
    broker.put(3, topic="payments")
    found = [row["queueOffset"] for part in partitions for batch in reader.read(part) for row in batch.to_pylist()]
    assert found == list(range(4, 30))
    ended = StoreSource({"path": str(broker.root), "endingOffsets": '{"orders": {"0": 2}}', "topic": "orders"})
    again = ended.reader(None)
    assert [
        row["queueOffset"] for part in again.partitions() for batch in again.read(part) for row in batch.to_pylist()
    ] == [0, 1]


def test_a_batch_read_reports_messages_deleted_during_the_read(broker: Broker) -> None:
    broker.put(60)
    partitions, reader = _planned(path=str(broker.root))
    loose, careless = _planned(path=str(broker.root), failOnDataLoss="false")
    broker.remove_old()
    with pytest.raises(StoreError, match="00000000000000000000 was deleted during the read, by retention"):
        [list(reader.read(part)) for part in partitions]
    kept = [row["queueOffset"] for part in loose for batch in careless.read(part) for row in batch.to_pylist()]
    with StoreReader(broker.root) as left:
        assert kept == [m.queue_offset for m in left.records()]


def _planned(**given_options: str) -> tuple[list[Any], Any]:
    reader = StoreSource(given_options).reader(None)
    return list(reader.partitions()), reader


def test_tasks_read_small_files_together_and_large_ones_in_parts(
    brokers: list[Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    for made in brokers:
        made.put(40)
    named = json.dumps({made.root.name: str(made.root) for made in brokers})
    together, reader = _planned(stores=named)
    assert len(together) == 1
    monkeypatch.setattr(store, "TASK_BYTES", 1_000)
    monkeypatch.setattr(store, "SMALL_TASK_BYTES", 0)
    apart, _ = _planned(stores=named)
    assert len(apart) > 2 * 40 * 200 // 1_000
    rows = [
        [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]
        for parts in (together, apart)
    ]
    assert rows[0] == rows[1]
    assert [(row["store"], row["queueOffset"]) for row in rows[0]] == [
        (made.root.name, n) for made in brokers for n in range(40)
    ]


def test_a_young_store_has_no_rows(broker: Broker) -> None:
    (broker.root / "checkpoint").write_bytes(bytes(4_096))
    (broker.root / "config").mkdir()
    partitions, _ = _planned(path=str(broker.root))
    assert partitions == []
    assert streaming(path=str(broker.root)).run() == []


QUEUES = st.builds(Queue, st.sampled_from(["", "a"]), st.sampled_from(["orders", "payments"]), st.integers(0, 9))


@settings(deadline=None)  # machines are shared
@given(st.dictionaries(QUEUES, st.integers(0, 1_000)), st.integers(1, 3_000))
def test_shares_are_whole_and_together_what_was_granted(waiting: dict[Queue, int], most: int) -> None:
    given_each = offsets.shares(waiting, most)
    assert sum(given_each.values()) == min(most, sum(waiting.values()))
    assert all(0 <= given_each[queue] <= count for queue, count in waiting.items())


@settings(deadline=None)
@given(st.dictionaries(QUEUES.filter(lambda queue: queue.store == "a"), st.integers(0, 2**62)))
def test_positions_are_json_and_back(stands: dict[Queue, int]) -> None:
    position = Position(frozenset({"a", "b"}), stands)
    text = json.dumps(offsets.plain(position, named=True))
    assert offsets.position_of(json.loads(text), named=True) == position


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            lambda queue, start, count: Slice(queue, start, start + count),
            QUEUES,
            st.integers(0, 99),
            st.integers(1, 50),
        )
    ),
    st.integers(1, 40),
)
def test_tasks_have_every_message_once_and_are_even(slices: list[Slice], most: int) -> None:
    groups = offsets.packed(slices, most)
    assert [(piece.queue, n) for group in groups for piece in group for n in range(piece.start, piece.end)] == [
        (piece.queue, n) for piece in slices for n in range(piece.start, piece.end)
    ]
    sizes = [sum(piece.end - piece.start for piece in group) for group in groups]
    assert all(size == most for size in sizes[:-1])
    assert all(0 < size <= most for size in sizes[-1:])


def test_a_new_queue_of_a_known_store_that_already_lost_messages_is_reported() -> None:
    found = {ORDERS: Extent(5, 9, 9, began_there=False)}
    with pytest.raises(StoreError, match="no longer has the messages 0 to 4"):
        offsets.begins(Position(frozenset({""}), {}), found, fail_on_data_loss=True)
    assert offsets.begins(Position(frozenset(), {}), found, fail_on_data_loss=True) == {ORDERS: 5}
