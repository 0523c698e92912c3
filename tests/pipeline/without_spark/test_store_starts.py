"""A store read from a time on: the first message stored then or later, found without a broker."""

import json
from collections.abc import Iterator
from pathlib import Path
from struct import pack

import pytest

from sandbox.kernel.errors import SandboxError
from sandbox.pipeline.sources.store import StoreSource
from tests.golden.golden_stores import unpack
from tests.pipeline.store_reads import Broker, filled_in_turn, streaming, written
from tests.unit.store.damage import overwrite
from tests.unit.store.stores import Stores, message

QUEUES, EACH = 3, 25  # several files of a queue and of the log


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """Queues of `orders` with a message a second in turn."""
    with filled_in_turn(tmp_path / "broker-a", QUEUES, EACH) as made:
        yield made


def once(root: Path, **options: str) -> list[tuple[int, int, int]]:
    """Queue, offset and store time of the rows of reading once."""
    reader = StoreSource({"path": str(root), "columns": "queueId,queueOffset,storeTimestamp", **options}).reader(None)
    return sorted(
        tuple(row.values()) for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()
    )


def test_a_time_begins_every_queue_with_its_first_message_stored_then_or_later(broker: Broker) -> None:
    everything = once(broker.root)
    times = sorted(time for _, _, time in everything)
    for number in (0, 1, 31, 40, len(times) - 1):
        for at_ms in (times[number], times[number] - 400, times[number] - 600):
            later = [row for row in everything if row[2] >= at_ms]
            assert once(broker.root, startingTimestamp=str(at_ms)) == later
            stream = streaming(path=str(broker.root), startingTimestamp=str(at_ms))
            assert sorted(row[2:4] for row in stream.run()) == [row[:2] for row in later]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"startingOffsets": '{"orders": {"0": 100}}'},
            "startingOffsets is 100 for queue 0 of topic orders, which ends at 25. Choose an offset up to 25, "
            "or set failOnDataLoss to false to read the existing messages.",
        ),
        (
            {"startingOffsets": '{"orders": {"0": 20}}', "endingOffsets": '{"orders": {"0": 10}}'},
            "startingOffsets is 20 for queue 0 of topic orders, and endingOffsets is 10. Choose a start "
            "before the end.",
        ),
    ],
)
def test_offsets_that_are_no_range_of_their_queue_are_refused(
    broker: Broker, options: dict[str, str], sentence: str
) -> None:
    """Case C25."""
    with pytest.raises(SandboxError) as refused:
        once(broker.root, **options)
    assert str(refused.value) == sentence
    assert once(broker.root, startingOffsets='{"orders": {"0": 25}}', queueId="0") == []


def test_offsets_behind_the_end_of_their_queue_are_refused_of_a_stream_and_as_an_end_too(broker: Broker) -> None:
    """Case C25, its siblings."""
    past = '{"orders": {"0": 100}}'
    with pytest.raises(SandboxError, match=r"^startingOffsets is 100 for queue 0 of topic orders, which ends at 25\."):
        streaming(path=str(broker.root), startingOffsets=past)
    with pytest.raises(SandboxError, match=r"^endingOffsets is 100 for queue 0 of topic orders, which ends at 25\. Ch"):
        once(broker.root, endingOffsets=past)
    lenient = {"failOnDataLoss": "false", "queueId": "0"}
    assert len(once(broker.root, endingOffsets=past, **lenient)) == EACH
    assert len(streaming(path=str(broker.root), startingOffsets=past, **lenient).run()) == EACH


def test_a_time_counts_for_the_queues_that_are_read_of_every_store(broker: Broker, tmp_path: Path) -> None:
    other = Broker(tmp_path / "broker-b")
    other.put(3)
    at_ms = once(broker.root)[-1][2]
    named = json.dumps({made.root.name: str(made.root) for made in (broker, other)})
    reader = StoreSource(
        {"stores": named, "queueId": "0,2", "startingTimestamp": str(at_ms), "columns": "store,queueId,queueOffset"}
    ).reader(None)
    rows = [
        tuple(row.values()) for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()
    ]
    assert rows == [("broker-a", 2, EACH - 1)], "those of the other store are older"
    other.store.crash()


def test_where_no_message_is_as_late_a_queue_begins_at_its_end_or_it_is_an_error(broker: Broker) -> None:
    late = str(once(broker.root)[-1][2] + 1)
    assert once(broker.root, startingTimestamp=late) == []
    stream = streaming(path=str(broker.root), startingTimestamp=late)
    broker.put(1, queue_id=1)
    assert [row[2:4] for row in stream.run()] == [(1, EACH)]
    strict = {"startingTimestamp": str(int(late) + 10_000), "startingOffsetsByTimestampStrategy": "error"}
    for read in (lambda: once(broker.root, **strict), lambda: streaming(path=str(broker.root), **strict)):
        with pytest.raises(SandboxError, match=r"^Queue 0 of topic orders has no message stored at \d+ or later\. Se"):
            read()


def test_a_stream_that_begins_at_a_time_keeps_that_place_when_it_is_killed_in_its_first_batch(broker: Broker) -> None:
    stream = streaming(path=str(broker.root), startingTimestamp=str(once(broker.root)[-1][2] + 500), queueId="0")
    assert stream.plan()
    broker.stores.advance(60)
    broker.put(2)
    stream.start()
    broker.put(3)
    assert [row[3] for row in stream.run()] == list(range(EACH, EACH + 5))


def test_a_checkpoint_decides_and_not_the_time(broker: Broker) -> None:
    begun = streaming(path=str(broker.root))
    begun.run()
    resumed = streaming(path=str(broker.root), startingTimestamp="0")
    resumed.ends, resumed.committed = begun.ends, begun.committed
    resumed.start()
    broker.put(1)
    assert [row[2:4] for row in resumed.run()] == [(0, EACH)]


def test_messages_retention_took_are_not_asked_for_their_time(broker: Broker) -> None:
    broker.remove_old()
    left = once(broker.root)
    assert 0 < len(left) < QUEUES * EACH
    assert once(broker.root, startingTimestamp="0") == left


@pytest.mark.parametrize("name", ["basic-clean", "basic-crash"])
def test_of_a_store_a_real_broker_wrote_a_time_gives_what_filtering_gives(tmp_path: Path, name: str) -> None:
    root = unpack(name, tmp_path)
    everything = once(root)
    times = sorted({time for _, _, time in everything})
    for at_ms in times[:: max(1, len(times) // 20)]:
        assert once(root, startingTimestamp=str(at_ms)) == [row for row in everything if row[2] >= at_ms]


COUNT = 300
UNITS = f"consumequeue/orders/0/{0:020}"


@pytest.mark.parametrize("unit", [bytes(20), pack(">qiq", 1 << 60, 205, 0), pack(">qiq", 0, 205, 0)])
@pytest.mark.parametrize("number", [0, 1, 149, 150, 151, 298])
def test_a_damaged_unit_moves_no_start(tmp_path: Path, number: int, unit: bytes) -> None:
    stores = Stores(consume_queue_file_entries=1_000, commit_log_file_bytes=1 << 16)
    store = stores.opened()
    stores.put(store, *(message(each) for each in range(COUNT)), each_s=1)
    store.close()
    root = written(stores.sim_disk.image(), tmp_path / "store")
    times = [row[2] for row in once(root)]
    overwrite(root / UNITS, 20 * number, unit)
    for at in (0, 1, 100, 148, 149, 150, 151, 152, 298, 299):
        assert [row[1] for row in once(root, startingTimestamp=str(times[at]))] == [
            one for one in range(at, COUNT) if one != number
        ]
