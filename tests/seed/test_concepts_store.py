"""The store directory: its files, their sizes, their records and entries, and what a reader does with them."""

from pathlib import Path
from struct import unpack

import pytest

from sandbox.journal.events import MessagesConsumed, RecoveryDone
from sandbox.journal.journal import Journal
from sandbox.kernel.clock import ScaledClock
from sandbox.message import properties
from sandbox.message.message import InboundMessage
from sandbox.message.msg_id import host_bytes
from sandbox.message.string_hash import tags_code
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.headers import PullHeader, UpdateOffsetHeader
from sandbox.sim.loop import SimLoop
from sandbox.simulation.world import World
from sandbox.store.config import MessageStoreConfig
from sandbox.store.disk import FileDisk, InlineFlusher
from sandbox.store.message_store import MessageStore
from tests.beginnings import world_with
from tests.golden.independent_reader import IndependentReader, hash_of
from tests.seed.stage import Caller, WireLog, broker_address, files_of

GROUP = "order-svc"
world = world_with({"orders": 2, "payments": 2}, seconds=1)


def copied_out(world: World, to: Path) -> IndependentReader:
    """The store's files as a foreign reader sees them."""
    for name, content in files_of(world).items():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        (to / name).write_bytes(content)
    return IndependentReader(to, slots=1_000, entries=4_000)


@pytest.mark.seed("3.21")
def test_the_store_directory_has_the_files_of_the_articles(world: World) -> None:
    world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], work_ms=[1])
    world.act("SendMessages", topic="orders", count=4)
    world.run(20)
    running = set(files_of(world))
    assert {
        "abort",
        "checkpoint",
        "lock",
        "commitlog/" + "0" * 20,
        "config/topics.json",
        "config/consumerOffset.json",
        "config/subscriptionGroup.json",
    } <= running
    assert {f"consumequeue/orders/{n}/" + "0" * 20 for n in (0, 1)} <= running
    [index] = [name for name in running if name.startswith("index/")]
    assert (len(index), index.removeprefix("index/").isdecimal()) == (len("index/") + 17, True)
    assert files_of(world)["lock"] == b"lock"
    world.act("StopBroker", broker="broker-a")
    assert set(files_of(world)) == running - {"abort"}, "a clean stop takes the mark away and nothing else"


@pytest.mark.seed("3.21")
@pytest.mark.parametrize(("stop", "left", "kind"), [("StopBroker", False, "normal"), ("KillBroker", True, "abnormal")])
def test_the_abort_file_shows_the_next_start_how_the_last_run_ended(
    world: World, stop: str, left: bool, kind: str
) -> None:
    world.act("SendMessages", topic="orders", count=10)
    world.run(2)
    world.act(stop, broker="broker-a")
    assert ("abort" in files_of(world)) is left
    world.act("StartBroker", broker="broker-a")
    world.run(1)
    assert world.entries(RecoveryDone)[-1].event.kind == kind
    assert "abort" in files_of(world), "it stands while the broker runs"
    assert sum(int(queue["max"]) for queue in world.snapshot()["topics"][0]["queues"]) == 10


@pytest.mark.seed("3.22")
def test_the_checkpoint_holds_three_times_of_what_is_flushed(world: World) -> None:
    def times() -> tuple[int, ...]:
        content = files_of(world)["checkpoint"]
        assert len(content) == 4_096
        assert not any(content[24:]), "nothing but three numbers"
        return unpack(">qqq", content[:24])

    world.act("ChangeBroker", broker="broker-a", changes={"index_entries": 100})
    assert times() == (0, 0, 0), "a young store has nothing flushed"
    world.act("SendMessages", topic="orders", count=30, rate_per_s=10)
    world.run(6)
    world.act("StopBroker", broker="broker-a")
    world.act("StartBroker", broker="broker-a")
    last_ms = max(row["store_ms"] for row in world.ask("find-messages", topic="orders")["rows"])
    physic, logics, index = times()
    assert (physic, logics, index) == (last_ms, last_ms, 0), "no index file is full yet"
    world.act("SendMessages", topic="orders", count=40)
    world.run(75)
    physic, logics, index = times()
    full = min(world.read("index/broker-a").data["files"].items())[1]
    assert last_ms < index == full["end_ms"] <= min(physic, logics)


@pytest.mark.seed("3.23")
def test_all_topics_share_one_log_in_order_of_arrival(world: World, tmp_path: Path) -> None:
    for n in range(6):
        for topic in ("orders", "payments"):
            world.act("SendMessages", topic=topic, queue="broker-a:1", count=1, key=f"{topic}-{n}")
            world.run(0.1)
    store = copied_out(world, tmp_path / "copy")
    assert store.problems == []
    assert [record.topic for record in store.records] == ["orders", "payments"] * 6
    assert [record.queue_offset for record in store.records] == [n for n in range(6) for _ in range(2)]
    at = 0
    for record in store.records:
        assert record.at == at, "each begins where the one before it ends"
        at += record.size
    assert [name for name in files_of(world) if name.startswith("commitlog/")] == ["commitlog/" + "0" * 20]


@pytest.mark.seed("3.24")
def test_every_field_of_a_record_is_shown_as_its_bytes_say(world: World, tmp_path: Path) -> None:
    rows = [{"key": "k1 k2", "tag": "vip", "body": "hello", "born_ms": 1_700_000_000_123}]
    world.act("SendMessages", topic="payments", count=1)
    world.run(1)
    world.act("SendMessages", topic="orders", queue="broker-a:1", rows=rows)
    world.run(1)
    raw = copied_out(world, tmp_path / "copy").messages("orders", 1)[0]
    shown = world.ask("read-record", broker="broker-a", physical_offset=raw.at)
    assert bytes.fromhex(shown["hex"]) == raw.raw
    fields, message = shown["fields"], shown["message"]
    assert {
        name: fields[name]
        for name in (
            "queue_id",
            "flag",
            "queue_offset",
            "physical_offset",
            "sys_flag",
            "born_ms",
            "store_ms",
            "reconsume_times",
            "prepared_offset",
            "topic",
        )
    } == {
        "queue_id": 1,
        "flag": raw.flag,
        "queue_offset": "0",
        "physical_offset": str(raw.at),
        "sys_flag": 0,
        "born_ms": 1_700_000_000_123,
        "store_ms": raw.stored,
        "reconsume_times": 0,
        "prepared_offset": "0",
        "topic": "orders",
    }
    assert raw.said_at == raw.at > 0
    assert message["properties"] == raw.properties
    assert (raw.properties["KEYS"], raw.properties["TAGS"]) == ("k1 k2", "vip")
    assert (message["body"], raw.body, shown["bytes"]) == ("hello", b"hello", raw.size)
    ip, _, port = fields["store_host"].rpartition(":")
    assert raw.store_host == host_bytes(ip, int(port))
    assert fields["store_host"] == broker_address(world)
    ip, _, port = fields["born_host"].rpartition(":")
    assert raw.born_host == host_bytes(ip, int(port))


def life_size_store(root: Path) -> MessageStore:
    """Apache's own sizes, on a real disk: the files are sparse."""
    clock = ScaledClock(SimLoop(), start_ms=1_700_000_000_000)
    store = MessageStore(
        MessageStoreConfig(),
        disk=FileDisk(root),
        clock=clock,
        journal=Journal(clock),
        broker="broker-a",
        broker_id=0,
        store_host=host_bytes("10.0.0.1", 10_911),
        flusher=InlineFlusher(),
    )
    store.load()
    store.start()
    return store


@pytest.mark.seed("3.25", "3.29", "D47")
def test_files_have_the_sizes_of_the_articles_by_default(tmp_path: Path) -> None:
    store = life_size_store(tmp_path)
    text = properties.encode({"KEYS": "k", "TAGS": "A"}).encode()
    store.put_message(InboundMessage("orders", 3, b"hello", text, tags_code("A"), 0, 0, 0, host_bytes("10.0.0.9", 1)))
    store.dispatch()
    sizes = {str(path.relative_to(tmp_path)): path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()}
    store.crash()
    assert sizes["consumequeue/orders/3/" + "0" * 20] == 300_000 * 20 == 6_000_000
    assert [size for name, size in sizes.items() if name.startswith("index/")] == [420_000_040]
    assert sizes["commitlog/" + "0" * 20] == 1_073_741_824


@pytest.mark.seed("3.25", "D47")
def test_an_offset_times_twenty_is_the_place_of_its_entry(world: World) -> None:
    world.act("ChangeBroker", broker="broker-a", changes={"consume_queue_file_entries": 100})
    world.act("SendMessages", topic="orders", queue="broker-a:1", count=230, tag="A")
    world.run(3)
    queue = {
        name.rpartition("/")[2]: content
        for name, content in files_of(world).items()
        if name.startswith("consumequeue/orders/1/")
    }
    assert {name: len(content) for name, content in queue.items()} == {f"{n * 2_000:020}": 2_000 for n in range(3)}
    for offset in (0, 99, 100, 105, 229):
        file, position = offset * 20 // 2_000 * 2_000, offset * 20 % 2_000
        entry = queue[f"{file:020}"][position : position + 20]
        shown = world.ask("read-entry", topic="orders", broker="broker-a", queue_id=1, offset=offset)
        assert bytes.fromhex(shown["hex"]) == entry
        physical, size, code = unpack(">qiq", entry)
        assert (shown["physical_offset"], shown["bytes"], code) == (str(physical), size, hash_of("A"))
        record = world.ask("read-record", broker="broker-a", physical_offset=physical)
        assert (record["fields"]["queue_offset"], record["bytes"]) == (str(offset), size)


@pytest.mark.seed("3.27", "D4")
def test_the_committed_offset_is_the_next_message_and_nothing_is_added_to_it(world: World) -> None:
    world.act("SendMessages", topic="orders", queue="broker-a:1", count=10, key="m-{n}")
    world.run(1)
    commit = UpdateOffsetHeader(GROUP, "orders", 1, 5)
    caller = Caller(world, broker_address(world))
    assert caller.ask(RequestCode.UPDATE_CONSUMER_OFFSET, commit.to_ext()).code == ResponseCode.SUCCESS
    wire = WireLog(world)
    world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], work_ms=[1])
    world.run(10)
    pulls = [PullHeader.from_ext(frame.command.ext or {}) for frame in wire.requests(RequestCode.PULL_MESSAGE)]
    assert next(pull.queue_offset for pull in pulls if (pull.topic, pull.queue_id) == ("orders", 1)) == 5
    consumed = [
        (offset, key)
        for entry in world.entries(MessagesConsumed)
        if entry.event.queue_id == 1
        for offset, key in zip(entry.event.offsets, entry.event.keys, strict=True)
    ]
    assert sorted(consumed) == [(n, f"m-{n + 1}") for n in range(5, 10)]
