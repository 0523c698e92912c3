"""Start of a consumer: steps and their times, routes, member lists, lost brokers."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sandbox.client.config import ProducerConfig, PushConsumerConfig
from sandbox.client.producer import Producer
from sandbox.journal.events import (
    LifecycleStep,
    MessagesConsumed,
    QueueDropped,
    QueueTaken,
    RouteLearned,
    SendFailed,
    TopicChanged,
)
from sandbox.message.message import Message
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.headers import PullHeader
from sandbox.simulation.world import World
from tests.seed.stage import WireLog, application, broker_address, member, prefix_of

ROUTE, WHO, PULL = (
    RequestCode.GET_ROUTEINFO_BY_TOPIC,
    RequestCode.GET_CONSUMER_LIST_BY_GROUP,
    RequestCode.PULL_MESSAGE,
)
SEND = RequestCode.SEND_MESSAGE_V2
GROUP = "order-svc"


def topics_of(wire: WireLog, code: int, sender: str = "") -> Counter[str]:
    return Counter((frame.command.ext or {})["topic"] for frame in wire.requests(code, sender=sender))


def empty(home: Path, *, queues: int = 4, **world: Any) -> World:
    made = World(home, **world)
    made.act("CreateTopic", topic="orders", write_queues=queues, read_queues=queues)
    made.run(1)
    return made


@pytest.mark.seed("4.3")
def test_no_client_traces_messages_by_messages(tmp_path: Path) -> None:
    """No trace dispatcher: consumers and producers work, and nothing is ever sent to the trace topic."""
    with World(tmp_path, "orders") as world:
        wire = WireLog(world)
        world.act("StartConsumer", group="fifo", subscriptions=[["orders", "*"]], listener="orderly", work_ms=[1])
        world.run(120)
        assert len(world.entries(MessagesConsumed)) > 500
        sent = Counter((frame.command.ext or {}).get("b") for frame in wire.requests(SEND))
        assert set(sent) == {"orders"}
        assert "RMQ_SYS_TRACE_TOPIC" not in topics_of(wire, ROUTE)
        made = {entry.event.topic for entry in world.entries(TopicChanged)}
        assert not any("TRACE" in topic for topic in made)
        assert not any(
            "TRACE" in row["topic"] and any(int(queue["max"]) for queue in row["queues"])
            for row in world.snapshot()["topics"]
        )


@pytest.mark.seed("4.9")
def test_a_process_refreshes_the_routes_of_all_topics_it_reads_or_writes(tmp_path: Path) -> None:
    with empty(tmp_path) as world:
        for topic in ("payments", "parcels", "letters"):
            world.act("CreateTopic", topic=topic, write_queues=1, read_queues=1)
        process = application(world)
        member(world, process, PushConsumerConfig(group="clerks"), "orders", "parcels")
        producer = Producer(ProducerConfig(group="shop"), process)
        world.environment.sim.run(producer.start())
        for topic in ("payments", "parcels"):
            world.environment.sim.run(producer.send(Message.make(topic, b"body")))
        world.run(5)
        wire = WireLog(world)
        world.run(60)
        asked = topics_of(wire, ROUTE, "10.0.9.8:")
        assert asked.pop("%RETRY%clerks") == 2
        assert asked.pop("TBW102", 2) == 2
        assert asked == {"orders": 2, "parcels": 2, "payments": 2}, "each topic once every 30 s, twofold use or not"


@pytest.mark.seed("4.10")
def test_until_a_client_learns_of_a_dead_broker_its_sends_are_retried_at_another(tmp_path: Path) -> None:
    with World(tmp_path, "orders") as world:
        world.run(20)
        shop = next(row for row in world.snapshot()["producers"] if row["actor"] == "shop")
        killed_ms = world.cluster.clock.now_ms()
        world.act("KillBroker", broker="broker-b")
        world.run(60)
        failed = [entry for entry in world.entries(SendFailed) if entry.event.client_id == shop["client_id"]]
        learned_ms = next(
            entry.at_ms
            for entry in world.entries(RouteLearned)
            if entry.at_ms > killed_ms and entry.event.client_id == shop["client_id"]
        )
        assert 0 < learned_ms - killed_ms <= 30_000, "nobody tells it; it asks every 30 s"
        assert len(failed) > 5
        assert {(entry.event.broker, entry.event.retried) for entry in failed} == {("broker-b", True)}
        assert max(entry.at_ms for entry in failed) <= learned_ms
        after = next(row for row in world.snapshot()["producers"] if row["actor"] == "shop")
        assert after["failed"] == shop["failed"] == 0, "the application notices nothing but time"
        assert after["sent"] - shop["sent"] == pytest.approx(60 * 6, abs=6)


@pytest.mark.seed("4.11")
def test_the_member_list_is_asked_of_a_broker_that_has_the_topic(tmp_path: Path) -> None:
    with World(tmp_path, "orders") as world:
        world.act("CreateTopic", topic="local", write_queues=2, read_queues=2, scope="broker-b")
        process = application(world)
        member(world, process, PushConsumerConfig(group="locals"), "local")
        wire = WireLog(world)
        world.run(300)
        asked = wire.requests(WHO, sender="10.0.9.8:")
        assert {(frame.command.ext or {})["consumerGroup"] for frame in asked} == {"locals"}
        rounds: dict[int, list[str]] = {}
        for frame in asked:
            rounds.setdefault(frame.at_ms, []).append(frame.receiver)
        assert len(rounds) >= 14
        assert {receivers[0] for receivers in rounds.values()} == {broker_address(world, "broker-b")}, "for its topic"
        assert len({receivers[1] for receivers in rounds.values()}) == 2, "its retry topic is at both"
        either = {frame.receiver for frame in wire.requests(WHO, sender=prefix_of(world, "A"))}
        assert either == {broker_address(world, "broker-a"), broker_address(world, "broker-b")}, "any that has it"


@pytest.mark.seed("4.11")
def test_no_member_list_within_three_seconds_leaves_everything_as_it_was(tmp_path: Path) -> None:
    with empty(tmp_path) as world:
        process = application(world)
        clerk = member(world, process, PushConsumerConfig(group="clerks"), "orders")
        world.run(25)
        held = set(clerk.process_queues)
        wire = WireLog(world)
        world.act("HangBroker", broker="broker-a")
        world.run(60)
        asked = [frame.at_ms for frame in wire.requests(WHO, sender="10.0.9.8:")]
        gaps_s = [(later - earlier) / 1000 for earlier, later in pairwise(asked)]
        assert len(held) == 5, "four queues and the retry topic's"
        assert any(3 <= gap <= 4 for gap in gaps_s), "the next topic's turn comes when 3 s are over"
        assert all(gap >= 3 for gap in gaps_s)
        assert set(clerk.process_queues) == held
        assert world.entries(QueueDropped) == []


@pytest.mark.seed("4.33")
def test_a_concurrent_start_takes_its_steps_and_others_let_go_when_they_hear(tmp_path: Path) -> None:
    """Over wires of 20 ms.  Without a notification the others only look every 20 s."""
    waits_s = {}
    for notified in (True, False):
        with empty(tmp_path / str(notified), latency_ms=(20, 20)) as world:
            world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], work_ms=[1])
            world.run(31)
            world.act("ChangeGroup", group=GROUP, changes={"notify_ids_changed": notified})
            wire, began_ms = WireLog(world), world.cluster.clock.now_ms()
            world.act("StartConsumer", group=GROUP)
            world.run(45)
            steps = [entry for entry in world.entries(LifecycleStep) if entry.at_ms >= began_ms]
            assert len(steps) == 10
            took = {entry.event.name: entry.event.took_ms for entry in steps}
            assert {name for name, took_ms in took.items() if took_ms} == {"fetch routes", "heartbeat"}
            began = {entry.at_ms - began_ms for entry in steps if entry.event.name == "wake rebalance"}
            assert began == {sum(took.values())}
            assert sum(took.values()) < 1_000
            first = next(
                frame.at_ms
                for frame in wire.requests(PULL, sender=prefix_of(world, "B"))
                if PullHeader.from_ext(frame.command.ext or {}).topic == "orders"
            )
            assert first - began_ms < 1_000, "it pulls at once, whoever else still does"
            let_go = [entry.at_ms - began_ms for entry in world.entries(QueueDropped)]
            taken = [
                entry.at_ms - began_ms
                for entry in world.entries(QueueTaken)
                if entry.at_ms >= began_ms and entry.event.topic == "orders"
            ]
            assert max(taken) < 1_000
            waits_s[notified] = max(let_go) / 1000
    assert waits_s[True] < 1
    assert 1 < waits_s[False] <= 20
