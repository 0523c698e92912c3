"""The sink's rows: each stored once, whatever breaks between them and the broker; without Spark, in virtual time."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pytest
from pyspark.sql.types import StringType, StructField, StructType

from sandbox.kernel.chance import Chance
from sandbox.kernel.errors import ConnectFailed, SandboxError
from sandbox.message.message import StoredMessage
from sandbox.pipeline.sinks.rocketmq import RUNS_REMEMBERED, maybe_again, target_of
from sandbox.pipeline.sinks.rows import Naming, Row, check_columns, message, rows_of
from sandbox.pipeline.sinks.sending import PACKET_BYTES, PACKET_ROWS, TRIES, Cluster, Sender, packets
from tests.sim.client_world import NAME_SERVER, World

WRITER = "10.0.9.9"
Worlds = Callable[..., World]


@pytest.fixture
def worlds() -> Iterator[Worlds]:
    """Makes clusters, and ends them."""
    made: list[World] = []

    def make(seed: int | None = None) -> World:
        made.append(World(seed=seed))
        return made[-1]

    yield make
    for world in made:
        world.loop.close()


def row(
    number: int, *, queue_id: int | None = None, topic: str = "T", body: bytes | None = None, delay_level: int = 0
) -> Row:
    return Row(
        topic,
        b"row %d" % number if body is None else body,
        f"key{number}",
        "red",
        (("colour", "blue"),),
        queue_id,
        delay_level,
    )


def rows(count: int, *, queue_id: int | None = None) -> list[Row]:
    return [row(number, queue_id=queue_id) for number in range(count)]


def write(
    world: World,
    given: Sequence[Row],
    *,
    asks: bool = False,
    epoch: int = 7,
    partition: int = 0,
    name_server: str = NAME_SERVER,
) -> Sender:
    """One attempt of a task, whole."""
    sender = Sender(
        Cluster((name_server,)),
        Naming("query", epoch, partition),
        clock=world.clock,
        chance=Chance("sink"),
        connector=world.network.connector(WRITER),
        instance_name="w",
        asks=asks,
    )

    async def scenario() -> None:
        try:
            await sender.open()
            await sender.send(given)
        finally:
            await sender.close()

    world.run(scenario())
    return sender


def stored(world: World, topic: str = "T") -> list[StoredMessage]:
    store = world.broker.store
    units = [store.unit(topic, queue, offset) for queue in range(8) for offset in range(store.max_offset(topic, queue))]
    return [
        message
        for unit in units
        if unit is not None and (message := store.read_message(unit.physical_offset)) is not None
    ]


def bodies(world: World, topic: str = "T") -> Counter[bytes]:
    return Counter(message.body for message in stored(world, topic))


def once(given: Sequence[Row]) -> Counter[bytes]:
    return Counter(one.body for one in given)


def test_a_row_becomes_a_message_with_all_it_says(worlds: Worlds) -> None:
    world = worlds()
    write(world, [row(1)])
    [found] = stored(world)
    assert (found.body, found.properties["KEYS"], found.properties["TAGS"], found.properties["colour"]) == (
        b"row 1",
        "key1",
        "red",
        "blue",
    )


def test_rows_without_a_queue_go_round_and_rows_with_one_keep_their_order(worlds: Worlds) -> None:
    world = worlds()
    write(world, rows(8 * PACKET_ROWS))
    assert {message.queue_id for message in stored(world)} == set(range(8))
    world = worlds()
    write(world, rows(3 * PACKET_ROWS + 1, queue_id=5))
    found = stored(world)
    assert {message.queue_id for message in found} == {5}
    assert [message.body for message in found] == [one.body for one in rows(3 * PACKET_ROWS + 1)]


@pytest.mark.parametrize("there", [0, 1, PACKET_ROWS, 300, 1_000])
def test_a_second_attempt_sends_what_the_first_did_not(worlds: Worlds, there: int) -> None:
    world, given = worlds(), rows(1_000)
    if there:
        write(world, given[:there])
    again = write(world, given, asks=True)
    assert bodies(world) == once(given)
    assert (again.found, again.sent) == (there, 1_000 - there)


def test_a_second_attempt_may_have_the_rows_in_another_order_and_some_may_say_the_same(worlds: Worlds) -> None:
    world = worlds()
    given = rows(50) + rows(50) + [row(3)]
    write(world, given[:70])
    shuffled = list(given)
    Chance(3).shuffle(shuffled)
    write(world, shuffled, asks=True)
    assert bodies(world) == once(given)
    assert bodies(world)[b"row 3"] == 3


def test_another_epoch_and_another_partition_are_other_rows(worlds: Worlds) -> None:
    world = worlds()
    for epoch, partition in ((7, 0), (8, 0), (7, 1)):
        write(world, rows(10), asks=True, epoch=epoch, partition=partition)
    assert set(bodies(world).values()) == {3}


def test_delayed_rows_are_known_again_while_they_wait_and_after(worlds: Worlds) -> None:
    world = worlds()
    given = [row(number, delay_level=2) for number in range(5)]
    write(world, given)
    assert write(world, given, asks=True).found == 5
    world.pass_s(10)
    assert bodies(world) == once(given)
    assert write(world, given, asks=True).found == 5
    world.pass_s(10)
    assert bodies(world) == once(given)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_a_network_swallows_every_row_is_stored_once(worlds: Worlds, seed: int) -> None:
    """Answers are lost, connections break, packets vanish; the writer goes on, or a second attempt does."""
    world, given = worlds(seed=seed), rows(2_000, queue_id=seed % 8)
    chance = Chance(f"troubles {seed}")
    at_s = 0.0
    for _ in range(4):
        at_s += chance.between(0.02, 0.6)
        for_s = chance.between(0.1, 60.0)
        one_way = chance.random() < 0.7
        world.clock.call_later(at_s, lambda one_way=one_way: world.cruel.partition("10.0.0.2", WRITER, one_way=one_way))
        world.clock.call_later(at_s + for_s, world.cruel.heal)
        world.clock.call_later(at_s + chance.between(0, 3.0), lambda: world.cruel.reset(WRITER, "10.0.0.2"))
    attempts = 0
    while True:
        attempts += 1
        try:
            write(world, given, asks=attempts > 1)
            break
        except SandboxError:
            assert attempts < 10
            world.pass_s(10)
    world.pass_s(60)
    assert bodies(world) == once(given)


def test_no_name_server_at_that_address_is_said_in_one_sentence(worlds: Worlds) -> None:
    with pytest.raises(ConnectFailed, match=r"^No name server answers at 10\.0\.0\.77:9876: .*"):
        write(worlds(), rows(1), name_server="10.0.0.77:9876")


def test_no_such_topic_and_no_such_queue_are_said_in_one_sentence(worlds: Worlds) -> None:
    world = worlds()
    with pytest.raises(SandboxError, match=r"^No topic Nowhere at 10\.0\.0\.1:9876\. Create it first\.$"):
        write(world, [row(1, topic="Nowhere")])
    with pytest.raises(SandboxError, match=r"^The topic T has no queue 8: its queues are 0 to 7\.$"):
        write(world, [row(1, queue_id=8)])


def test_a_body_over_the_limit_is_said_in_one_sentence(worlds: Worlds) -> None:
    with pytest.raises(SandboxError, match=r"^broker-a does not accept a message of 5000000 bytes for T: .*4194304\.$"):
        write(worlds(), [row(1, body=bytes(5_000_000))])


def test_a_broker_that_stays_away_fails_the_write_after_all_tries(worlds: Worlds) -> None:
    world = worlds(seed=1)
    world.clock.call_later(0.5, lambda: world.cruel.partition("10.0.0.2", WRITER))
    began_s = world.now_s
    with pytest.raises(ConnectFailed, match="broker-a does not accept messages for T"):
        write(world, [row(number, queue_id=0) for number in range(5_000)])
    assert world.now_s - began_s > 2**TRIES - 2


def test_a_broker_that_takes_nothing_for_a_while_is_waited_for(worlds: Worlds) -> None:
    """Its disk is full, and then it is not."""
    world = worlds()
    world.disk.fill()
    world.pass_s(30)
    began_s = world.now_s
    world.clock.call_later(25, lambda: setattr(world.disk, "capacity_bytes", None))
    write(world, rows(100))
    assert 25 < world.now_s - began_s < 60
    assert bodies(world) == once(rows(100))
    world.disk.fill()
    world.pass_s(30)
    with pytest.raises(
        SandboxError, match=r"^broker-a does not accept 100 messages, the largest of 6 bytes, for T: se"
    ):
        write(world, rows(100))


def test_packets_hold_what_fits_one_request() -> None:
    given = [row(number, body=bytes(3_000)) for number in range(30)] + rows(300)
    given[5], given[6] = row(5, delay_level=1), row(6, body=bytes(5_000))
    found = [[made.body for made in packet] for _, packet in packets([(one, message(one, "N")) for one in given])]
    assert Counter(body for packet in found for body in packet) == once(given)
    assert all(len(packet) <= PACKET_ROWS and sum(map(len, packet)) <= PACKET_BYTES for packet in found)
    assert [len(packet) for packet in found[:3]] == [5, 1, 1], "what may not be in a batch goes alone, in its turn"
    assert len(found) < 10


def test_names_contain_everything_that_distinguishes_rows() -> None:
    def named(run: str = "r", epoch: int = 1, partition: int = 1, number: int = 1, times: int = 1) -> str:
        naming = Naming(run, epoch, partition)
        return [naming.name(row(number)) for _ in range(times)][-1]

    different = [named(), named(run="q"), named(epoch=2), named(partition=2), named(number=2), named(times=2)]
    assert len(set(different)) == len(different)
    assert named() == named()
    assert {(len(name), name[20:28]) for name in different} == {(32, "00000000")}


def test_rows_are_read_from_the_columns_that_are_there(worlds: Worlds) -> None:
    batch = pa.record_batch(
        {
            "body": ["grüß", "b"],
            "queueId": [3, None],
            "properties": pa.array(
                [[("KEYS", "k"), ("UNIQ_KEY", "u"), ("z", "1")], None], pa.map_(pa.string(), pa.string())
            ),
        }
    )
    first, second = rows_of(batch, "T")
    assert first == Row("T", "grüß".encode(), "k", "", (("KEYS", "k"), ("UNIQ_KEY", "u"), ("z", "1")), 3, 0)
    assert second == Row("T", b"b", "", "", (), None, 0)
    world = worlds()
    write(world, [first])
    [found] = stored(world)
    assert found.properties["UNIQ_KEY"] == Naming("query", 7, 0).name(first)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"body": [None]}, "A row has no body."),
        ({"body": [b"x"], "topic": [""]}, "A row has no topic."),
    ],
)
def test_a_row_that_is_no_message_is_refused_in_words(columns: dict[str, list[object]], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        list(rows_of(pa.record_batch(columns), None))


@pytest.mark.parametrize(
    ("types", "says"),
    [
        (
            {"body": "binary", "key": "string"},
            r"A message has no key\. Did you mean keys\? Columns are: body, topic, keys",
        ),
        ({"topic": "string"}, "The column body is missing"),
        ({"body": "array<int>"}, "The column body must be binary or string, not array<int>."),
        (
            {"body": "string", "properties": "string"},
            "The column properties must be map<string,string>, not string.",
        ),
    ],
)
def test_columns_that_make_no_messages_are_refused_in_words(types: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        check_columns(types, frozenset({"queueOffset"}))
    check_columns({"body": "string", "queueOffset": "bigint"}, frozenset({"queueOffset"}))


@pytest.mark.parametrize(
    ("options", "overwrite", "says"),
    [
        ({"names": "127.0.0.1:9876", "topic": "T"}, True, "A topic cannot be overwritten"),
        ({"topic": "T"}, False, "The option names is missing. Set it to the name servers, such as 127.0.0.1:9876."),
        (
            {"names": "127.0.0.1", "topic": "T"},
            False,
            "127.0.0.1 is not an address of a name server. Write it as 127.0",
        ),
        ({"names": "a:99999", "topic": "T"}, False, "a:99999 is not an address of a name server"),
        (
            {"names": "a:1", "topic": "T", "ask": "never"},
            False,
            "Option ask must be first or always, not never.",
        ),
        ({"names": "a:1"}, False, "No topic. Set the option topic, or add a column topic."),
    ],
)
def test_options_that_make_no_sense_are_refused_in_words(options: dict[str, str], overwrite: bool, says: str) -> None:
    with pytest.raises(ValueError) as said:
        target_of(options, StructType([StructField("body", StringType())]), overwrite=overwrite)
    assert str(said.value).startswith(says)


def test_only_the_first_epoch_a_process_sees_of_a_run_may_have_been_sent_before() -> None:
    assert [maybe_again("run 1", epoch) for epoch in (7, 7, 8, 9)] == [True, True, False, False]
    assert maybe_again("run 2", 9)
    assert not maybe_again("run 1", 10)
    for number in range(RUNS_REMEMBERED):
        maybe_again(f"other run {number}", 0)
    assert maybe_again("run 1", 11), "forgotten: it asks once more"


def test_headers_are_the_properties_of_a_row_without_any() -> None:
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    headers = [
        [{"key": "colour", "value": b"red"}, {"key": "KEYS", "value": b"k1"}, {"key": "none", "value": None}, None],
        None,
    ]
    batch = pa.RecordBatch.from_arrays(
        [pa.array([b"x", b"y"], pa.binary()), pa.array(headers, kind)], names=["body", "headers"]
    )
    one, other = rows_of(batch, "orders")
    assert (one.properties, one.keys) == ((("KEYS", "k1"), ("colour", "red")), "k1")
    assert other.properties == ()
