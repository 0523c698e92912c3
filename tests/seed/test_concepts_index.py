"""The index file, from its header to a query by key and time."""

from datetime import UTC, datetime
from struct import unpack

import pytest

from sandbox.message import record
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.headers import QueryMessageHeader, SendHeader
from sandbox.simulation.world import World
from tests.beginnings import world_with
from tests.golden.independent_reader import hash_of, hash_of_key
from tests.seed.stage import Caller, broker_address, files_of

SLOTS, ENTRIES = 97, 400
COLLIDING = ("Aa", "BB")  # Java's hashCode of both is 2112
FOREVER = 1 << 62
world = world_with({"orders": 1}, changes={"index_slots": SLOTS, "index_entries": ENTRIES}, seconds=1)


class RawIndex:
    """The newest index file, read by the format alone: slot s at 40 + 4s, entry n at 40 + 4 × slots + 20n."""

    def __init__(self, world: World) -> None:
        files = sorted((name, data) for name, data in files_of(world).items() if name.startswith("index/"))
        self.name, self.data = files[-1][0].removeprefix("index/"), files[-1][1]
        self.count_of_files = len(files)
        (self.begin_ms, self.end_ms, self.begin_physical, self.end_physical, self.slots_used, self.index_count) = (
            unpack(">qqqqii", self.data[:40])
        )

    def slot(self, number: int) -> int:
        return int(unpack(">i", self.data[40 + 4 * number : 44 + 4 * number])[0])

    def entry(self, number: int) -> tuple[int, int, int, int]:
        """Hash, physical offset, seconds, previous entry."""
        at = 40 + 4 * SLOTS + 20 * number
        a, b, c, d = unpack(">iqii", self.data[at : at + 20])
        return a, b, c, d


def send_raw(world: World, *keys: str, properties: str | None = None) -> None:
    """Messages with KEYS only (this client writes no UNIQ_KEY), one at a time."""
    caller = Caller(world, broker_address(world))
    for key in keys:
        header = SendHeader(
            "P",
            "orders",
            "TBW102",
            4,
            0,
            0,
            world.cluster.clock.now_ms(),
            0,
            f"KEYS\x01{key}" if properties is None else properties,
        )
        assert caller.ask(RequestCode.SEND_MESSAGE_V2, header.to_ext(), key.encode()).code == ResponseCode.SUCCESS


def query(world: World, key: str, begin_ms: int = 0, end_ms: int = FOREVER, *, count: int = 32) -> list[str]:
    """Bodies of what the broker finds, over the wire."""
    header = QueryMessageHeader("orders", key, count, begin_ms, end_ms)
    answer = Caller(world, broker_address(world)).ask(RequestCode.QUERY_MESSAGE, header.to_ext())
    if answer.code == ResponseCode.QUERY_NOT_FOUND:
        return []
    assert answer.code == ResponseCode.SUCCESS
    return [message.body.decode() for message in record.decode_all(answer.body or b"")]


@pytest.mark.seed("3.29")
def test_an_index_file_is_its_header_its_slots_and_its_entries(world: World) -> None:
    send_raw(world, "k")
    assert len(RawIndex(world).data) == 40 + SLOTS * 4 + ENTRIES * 20
    assert 40 + 5_000_000 * 4 + 20_000_000 * 20 == 420_000_040, "with RocketMQ's own numbers"
    send_raw(world, *[f"k{n}" for n in range(ENTRIES)])
    assert RawIndex(world).count_of_files == 2, "a full file is followed by the next"


@pytest.mark.seed("3.30")
def test_the_header_names_the_first_and_last_message_and_counts_from_1(world: World) -> None:
    send_raw(world, *COLLIDING)
    world.run(3)
    send_raw(world, "other")
    raw = RawIndex(world)
    messages = world.ask("find-messages", topic="orders")["rows"]
    assert (raw.begin_ms, raw.end_ms) == (messages[0]["store_ms"], messages[2]["store_ms"])
    assert (raw.begin_physical, raw.end_physical) == (0, int(messages[2]["physical_offset"]))
    assert raw.index_count == 3 + 1, "three entries, and it starts at 1"
    shown = world.read("index/broker-a").data["files"][raw.name]
    assert (
        shown["begin_ms"],
        shown["end_ms"],
        shown["begin_physical"],
        shown["end_physical"],
        shown["slots_used"],
        shown["count"],
    ) == (raw.begin_ms, raw.end_ms, str(raw.begin_physical), str(raw.end_physical), raw.slots_used, raw.index_count)
    slots = {hash_of_key("orders", key) % SLOTS for key in (*COLLIDING, "other")}
    assert raw.slots_used == len(slots) == 2, "two keys share one"


@pytest.mark.seed("3.31", "3.33", "D26")
def test_colliding_keys_hang_on_one_slot_the_newest_first(world: World) -> None:
    send_raw(world, *COLLIDING)
    raw = RawIndex(world)
    place = hash_of_key("orders", "Aa")
    assert place == hash_of_key("orders", "BB")
    assert raw.slot(place % SLOTS) == 2, "slots count from 0, and hold the number of the newest entry"
    size = int(world.ask("read-entry", topic="orders", broker="broker-a", queue_id=0, offset=0)["bytes"])
    assert raw.entry(2) == (place, size, 0, 1), "which names the one before it"
    assert raw.entry(1) == (place, 0, 0, 0), "entries count from 1, and the first has none before it"
    assert raw.entry(0) == (0, 0, 0, 0), "so the first area stays empty"
    walk = world.ask("walk-index", topic="orders", key="Aa")
    chain = walk["files"][0]["chain"]
    assert [(step["no"], step["previous"], step["position"], step["verdict"]) for step in chain] == [
        (2, 1, 40 + SLOTS * 4 + 2 * 20, "other_key"),
        (1, 0, 40 + SLOTS * 4 + 20, "match"),
    ]
    assert len(query(world, "Aa")) == 2, "the broker does not look at the text; the client does"


@pytest.mark.seed("3.33", "D26")
def test_the_slot_is_the_absolute_hash_modulo_the_slots(world: World) -> None:
    keys = [f"key-{n}" for n in range(40)]
    negative = [key for key in keys if hash_of(f"orders#{key}") < 0]
    assert 5 < len(negative) < 35, "both signs are among them"
    send_raw(world, *keys)
    raw = RawIndex(world)
    for key in keys:
        signed, absolute = hash_of(f"orders#{key}"), hash_of_key("orders", key)
        assert absolute == abs(signed)
        file = (walk := world.ask("walk-index", topic="orders", key=key))["files"][0]
        assert (walk["hash_signed"], walk["hash"]) == (signed, absolute)
        assert (file["slot"], file["slot_position"]) == (absolute % SLOTS, 40 + absolute % SLOTS * 4)
        assert file["slot_value"] == raw.slot(absolute % SLOTS) > 0


@pytest.mark.seed("3.31", "D27")
def test_times_of_entries_are_seconds_after_the_first_message_not_after_the_files_birth(world: World) -> None:
    send_raw(world, "first")
    world.run(10.7)
    send_raw(world, "second")
    world.run(15)
    send_raw(world, "third")
    first_ms = RawIndex(world).begin_ms
    world.run(30)
    world.act("KillBroker", broker="broker-a")  # the index was never surely on disk, so recovery makes it anew
    world.run(60)
    world.act("StartBroker", broker="broker-a")
    raw = RawIndex(world)
    born_ms = datetime.strptime(raw.name + "000", "%Y%m%d%H%M%S%f").replace(tzinfo=UTC).timestamp() * 1000
    assert born_ms - first_ms > 100_000, "the file is much younger than its messages"
    assert raw.begin_ms == first_ms
    assert [raw.entry(n)[2] for n in (1, 2, 3)] == [0, 10, 25]
    assert query(world, "second", first_ms, first_ms + 20_000) == ["second"], "and is searched by its header's times"


@pytest.mark.seed("3.29", "D29")
def test_a_message_without_keys_is_indexed_by_its_unique_key(world: World) -> None:
    send_raw(world, "none", properties="TAGS\x01A")
    assert not any(name.startswith("index/") for name in files_of(world)), "nothing to find it by"
    world.act("SendMessages", topic="orders", rows=[{"key": "", "body": "plain"}])
    world.run(1)
    message = world.ask("find-messages", topic="orders")["rows"][1]
    assert message["keys"] is None
    assert RawIndex(world).entry(1)[:2] == (
        hash_of_key("orders", message["unique_key"]),
        int(message["physical_offset"]),
    )
    assert query(world, message["unique_key"]) == ["plain"]
    send_raw(world, "k1 k2")
    assert RawIndex(world).index_count == 1 + 1 + 2, "every word of KEYS has an entry"
