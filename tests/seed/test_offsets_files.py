"""Offsets on disk: log files, records, queue entries, and files that retention deletes."""

import base64
from pathlib import Path
from struct import unpack

import pytest

from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.headers import QueryMessageHeader
from sandbox.simulation.world import World
from tests.beginnings import world_with
from tests.golden.golden_stores import rows
from tests.golden.golden_stores import unpack as unpack_store
from tests.seed.stage import Caller, broker_address, disk_of, files_of
from tests.unit.broker.stage import Client, Stage, small_store

FILE_BYTES = 64 * 1024
BODY = b"x" * 536  # a record of 655 bytes: a hundred fill a log file, and what is left takes no other
FIRST_QUEUE_FILE = "consumequeue/orders/{}/" + "0" * 20
world = world_with({"orders": 3}, changes={"commit_log_file_bytes": FILE_BYTES}, seconds=1)


def log_files(world: World) -> dict[str, int]:
    return {
        name.removeprefix("commitlog/"): len(content)
        for name, content in files_of(world).items()
        if name.startswith("commitlog/")
    }


def ends(world: World) -> tuple[int, int]:
    row = world.snapshot()["topics"][0]["queues"][0]
    return int(row["min"]), int(row["max"])


@pytest.mark.seed("0.3", "D3")
def test_files_are_kept_for_72_hours_and_not_for_48(world: World, caller: Caller) -> None:
    for _ in range(120):
        caller.send("orders", 0, BODY)
    for hours, gone in ((49, False), (22, False), (1, True)):  # 49, 71 and 72 hours old
        world.act("AgeFiles", broker="broker-a", hours=hours)
        world.act("CleanFiles", broker="broker-a")
        assert (len(log_files(world)) == 1) is gone
    assert ends(world) == (100, 120)


@pytest.mark.seed("0.8")
def test_a_log_file_is_named_by_its_first_byte_in_20_digits(world: World, caller: Caller) -> None:
    for _ in range(201):
        caller.send("orders", 0, BODY)
    assert log_files(world) == {
        "00000000000000000000": FILE_BYTES,
        "00000000000000065536": FILE_BYTES,
        "00000000000000131072": FILE_BYTES,
    }
    first_of_each = [
        world.ask("read-entry", topic="orders", broker="broker-a", queue_id=0, offset=offset)["physical_offset"]
        for offset in (0, 100, 200)
    ]
    assert first_of_each == ["0", "65536", "131072"]
    where = world.ask("locate", broker="broker-a", physical_offset=131_072 + 655)
    assert (where["file"], where["position"], where["file_number"]) == ("00000000000000131072", "655", "3")


@pytest.mark.seed("0.10")
@pytest.mark.golden
def test_every_record_a_real_broker_wrote_is_decoded_with_its_bytes(tmp_path: Path) -> None:
    store = unpack_store("basic-clean", tmp_path / "golden")
    with World(tmp_path / "world") as world:  # its file sizes are those of the recording
        world.act("StopBroker", broker="broker-a")
        for path in sorted(path for path in store.rglob("*") if path.is_file()):
            disk_of(world).write(str(path.relative_to(store)), path.read_bytes())
        world.act("StartBroker", broker="broker-a")
        log = {int(path.name): path.read_bytes() for path in (store / "commitlog").iterdir()}
        for recorded in rows("messages"):
            place = recorded["commitLogOffset"]
            shown = world.ask("read-record", broker="broker-a", physical_offset=place)
            begin = place % (1 << 20)
            assert bytes.fromhex(shown["hex"]) == log[place - begin][begin : begin + recorded["storeSize"]]
            fields, message = shown["fields"], shown["message"]
            names = {
                "topic": "topic",
                "queue_id": "queueId",
                "body_crc": "bodyCRC",
                "sys_flag": "sysFlag",
                "flag": "flag",
                "born_ms": "bornTimestamp",
                "store_ms": "storeTimestamp",
                "born_host": "bornHost",
                "store_host": "storeHost",
                "reconsume_times": "reconsumeTimes",
            }
            assert {name: fields[name] for name in names} == {name: recorded[theirs] for name, theirs in names.items()}
            assert [fields[name] for name in ("queue_offset", "physical_offset", "prepared_offset")] == [
                str(recorded[theirs]) for theirs in ("queueOffset", "commitLogOffset", "preparedTransactionOffset")
            ]
            assert (message["properties"], message["body_bytes"]) == (recorded["properties"], recorded["bodyLength"])
            if "body" in recorded:  # of large ones the recording has a digest
                assert bytes.fromhex(message["body_hex"]) == base64.b64decode(recorded["body"] or "")[:4_096]


@pytest.mark.seed("0.11")
def test_a_queue_is_a_directory_below_its_topic(world: World, caller: Caller) -> None:
    world.act("ChangeBroker", broker="broker-a", changes={"consume_queue_file_entries": 100})
    caller = Caller(world, broker_address(world))
    world.act("CreateTopic", topic="payments", write_queues=2, read_queues=2)
    for topic, queue_id, count in (("orders", 0, 1), ("orders", 2, 201), ("payments", 1, 1)):
        for _ in range(count):
            caller.send(topic, queue_id)
    found = {name: len(content) for name, content in files_of(world).items() if name.startswith("consumequeue/")}
    assert found == {
        f"consumequeue/{name}": 2_000
        for name in (
            "orders/0/00000000000000000000",
            "orders/2/00000000000000000000",
            "orders/2/00000000000000002000",
            "orders/2/00000000000000004000",
            "payments/1/00000000000000000000",
        )
    }


@pytest.mark.seed("0.12")
def test_an_entry_is_8_bytes_of_place_4_of_size_and_8_of_the_tags_hash(world: World, caller: Caller) -> None:
    caller.send("orders", 1, b"elsewhere")
    for pairs in ({"TAGS": "A"}, {"TAGS": "polygenelubricants"}, {}):
        caller.send("orders", 0, b"hello", **pairs)
    records = [world.ask("read-entry", topic="orders", broker="broker-a", queue_id=0, offset=n) for n in range(3)]
    content = files_of(world)[FIRST_QUEUE_FILE.format(0)]
    entries = [unpack(">qiq", content[n * 20 : n * 20 + 20]) for n in range(3)]
    log = files_of(world)["commitlog/" + "0" * 20]
    for (place, size, _), shown in zip(entries, records, strict=True):
        assert unpack(">i", log[place : place + 4]) == (size,), "it points to a record of that size"
        assert (shown["physical_offset"], shown["bytes"]) == (str(place), size)
    places = [place for place, *_ in entries]
    assert places == sorted(places)
    assert places[0] > 0
    assert [code for *_, code in entries] == [65, -(2**31), 0], "a hash below zero keeps its sign in 8 bytes"
    assert not any(content[60:]), "what has no message yet is zeros"


def by_key(client: Client, key: str) -> tuple[int, bool]:
    header = QueryMessageHeader("orders", key, 32, 0, 2**62)
    answer = client.call(RequestCode.QUERY_MESSAGE, header.to_ext())
    return answer.code, bool(answer.body)


@pytest.mark.seed("0.13")
def test_the_index_finds_messages_by_key_and_nothing_else_needs_it() -> None:
    pulled: dict[bool, object] = {}
    found: dict[bool, tuple[int, bool]] = {}
    for enabled in (True, False):
        stage = Stage(store=small_store(index_enable=enabled))
        client = stage.client()
        stage.topic("orders")
        sent = [client.send("orders", b"%d" % n, properties=f"KEYS\x01k{n}") for n in range(5)]
        assert [(answer.code, (answer.ext or {})["queueOffset"]) for answer in sent] == [(0, str(n)) for n in range(5)]
        answer = client.pull("g", "orders", 0)
        pulled[enabled] = (answer.code, answer.ext, len(answer.body or b""))
        assert by_key(client, "nobodys") == (ResponseCode.QUERY_NOT_FOUND, False)
        found[enabled] = by_key(client, "k3")
        assert any(name.startswith("index/") for name in stage.disk.image()) is enabled
    assert found == {True: (ResponseCode.SUCCESS, True), False: (ResponseCode.QUERY_NOT_FOUND, False)}
    assert pulled[True] == pulled[False], "sending and pulling do not notice"
