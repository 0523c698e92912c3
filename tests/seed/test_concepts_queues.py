"""Topics, tags and queues: who has which, and what happens when their number changes."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from sandbox.journal.events import MessagesConsumed, QueuesAssigned, TopicChanged
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.headers import SendHeader
from sandbox.simulation.world import World
from tests.beginnings import world_of
from tests.seed.stage import Caller, broker_address

GROUP = "order-svc"
EARLIEST = {"from_where": "CONSUME_FROM_FIRST_OFFSET", "work_ms": [1]}
world = world_of("empty")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[World]:
    """Two brokers of one cluster, with a topic of four queues on each and no clients."""
    with World(tmp_path, "orders") as made:
        made.run(1)
        for actor in [row["actor"] for row in made.snapshot()["producers"]] + list("ABC"):
            made.act("RemoveActor", actor=actor)
        made.run(1)
        yield made


def topic_row(world: World, topic: str) -> dict[str, Any]:
    return next(row for row in world.snapshot()["topics"] if row["topic"] == topic)


def ends(world: World, topic: str) -> list[int]:
    return [int(queue["max"]) for queue in topic_row(world, topic)["queues"]]


def consumed(world: World, topic: str, group: str = GROUP) -> list[str]:
    """The keys that were worked on with success, once for each time."""
    return [
        key
        for entry in world.entries(MessagesConsumed)
        for key in entry.event.keys
        if (entry.event.group, entry.event.topic, entry.event.outcome) == (group, topic, "SUCCESS")
    ]


def routed(world: World, topic: str) -> dict[str, tuple[int, int]]:
    """Broker → write and read queues in the name server's routes."""
    route = world.ask("route", topic=topic)["route"]
    return {row["brokerName"]: (row["writeQueueNums"], row["readQueueNums"]) for row in route["queueDatas"]}


@pytest.mark.seed("3.1", "D31")
def test_a_queue_has_one_member_of_a_group_and_a_member_may_read_several_topics(world: World) -> None:
    for topic, queues in (("orders", 5), ("payments", 3)):
        world.act("CreateTopic", topic=topic, write_queues=queues, read_queues=queues)
    world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"], ["payments", "vip"]], copies=3, **EARLIEST)
    world.run(45)
    last: dict[tuple[str, str], tuple[str, ...]] = {}
    for entry in world.entries(QueuesAssigned):
        last[entry.event.client_id, entry.event.topic] = entry.event.queues
    for topic, queues in (("orders", 5), ("payments", 3)):
        shares = {client: mqs for (client, name), mqs in last.items() if name == topic}
        assert len(shares) == 3, "every member divides every topic it wants"
        given = Counter(queue for mqs in shares.values() for queue in mqs)
        assert given == {f"{topic}/broker-a/{n}": 1 for n in range(queues)}
    world.act("SendMessages", topic="orders", count=50, key="o-{n}")
    world.run(2)
    for tag in ("vip", "plain"):
        world.act("SendMessages", topic="payments", count=9, key=f"{tag}-{{n}}", tag=tag)
        world.run(10)
    assert Counter(consumed(world, "orders")) == {f"o-{n}": 1 for n in range(1, 51)}
    assert Counter(consumed(world, "payments")) == {f"vip-{n}": 1 for n in range(1, 10)}, "the tag narrows the topic"
    readers = {
        topic: {entry.event.client_id for entry in world.entries(MessagesConsumed) if entry.event.topic == topic}
        for topic in ("orders", "payments")
    }
    assert readers["orders"] == readers["payments"], "the same members work on both topics"
    assert len(readers["orders"]) == 3


@pytest.mark.seed("3.9", "D30")
@pytest.mark.parametrize(("wanted", "made"), [(4, 4), (2, 2), (16, 8)])
def test_the_first_message_makes_the_topic_with_the_smaller_of_two_numbers(
    world: World,
    wanted: int,
    made: int,
) -> None:
    caller = Caller(world, broker_address(world))
    header = SendHeader("P", "fresh", "TBW102", wanted, 0, 0, world.cluster.clock.now_ms(), 0)
    assert caller.ask(RequestCode.SEND_MESSAGE_V2, header.to_ext(), b"first").code == ResponseCode.SUCCESS
    world.run(1)
    assert routed(world, "fresh") == {"broker-a": (made, made)}
    changed = [entry.event for entry in world.entries(TopicChanged) if entry.event.topic == "fresh"]
    assert [(event.how, event.write_queues, event.permission) for event in changed] == [("automatic", made, 6)]


@pytest.mark.seed("3.9", "D30")
def test_a_client_that_asks_for_nothing_special_gets_four_queues(world: World) -> None:
    world.act("SendMessages", topic="fresh", count=12)
    world.run(2)
    assert routed(world, "fresh") == {"broker-a": (4, 4)}
    assert ends(world, "fresh") == [3, 3, 3, 3]


@pytest.mark.seed("3.10")
def test_a_cluster_topic_is_the_same_on_every_broker_and_a_broker_topic_is_on_one(pair: World) -> None:
    pair.act("CreateTopic", topic="everywhere", write_queues=6, read_queues=6)
    pair.act("CreateTopic", topic="here", write_queues=3, read_queues=3, scope="broker-b")
    pair.run(1)
    assert routed(pair, "everywhere") == {"broker-a": (6, 6), "broker-b": (6, 6)}
    assert routed(pair, "here") == {"broker-b": (3, 3)}
    pair.act("ChangeTopic", topic="everywhere", write_queues=2, read_queues=2, scope="broker-a")
    pair.run(1)
    assert routed(pair, "everywhere") == {"broker-a": (2, 2), "broker-b": (6, 6)}, "brokers need not agree"
    changes = [
        (e.event.topic, e.event.broker, e.event.how)
        for e in pair.entries(TopicChanged)
        if e.event.topic in ("everywhere", "here")
    ]
    assert changes == [
        ("everywhere", "broker-a", "cluster"),
        ("everywhere", "broker-b", "cluster"),
        ("here", "broker-b", "broker"),
        ("everywhere", "broker-a", "broker"),
    ]


@pytest.mark.seed("3.11")
def test_queues_that_are_written_and_not_read_keep_their_messages_to_themselves(world: World) -> None:
    world.act("CreateTopic", topic="orders", write_queues=8, read_queues=4)
    world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], copies=2, **EARLIEST)
    world.run(5)
    world.act("SendMessages", topic="orders", count=16)
    world.run(90)
    assert ends(world, "orders") == [2] * 8, "producers see all eight"
    read = {entry.event.queue_id for entry in world.entries(MessagesConsumed) if entry.event.topic == "orders"}
    assert (read, len(consumed(world, "orders"))) == ({0, 1, 2, 3}, 8)
    pull = {
        "consumerGroup": GROUP,
        "topic": "orders",
        "queueId": "4",
        "queueOffset": "0",
        "maxMsgNums": "32",
        "sysFlag": "4",
        "commitOffset": "0",
        "suspendTimeoutMillis": "0",
        "subVersion": "0",
        "subscription": "*",
    }
    answer = Caller(world, broker_address(world)).ask(RequestCode.PULL_MESSAGE, pull)
    assert answer.code == ResponseCode.SYSTEM_ERROR, "nobody may pull there"
    world.act("ChangeTopic", topic="orders", read_queues=8)
    world.run(55)
    assert len(consumed(world, "orders")) == 16, "they were only waiting"


@pytest.mark.seed("3.11")
def test_queues_that_are_read_and_not_written_keep_a_member_idle(world: World) -> None:
    world.act("CreateTopic", topic="orders", write_queues=4, read_queues=8)
    world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], copies=2, **EARLIEST)
    world.run(25)
    world.act("SendMessages", topic="orders", count=40)
    world.run(15)
    assert ends(world, "orders") == [10] * 4 + [0] * 4, "producers see four queues"
    owners = {key: row["owner"] for key, row in world.read(f"board/{GROUP}/orders").data["queues"].items()}
    second = owners["broker-a:7"]
    assert [key for key, owner in owners.items() if owner == second] == [f"broker-a:{n}" for n in (4, 5, 6, 7)]
    workers = Counter(entry.event.client_id for entry in world.entries(MessagesConsumed))
    assert list(workers.values()) == [40]
    assert second not in workers


def shrunk(world: World, first: str, then: str) -> tuple[int, int]:
    """Return the counts of stored and consumed messages when 16 queues became 8, one number after the other."""
    world.act("CreateTopic", topic="orders", write_queues=16, read_queues=16)
    world.act(
        "StartConsumer",
        group=GROUP,
        subscriptions=[["orders", "*"]],
        copies=2,
        threads=1,
        from_where="CONSUME_FROM_FIRST_OFFSET",
        work_ms=[100],
    )
    world.act("StartProducer", actor="shop", topic="orders", rate_per_s=6)
    world.run(40)
    world.act("ChangeTopic", topic="orders", **{first: 8})
    world.run(60)  # producers hear of it within 30 s, and the rest is drained
    world.act("ChangeTopic", topic="orders", **{then: 8})
    world.run(60)
    world.act("ChangeActor", actor="shop", rate_per_s=0)
    world.run(60)
    assert routed(world, "orders") == {"broker-a": (8, 8)}
    assert world.cluster.journal.first_in_memory == 0, "every message is in the journal still"
    stored = sum(world.cluster.nodes.broker("broker-a").running.store.max_offset("orders", n) for n in range(16))
    return stored, len(set(consumed(world, "orders")))


@pytest.mark.seed("3.12")
def test_a_topic_shrinks_without_loss_when_writing_ends_before_reading(world: World) -> None:
    stored, read = shrunk(world, "write_queues", "read_queues")
    assert stored == read > 900


@pytest.mark.seed("3.12")
def test_a_topic_that_shrinks_the_other_way_leaves_messages_behind(world: World) -> None:
    stored, read = shrunk(world, "read_queues", "write_queues")
    assert stored - read > 50


@pytest.mark.seed("3.16")
def test_a_route_names_the_queues_of_every_broker_and_the_master_as_number_0(pair: World) -> None:
    name_server = pair.cluster.nodes.addresses[0]
    answer = Caller(pair, name_server).ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "orders"})
    route = orjson.loads(answer.body or b"")
    assert [
        {key: row[key] for key in ("brokerName", "readQueueNums", "writeQueueNums", "perm")}
        for row in route["queueDatas"]
    ] == [{"brokerName": name, "readQueueNums": 4, "writeQueueNums": 4, "perm": 6} for name in ("broker-a", "broker-b")]
    assert {row["brokerName"]: row["brokerAddrs"]["0"] for row in route["brokerDatas"]} == {
        name: broker_address(pair, name) for name in ("broker-a", "broker-b")
    }
    assert {row["cluster"] for row in route["brokerDatas"]} == {"DefaultCluster"}
    assert pair.ask("route", topic="orders")["route"] == route, "and the page is told the same"
