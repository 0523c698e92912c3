"""Where progress is kept: the broker's table and its file, the members' own files, a store of the application's."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.client.config import ConsumeFromWhere, PushConsumerConfig
from sandbox.client.pull_consumer import PullConsumer, PullConsumerConfig
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus, ReadOffsetType
from sandbox.hosting.world import World
from sandbox.journal.events import OffsetsPersisted
from sandbox.kernel.loose_json import loads
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import TopicGroupHeader
from tests.golden.golden_stores import unpack
from tests.seed.stage import Caller, WireLog, application, broker_address, disk_of, files_of

GROUP = "order-svc"
TABLE = "config/consumerOffset.json"
QUERY, UPDATE = RequestCode.QUERY_CONSUMER_OFFSET, RequestCode.UPDATE_CONSUMER_OFFSET

OF_THE_ARTICLE = """
{
    "offsetTable": {
        "test-topic@test-group": {
            "0": 88526,
            "1": 88528
        }
    }
}
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as made:
        made.act("CreateTopic", topic="orders", write_queues=2, read_queues=2)
        made.run(1)
        yield made


@pytest.fixture
def caller(world: World) -> Caller:
    return Caller(world, broker_address(world))


def restarted_with(world: World, table: bytes) -> Caller:
    """The broker was stopped, somebody put this file there, and it runs again."""
    world.act("StopBroker", broker="broker-a")
    disk_of(world).write(TABLE, table)
    world.act("StartBroker", broker="broker-a")
    return Caller(world, broker_address(world))


@pytest.mark.seed("0.14")
def test_the_broker_reads_the_table_of_the_article_and_writes_it_again(world: World) -> None:
    caller = restarted_with(world, OF_THE_ARTICLE.encode())
    assert [caller.stored_offset("test-group", "test-topic", n) for n in (0, 1)] == [88_526, 88_528]
    caller.commit("test-group", "test-topic", 1, 88_530)
    world.run(20)
    written = loads(files_of(world)[TABLE])
    assert written == {"offsetTable": {"test-topic@test-group": {"0": 88_526, "1": 88_530}}}


@pytest.mark.seed("0.14")
@pytest.mark.golden
def test_the_broker_reads_the_table_a_real_broker_wrote(world: World, tmp_path: Path) -> None:
    text = (unpack("basic-clean", tmp_path / "golden") / TABLE).read_bytes()
    assert b'"GoldenBasic@GID_golden_push":{0:12,1:12,2:12,3:13' in text, "its queue ids have no quotes"
    caller = restarted_with(world, text)
    assert [caller.stored_offset("GID_golden_push", "GoldenBasic", n) for n in range(4)] == [12, 12, 12, 13]
    assert [caller.stored_offset("GID_golden_orderly", "GoldenOrder", n) for n in range(4)] == [8, 8, 4, 4]
    assert caller.stored_offset("GID_golden_retry", "%RETRY%GID_golden_retry", 0) == 3
    rows = loads(text)["offsetTable"]
    assert world.ask("offset-file", owner="broker-a")["content"] == {"offsetTable": rows}, "all eight rows"


@pytest.mark.seed("0.15")
@pytest.mark.parametrize("end", ["StopBroker", "KillBroker"])
def test_a_restarted_broker_knows_the_offsets_by_topic_and_group(world: World, caller: Caller, end: str) -> None:
    world.act("CreateTopic", topic="payments", write_queues=1, read_queues=1)
    told = {("order-svc", "orders", 0): 5, ("order-svc", "orders", 1): 7, ("audit", "orders", 0): 3,
            ("order-svc", "payments", 0): 11}
    for (group, topic, queue_id), offset in told.items():
        caller.commit(group, topic, queue_id, offset)
    world.run(11)
    assert set(loads(files_of(world)[TABLE])["offsetTable"]) == {"orders@order-svc", "orders@audit",
                                                                 "payments@order-svc"}
    world.act(end, broker="broker-a")
    world.act("StartBroker", broker="broker-a")
    caller = Caller(world, broker_address(world))
    assert {key: caller.stored_offset(*key) for key in told} == told
    assert caller.stored_offset("audit", "orders", 1) == 0, "nobody's: what a new group is told, not a neighbour's"


@pytest.mark.seed("0.5")
def test_a_broadcasting_group_tells_the_broker_nothing_of_its_offsets(world: World) -> None:
    wire = WireLog(world)
    for actor, model in (("shared", "CLUSTERING"), ("each", "BROADCASTING")):
        world.act("StartConsumer", actor=actor, group=actor, subscriptions=[["orders", "*"]], model=model, work_ms=[1])
    world.act("SendMessages", topic="orders", count=8)
    world.run(30)
    for code in (QUERY, UPDATE):
        assert {(frame.command.ext or {})["consumerGroup"] for frame in wire.requests(code)} == {"shared"}
    assert {key.rpartition("@")[2] for key in loads(files_of(world)[TABLE])["offsetTable"]} == {"shared"}
    client_id = world.sandbox.actors.get("each").client_id
    written = {entry.event.file for entry in world.entries(OffsetsPersisted) if entry.event.owner == client_id}
    assert written == {f"{client_id}/each/offsets.json"}
    own = loads(world.ask("offset-file", owner="each")["text"])["offsetTable"]
    assert {loads(queue)["queueId"]: offset for queue, offset in own.items()} == {0: 4, 1: 4}


class Shelf:
    """An application's own offset store: notes who calls, and keeps what it is told between lives."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.table: dict[MessageQueue, int] = {}

    def names(self) -> set[str]:
        return {name for name, _ in self.calls}

    async def load(self) -> None:
        self.calls.append(("load", None))

    async def read_offset(self, mq: MessageQueue, how: ReadOffsetType) -> int | None:
        self.calls.append(("read_offset", mq))
        return self.table.get(mq)

    def update_offset(self, mq: MessageQueue, offset: int, *, increase_only: bool) -> None:
        self.calls.append(("update_offset", (mq, offset)))
        self.table[mq] = offset

    async def persist_all(self, queues: Iterable[MessageQueue], *, by: str) -> None:
        self.calls.append(("persist_all", sorted(queues)))

    async def persist(self, mq: MessageQueue, *, by: str) -> None:
        self.calls.append(("persist", mq))

    def remove_offset(self, mq: MessageQueue) -> None:
        self.calls.append(("remove_offset", mq))

    def clone_offset_table(self, topic: str) -> dict[MessageQueue, int]:
        self.calls.append(("clone_offset_table", topic))
        return {mq: offset for mq, offset in self.table.items() if mq.topic == topic}

    async def update_consume_offset_to_broker(self, mq: MessageQueue, offset: int, *, oneway: bool) -> None:
        self.calls.append(("update_consume_offset_to_broker", (mq, offset)))


@pytest.mark.seed("0.6")
def test_an_own_offset_store_gets_every_call_and_the_broker_is_not_asked(world: World, caller: Caller) -> None:
    shelf, seen = Shelf(), []
    q0, q1 = (MessageQueue("orders", "broker-a", n) for n in (0, 1))
    shelf.table = {q0: 2, q1: 0}

    async def listener(messages: list[Message], context: Any) -> ConsumeConcurrentlyStatus:
        seen.extend((context.queue.queue_id, message.queue_offset) for message in messages)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    def member(name: str) -> PushConsumer:
        config = PushConsumerConfig(group=GROUP, offset_store=shelf,
                                    from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
        made = PushConsumer(config, application(world, name), listener)
        made.subscribe("orders")
        return made

    for queue_id in (0, 0, 0, 0, 1):
        caller.send("orders", queue_id)
    wire = WireLog(world)
    first, second = member("first"), member("second")
    world.ground.sim.run(first.start())
    assert shelf.calls[0] == ("load", None), "before anything is asked of it"
    world.run(2)
    assert sorted(seen) == [(0, 2), (0, 3), (1, 0)], "what it says is where the member begins"
    assert (shelf.table[q0], shelf.table[q1]) == (4, 1)
    caller.ask(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, TopicGroupHeader("orders", GROUP).to_ext())
    world.run(10)  # the timer
    world.ground.sim.run(second.start())
    world.run(2)
    assert ("persist", q1) in shelf.calls, "the second member takes over a queue"
    assert shelf.calls.index(("persist", q1)) < len(shelf.calls) - shelf.calls[::-1].index(("remove_offset", q1))
    world.ground.sim.run(first.shutdown())
    world.ground.sim.run(second.shutdown())
    reader = PullConsumer(PullConsumerConfig(group="by-hand", offset_store=shelf), application(world, "reader"))
    world.ground.sim.run(reader.start())
    world.ground.sim.run(reader.update_consume_offset_to_broker(q0, 1, oneway=True))
    world.ground.sim.run(reader.shutdown())
    assert shelf.names() == {"load", "read_offset", "update_offset", "persist_all", "persist", "remove_offset",
                             "clone_offset_table", "update_consume_offset_to_broker"}
    assert wire.requests(QUERY) == wire.requests(UPDATE) == []
