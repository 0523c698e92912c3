"""A running cluster as a source: each message once, whatever happens to its broker; without Spark, in virtual time."""

import json
from collections.abc import Callable, Iterator

import pytest

from sandbox.broker.acl_config import Account, AclConfig
from sandbox.client.config import ProducerConfig
from sandbox.client.producer import Producer
from sandbox.kernel.chance import Chance
from sandbox.kernel.errors import ConnectFailed, SandboxError, StoreError
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.pipeline.sources.cluster import ClusterReader
from sandbox.pipeline.sources.cluster_link import PATIENCE_S, NotForUs
from sandbox.pipeline.sources.cluster_options import asked_of
from sandbox.pipeline.sources.progress import behind
from sandbox.remoting.bodies import TopicConfig
from tests.pipeline.cluster_reads import READER, Place, dial, offsets, options, ranges, rows, streaming
from tests.pipeline.streams import Stream
from tests.sim.client_world import BROKER, BROKER_ADDRESS, START_MS, World

Worlds = Callable[..., World]
BROKER_IP = "10.0.0.2"
ADMIN = Account("the-reader", "the reader's secret", "", True)


@pytest.fixture
def worlds() -> Iterator[Worlds]:
    """Makes clusters, and ends them."""
    made: list[World] = []

    def make(queues: int = 2, *, seed: int | None = None, acl: AclConfig | None = None) -> World:
        made.append(World(queues, seed=seed, acl=acl))
        return made[-1]

    yield make
    for world in made:
        world.loop.close()


def send(world: World, batch: list[Message], queue_id: int) -> None:
    producer = Producer(ProducerConfig(group="P"), world.instance("filler"))

    async def scenario() -> None:
        await producer.start()
        queue = MessageQueue(batch[0].topic, BROKER, queue_id)
        await (producer.send_batch(batch, queue=queue) if len(batch) > 1 else producer.send(batch[0], queue=queue))
        await producer.shutdown()

    world.run(scenario())


def fill(world: World, count: int, *, queue_id: int = 0, body: bytes = b"body") -> None:
    """So many messages to T, in batches."""
    for begin in range(0, count, 250):
        send(
            world,
            [Message.make("T", body, keys=f"k{number}") for number in range(begin, min(count, begin + 250))],
            queue_id,
        )


def reading(world: World, **given: str) -> ClusterReader:
    return ClusterReader(asked_of(options(**given)), dial(world))


def once(stream: Stream, counts: dict[int, int], *others: Place) -> None:
    """It has read so many messages of each queue of T, each once."""
    stream.run()
    assert sorted(stream.rows) == [
        ("T", BROKER, queue_id, number) for queue_id, count in sorted(counts.items()) for number in range(count)
    ] + list(others)


def step_for(world: World, stream: Stream, seconds: int) -> None:
    for _ in range(seconds):
        stream.step()
        world.pass_s(1)


def reset(world: World) -> None:
    world.cruel.reset(READER, BROKER_IP)


def retention(world: World) -> None:
    """Every full file of the log is deleted, and the queues' files that led there."""
    world.broker.store.cleaning.age(1_000)
    world.broker.store.cleaning.clean(manual=True)


def test_each_message_is_one_row_with_all_it_says(worlds: Worlds) -> None:
    world = worlds()
    world.send(3, queue_id=1, tags="red")
    first, *others = rows(world)
    assert [row["queueOffset"] for row in others] == [1, 2]
    assert first["bornHost"].startswith("10.0.1.")
    assert {name: first[name] for name in ("topic", "broker", "queueId", "keys", "tags", "body", "storeHost")} == {
        "topic": "T",
        "broker": BROKER,
        "queueId": 1,
        "keys": "k0",
        "tags": "red",
        "body": b"body",
        "storeHost": BROKER_ADDRESS,
    }
    assert (dict(first["properties"])["TAGS"], first["bornTimestamp"] >= START_MS) == ("red", True)
    assert rows(world, columns="broker") == [{"broker": BROKER}] * 3


def test_batches_and_packed_bodies_come_as_they_were_sent(worlds: Worlds) -> None:
    world = worlds()
    fill(world, 250)
    send(world, [Message.make("T", b"z" * 20_000)], 1)
    found = rows(world)
    assert [row["keys"] for row in found[:250]] == [f"k{number % 250}" for number in range(250)]
    assert [(len(row["body"]), row["sysFlag"] & 1) for row in found[250:]] == [(20_000, 1)]


def test_a_read_ends_where_the_queues_ended_when_it_was_planned(worlds: Worlds) -> None:
    world = worlds()
    fill(world, 70)
    planned = ranges(world)
    fill(world, 30)
    assert planned == [("broker-a:0", 0, 70)]
    assert offsets(world) == {0: list(range(100))}


def test_offsets_by_queue_say_where_a_read_begins_and_ends(worlds: Worlds) -> None:
    world = worlds()
    fill(world, 50)
    fill(world, 20, queue_id=1)
    assert ranges(
        world,
        startingOffsets='{"T": {"broker-a:0": 17, "broker-a:1": -2}}',
        endingOffsets='{"T": {"broker-a:0": 20, "broker-a:1": -1}}',
    ) == [("broker-a:0", 17, 20), ("broker-a:1", 0, 20)]
    assert offsets(world, assign='{"T": ["broker-a:1"]}') == {1: list(range(20))}
    with pytest.raises(SandboxError, match=r"^Option startingOffsets names queue broker-a:7 of topic T, which is not"):
        ranges(world, startingOffsets='{"T": {"broker-a:7": 1}}')
    with pytest.raises(SandboxError, match=r"^Option assign names queue broker-b:0 of topic T, which does not exist"):
        ranges(world, assign='{"T": ["broker-b:0"]}')
    with pytest.raises(StoreError, match=r"^startingOffsets is 51 for queue broker-a:0 of topic T, which ends at 50"):
        ranges(world, startingOffsets='{"T": {"broker-a:0": 51}}')


def test_a_time_begins_with_the_first_message_stored_then_or_later(worlds: Worlds) -> None:
    world = worlds()
    for _ in range(40):
        world.send(1, queue_id=0)
        world.pass_s(1)
    times = [row["storeTimestamp"] for row in rows(world)]
    for number in (0, 1, 20, 39):
        for at_ms in (times[number], times[number] - 400, times[number] - 600):
            assert offsets(world, startingTimestamp=str(at_ms)) == {0: list(range(number, 40))}
    late = str(times[-1] + 1)
    assert ranges(world, startingTimestamp=late) == []
    with pytest.raises(SandboxError, match=r"^The queue broker-a:0 of topic T has no message stored at \d+ or later\."):
        ranges(world, startingTimestamp=late, startingOffsetsByTimestampStrategy="error")


def test_a_time_is_found_across_files_of_a_queue(worlds: Worlds) -> None:
    """RocketMQ's own answer is within one file, chosen by when the file changed last."""
    world = worlds()
    for _ in range(30):
        fill(world, 100)
        world.pass_s(1)
    times = [row["storeTimestamp"] for row in rows(world, columns="storeTimestamp")]
    for number in (100, 900, 1_000, 1_100, 2_000, 2_900):
        assert ranges(world, startingTimestamp=str(times[number]))[0][1] == number


def test_ranges_are_split_evenly_into_as_many_partitions_as_are_wanted(worlds: Worlds) -> None:
    world = worlds()
    fill(world, 90)
    fill(world, 10, queue_id=1)
    assert ranges(world, minPartitions="4") == [
        ("broker-a:0", 0, 30),
        ("broker-a:0", 30, 60),
        ("broker-a:0", 60, 90),
        ("broker-a:1", 0, 10),
    ]
    assert len(ranges(world, minPartitions="1000")) == 100
    assert offsets(world, minPartitions="7") == {0: list(range(90)), 1: list(range(10))}


def test_a_pattern_matches_whole_names_and_no_topic_of_the_system_or_of_groups(worlds: Worlds) -> None:
    world = worlds()
    for topic in ("orders", "orders-old", "%RETRY%orders", "%DLQ%orders"):
        world.broker.create_topic(TopicConfig(topic, 1, 1))
    world.pass_s(1)
    fill(world, 1)

    def topics(pattern: str) -> set[str]:
        stream = streaming(world, subscribePattern=pattern, startingOffsets="earliest")
        return set(json.loads(stream.begin))

    assert topics("orders") == {"orders"}
    assert topics(".*") == {"T", "orders", "orders-old"}
    assert topics("%DLQ%.*") == {"%DLQ%orders"}


def test_retention_during_a_read_is_said_or_left_out(worlds: Worlds) -> None:
    world = worlds()
    fill(world, 3_000, body=bytes(400))
    reader = reading(world)
    [partition] = reader.partitions()
    assert next(reader.read(partition)).num_rows == 3_000
    retention(world)
    with pytest.raises(StoreError, match=r"^Messages 0 to \d+ of queue broker-a:0 of topic T no longer exist"):
        list(reader.read(partition))
    left = offsets(world, failOnDataLoss="false")[0]
    assert 0 < left[0] < 3_000
    assert left == list(range(left[0], 3_000))
    loose = [row for batch in reading(world, failOnDataLoss="false").read(partition) for row in batch.to_pylist()]
    assert [row["queueOffset"] for row in loose] == left


def test_a_broker_that_comes_back_in_time_is_waited_for_and_one_that_stays_away_is_named(worlds: Worlds) -> None:
    world = worlds(seed=3)
    world.send(200, queue_id=0)
    [partition] = reading(world).partitions()
    world.cruel.partition(BROKER_IP, READER)
    world.clock.call_later(30, world.cruel.heal)
    found = [row["queueOffset"] for batch in reading(world).read(partition) for row in batch.to_pylist()]
    assert found == list(range(200))
    world.cruel.partition(BROKER_IP, READER)
    began_s = world.now_s
    with pytest.raises(ConnectFailed, match=r"^broker-a did not answer within \d+ s about queue broker-a:0 of t"):
        list(reading(world).read(partition))
    assert PATIENCE_S / 2 < world.now_s - began_s < 2 * PATIENCE_S


def test_a_topic_that_may_only_be_written_is_named(worlds: Worlds) -> None:
    world = worlds()
    world.broker.create_topic(TopicConfig("W", 2, 2, permission=2))
    world.pass_s(1)
    with pytest.raises(SandboxError, match=r"^The topic W has no readable queue: its permission lacks R"):
        rows(world, subscribe="W")


def test_no_name_server_no_topic_and_no_right_are_said_in_one_sentence(worlds: Worlds) -> None:
    world = worlds(acl=AclConfig((ADMIN,)))
    with pytest.raises(ConnectFailed, match=r"^No name server answers at 10\.0\.0\.77:9876: .*\. Start it, or corr"):
        rows(world, names="10.0.0.77:9876")
    with pytest.raises(SandboxError, match=r"^No topic U at 10\.0\.0\.1:9876\. Create it first, or correct"):
        rows(world, subscribe="T,U")
    for keys in ({}, {"accessKey": ADMIN.access_key, "secretKey": "another secret"}):
        with pytest.raises(NotForUs, match=r"^broker-a refuses reads of queue broker-a:0 of topic T: .*[^.]\.$"):
            rows(world, **keys)
    assert rows(world, accessKey=ADMIN.access_key, secretKey=ADMIN.secret_key) == []


def test_a_stream_reads_each_message_once_and_reports_what_waits(worlds: Worlds) -> None:
    world = worlds()
    fill(world, 250)
    stream = streaming(world, startingOffsets="earliest", maxOffsetsPerTrigger="100")
    fill(world, 50, queue_id=1)
    assert stream.step() == 100
    latest = stream.reader.reportLatestOffset()
    assert latest == {"T": {"broker-a:0": 250, "broker-a:1": 50}}
    assert behind({"latestOffset": json.dumps(latest), "endOffset": stream.last}) == 200
    once(stream, {0: 250, 1: 50})


def test_a_stream_begins_late_and_keeps_that_place_when_it_is_killed_in_its_first_batch(worlds: Worlds) -> None:
    world = worlds()
    fill(world, 20)
    for by_time in (False, True):
        begin = world.broker.store.max_offset("T", 0)
        stream = streaming(world, **({"startingTimestamp": str(world.clock.now_ms() + 500)} if by_time else {}))
        world.pass_s(1)
        fill(world, 5)
        stream.plan()
        stream.start()
        fill(world, 5)
        assert [place[3] for place in stream.run()] == list(range(begin, begin + 10))


def test_a_stream_finds_new_queues_and_new_topics_from_their_first_message(worlds: Worlds) -> None:
    world = worlds()
    stream = streaming(world, subscribePattern="[TU]")
    fill(world, 10)
    stream.run()
    world.broker.create_topic(TopicConfig("T", 3, 3))
    world.broker.create_topic(TopicConfig("U", 1, 1))
    fill(world, 7, queue_id=2)
    send(world, [Message.make("U", b"u")], 0)
    world.pass_s(31)
    once(stream, {0: 10, 2: 7}, ("U", BROKER, 0, 0))


def test_a_stream_waits_for_enough_messages_but_not_for_ever(worlds: Worlds) -> None:
    world = worlds()
    fill(world, 5)
    stream = streaming(world, startingOffsets="earliest", minOffsetsPerTrigger="50", maxTriggerDelay="2m")
    assert stream.step() == 5, "the first batch comes at once"
    fill(world, 49)
    assert stream.step() is None
    fill(world, 1)
    assert stream.step() == 50
    fill(world, 3)
    assert stream.step() is None
    world.pass_s(120)
    assert stream.step() == 3
    fill(world, 3)
    stream.reader.prepareForTriggerAvailableNow()
    assert stream.step() == 3, "it reads what is available now"


def test_what_is_available_now_is_read_and_no_more(worlds: Worlds) -> None:
    world = worlds()
    fill(world, 50)
    stream = streaming(world, startingOffsets="earliest", maxOffsetsPerTrigger="20")
    stream.reader.prepareForTriggerAvailableNow()
    fill(world, 50)
    fill(world, 50, queue_id=1)
    assert len(stream.run()) == 50


def test_what_is_available_now_is_waited_for_when_its_broker_is_away(worlds: Worlds) -> None:
    world = worlds(seed=5)
    world.send(30, queue_id=0)
    stream = streaming(world, startingOffsets="earliest", maxOffsetsPerTrigger="20")
    world.cruel.partition(BROKER_IP, READER)
    world.clock.call_later(20, world.cruel.heal)
    stream.reader.prepareForTriggerAvailableNow()
    assert stream.step() == 20
    world.cruel.partition(BROKER_IP, READER)
    world.clock.call_later(20, world.cruel.heal)
    assert len(stream.run()) == 10


def test_retention_before_a_stream_has_read_is_said_or_left_out(worlds: Worlds) -> None:
    world = worlds()
    fill(world, 100, body=bytes(400))
    streams = [streaming(world, startingOffsets="earliest", failOnDataLoss=how) for how in ("true", "false")]
    for stream in streams:
        stream.step()
    fill(world, 3_000, body=bytes(400))
    retention(world)
    with pytest.raises(StoreError, match=r"^Messages 100 to \d+ of queue broker-a:0 of topic T no longer exist"):
        streams[0].run()
    streams[1].run()
    read = [place[3] for place in streams[1].rows]
    assert read[:100] == list(range(100))
    assert read[100:] == list(range(read[100], 3_100))


def test_a_stream_whose_broker_is_away_goes_on_when_it_is_back_and_ends_when_it_stays_away(worlds: Worlds) -> None:
    world = worlds()
    fill(world, 10)
    stream = streaming(world, startingOffsets="earliest")
    stream.run()
    world.broker.stop()
    world.network.unlisten(BROKER_ADDRESS)
    for _ in range(10):
        assert stream.step() is None
        world.pass_s(2)
    world.start_broker()
    world.pass_s(10)
    fill(world, 10)
    once(stream, {0: 20})
    world.broker.stop()
    world.network.unlisten(BROKER_ADDRESS)
    with pytest.raises(SandboxError, match=r"broker-a:0 of topic T"):
        step_for(world, stream, 200)
    assert len(stream.rows) == 20


def test_a_topic_that_is_deleted_ends_a_strict_stream_and_not_a_loose_one(worlds: Worlds) -> None:
    world = worlds()
    fill(world, 10)
    streams = [streaming(world, startingOffsets="earliest", failOnDataLoss=how) for how in ("true", "false")]
    for stream in streams:
        stream.run()
    world.broker.delete_topic("T")
    world.name_server.delete_topic("T")
    world.pass_s(31)
    with pytest.raises(StoreError, match=r"^The name servers no longer have queue broker-a:0 of topic T: it was"):
        step_for(world, streams[0], 200)
    assert streams[1].run() == []
    assert streams[1].rows == streams[0].rows
    world.broker.create_topic(TopicConfig("T", 2, 2))
    world.pass_s(31)
    fill(world, 4)
    with pytest.raises(StoreError, match=r"^The queue broker-a:0 of topic T ends at 4 and has no offset 10 to con"):
        streams[0].run()
    assert streams[1].run() == [("T", BROKER, 0, n) for n in range(4)]


@pytest.mark.parametrize("seed", range(6))
def test_a_stream_that_is_killed_while_its_network_breaks_reads_each_message_once(worlds: Worlds, seed: int) -> None:
    world, chance = worlds(3, seed=seed), Chance(f"kills {seed}")
    stream = streaming(world, startingOffsets="earliest", maxOffsetsPerTrigger="40", minPartitions="5")
    sent = [0, 0, 0]
    for _ in range(25):
        queue_id = chance.below(3)
        world.send(1 + chance.below(20), queue_id=queue_id)
        sent[queue_id] = world.broker.store.max_offset("T", queue_id)
        if chance.random() < 0.4:
            world.cruel.partition(BROKER_IP, READER, one_way=chance.random() < 0.5)
            world.clock.call_later(chance.between(0.1, 20.0), world.cruel.heal)
        world.clock.call_later(chance.between(0, 1.0), lambda: reset(world))
        if stream.plan():
            found = stream.read()  # that is lost with the process, which is killed before it commits
            if chance.random() < 0.6:
                stream.commit(found)
        if chance.random() < 0.5:
            stream.start()
    world.cruel.heal()
    world.pass_s(10)
    once(stream, {queue_id: count for queue_id, count in enumerate(sent) if count})
