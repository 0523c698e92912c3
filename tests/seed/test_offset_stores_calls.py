"""Effects of each call of an offset store on the wire, in the files and in a member's memory."""

from pathlib import Path

import pytest

from sandbox.client.config import MessageModel, PushConsumerConfig
from sandbox.client.offset_store import MemoryOffsetStore
from sandbox.client.pull_consumer import PullConsumer, PullConsumerConfig
from sandbox.cluster.client_files import ClientFiles
from sandbox.message.queue import MessageQueue
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import UpdateOffsetHeader
from sandbox.simulation.world import World
from tests.seed.stage import Caller, WireLog, application, broker_address, member
from tests.seed.test_offset_stores_places import local_table

QUEUE_COUNT = 2
COMMIT = RequestCode.UPDATE_CONSUMER_OFFSET
MINE = "10.0.9.8:"
Q0, Q1 = (MessageQueue("orders", "broker-a", n) for n in (0, 1))


def puller(world: World, group: str = "readers", **more: object) -> PullConsumer:
    """Pulls and keeps offsets as its application says; the calls of its store are the application's to make."""
    files = more.pop("files", None)
    assert files is None or isinstance(files, ClientFiles)
    model = MessageModel.CLUSTERING if files is None else MessageModel.BROADCASTING
    made = PullConsumer(PullConsumerConfig(group=group, model=model), application(world, "DEFAULT", files=files))
    made.register("orders")
    world.environment.sim.run(made.start())
    world.environment.sim.run(made.fetch_subscribe_queues("orders"))
    world.run(3)
    return made


def committed(wire: WireLog) -> list[tuple[str, int, int]]:
    """Commits of the process (request 15): topic, queue id, offset."""
    headers = [UpdateOffsetHeader.from_ext(f.command.ext or {}) for f in wire.requests(COMMIT, sender=MINE)]
    return [(header.topic, header.queue_id, header.commit_offset) for header in headers]


class NotedStore(MemoryOffsetStore):
    """An application's own store that notes every update it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.updates: list[tuple[MessageQueue, int, bool]] = []

    def update_offset(self, mq: MessageQueue, offset: int, *, increase_only: bool) -> None:
        self.updates.append((mq, offset, increase_only))
        super().update_offset(mq, offset, increase_only=increase_only)


@pytest.mark.seed("2.7")
@pytest.mark.parametrize(("listener", "increase_only"), [("concurrent", True), ("orderly", False)])
def test_who_consumes_concurrently_asks_for_increase_only_and_who_consumes_in_order_does_not(
    world: World, listener: str, increase_only: bool
) -> None:
    store = NotedStore()
    config = PushConsumerConfig(group="clerks", listener=listener, offset_store=store)
    member(world, application(world), config, "orders")
    world.run(2)
    store.updates.clear()
    world.act("SendMessages", topic="orders", queue="broker-a:0", count=5)
    world.run(1)
    assert [offset for mq, offset, _ in store.updates if mq == Q0] == [1, 2, 3, 4, 5]
    assert {flag for mq, _, flag in store.updates if mq == Q0} == {increase_only}


@pytest.mark.seed("2.7", "0.28")
@pytest.mark.parametrize(("listener", "left"), [("concurrent", 1_000), ("orderly", 3)])
def test_a_smaller_offset_that_comes_late_is_ignored_where_only_increases_count(
    world: World, listener: str, left: int
) -> None:
    """The application has set 1 000 by hand; then messages up to offset 2 are finished."""
    clerk = member(world, application(world), PushConsumerConfig(group="clerks", listener=listener), "orders")
    world.run(2)
    clerk.offset_store.update_offset(Q0, 1_000, increase_only=False)
    world.act("SendMessages", topic="orders", queue="broker-a:0", count=3)
    world.run(1)
    assert clerk.status("orders")[Q0] == left
    world.run(15)
    assert Caller(world, broker_address(world)).stored_offset("clerks", "orders", 0) == left


@pytest.mark.seed("2.10", "D22")
def test_the_remote_store_commits_one_queue_to_the_broker_and_drops_it(world: World) -> None:
    reader = puller(world)
    reader.update_consume_offset(Q0, 5)
    reader.update_consume_offset(Q1, 6)
    wire = WireLog(world)
    world.environment.sim.run(reader.offset_store.persist(Q0, by="release"))
    world.run(0.1)
    assert committed(wire) == [("orders", 0, 5)]
    reader.offset_store.remove_offset(Q0)
    assert reader.status("orders") == {Q1: 6}


@pytest.mark.seed("2.10", "D22")
def test_of_one_queue_the_local_store_writes_its_file_and_forgets_in_memory_only(world: World, tmp_path: Path) -> None:
    """So since 4.9.8; before, both calls did nothing here, as the article says."""
    reader, run = puller(world, files=ClientFiles(tmp_path)), world.environment.sim.run
    reader.update_consume_offset(Q0, 5)
    wire = WireLog(world)
    run(reader.offset_store.persist(Q0, by="release"))
    file = tmp_path / "10.0.9.8@DEFAULT" / "readers" / "offsets.json"
    assert local_table(file.read_bytes()) == {Q0.key: 5}
    reader.offset_store.remove_offset(Q0)
    assert reader.status("orders") == {}
    assert local_table(file.read_bytes()) == {Q0.key: 5}
    assert run(reader.consume_offset(Q0)) == 5, "a later read finds it again in the file"
    assert committed(wire) == []


@pytest.mark.seed("2.11")
@pytest.mark.parametrize(("local", "reported"), [(False, [("orders", 0, 4)]), (True, [])])
def test_only_the_remote_store_sends_an_offset_to_the_broker_directly(
    world: World, tmp_path: Path, local: bool, reported: list[tuple[str, int, int]]
) -> None:
    reader = puller(world, **({"files": ClientFiles(tmp_path)} if local else {}))
    wire = WireLog(world)
    world.environment.sim.run(reader.update_consume_offset_to_broker(Q0, 4, oneway=False))
    world.run(20)
    assert committed(wire) == reported
    assert reader.status("orders") == {}, "memory hears nothing of it"
    assert list(tmp_path.rglob("offsets.json")) == []
