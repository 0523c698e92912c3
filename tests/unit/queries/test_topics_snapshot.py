"""The Topics page: permissions of each queue, pending messages, and the origin of a topic."""

from typing import Any

import pytest

from sandbox.simulation.world import World
from tests.beginnings import world_of

world = world_of("orders")  # two brokers


def topic(world: World, name: str) -> dict[str, Any]:
    return next(row for row in world.read("topics").data["topics"] if row["topic"] == name)


def uses(row: dict[str, Any], broker: str = "broker-a") -> str:
    return " ".join(queue["use"] for queue in row["queues"] if queue["broker"] == broker)


@pytest.mark.seed("3.11")
def test_ids_between_the_two_counts_are_written_and_never_read_or_read_and_never_written(world: World) -> None:
    world.act("CreateTopic", topic="wide", write_queues=8, read_queues=4)
    world.act("CreateTopic", topic="deep", write_queues=4, read_queues=8)
    assert uses(topic(world, "wide")) == "rw rw rw rw wo wo wo wo"
    assert uses(topic(world, "deep")) == "rw rw rw rw ro ro ro ro"


def test_a_topic_without_the_right_to_read_has_no_readable_queue(world: World) -> None:
    world.act("CreateTopic", topic="in", write_queues=2, read_queues=2, permission=2)
    assert uses(topic(world, "in")) == "wo wo"


@pytest.mark.seed("3.10")
def test_a_topic_made_in_cluster_mode_is_everywhere_and_one_in_broker_mode_in_one_place(world: World) -> None:
    world.act("CreateTopic", topic="all", write_queues=3, read_queues=3)
    world.act("CreateTopic", topic="one", write_queues=5, read_queues=5, scope="broker-b")
    places = [(row["broker"], row["write_queues"], row["how"]) for row in topic(world, "all")["brokers"]]
    assert places == [("broker-a", 3, "cluster"), ("broker-b", 3, "cluster")]
    assert [(row["broker"], row["write_queues"], row["how"]) for row in topic(world, "one")["brokers"]] == [
        ("broker-b", 5, "broker")
    ]


def test_a_first_message_makes_its_topic(world: World) -> None:
    world.act("SendMessages", topic="unheard", count=4)
    world.run(2)
    assert {row["how"] for row in topic(world, "unheard")["brokers"]} == {"automatic"}


def test_a_change_leaves_the_origin_alone_and_sleep_does_too(world: World) -> None:
    world.act("ChangeTopic", topic="orders", write_queues=6, scope="broker-a")
    assert [row["how"] for row in topic(world, "orders")["brokers"]] == ["cluster", "cluster"]
    world.sleep()
    world.wake()
    assert [row["how"] for row in topic(world, "orders")["brokers"]] == ["cluster", "cluster"]


def test_a_deleted_topic_begins_anew(world: World) -> None:
    world.act("CreateTopic", topic="again", write_queues=1, read_queues=1)
    world.act("DeleteTopic", topic="again")
    world.act("CreateTopic", topic="again", write_queues=1, read_queues=1, scope="broker-a")
    assert [row["how"] for row in topic(world, "again")["brokers"]] == ["broker"]


def test_what_waits_is_counted_from_the_committed_offset_and_whole_before_the_first_commit(world: World) -> None:
    world.run(30)
    for label in "ABC":
        world.act("CrashActor", actor=label)
    world.act("ChangeActor", actor="shop", rate_per_s=0)
    world.run(10)
    before = {
        queue["queue_id"]: queue["waiting"]
        for queue in topic(world, "orders")["queues"]
        if queue["broker"] == "broker-a"
    }
    world.act("SendMessages", topic="orders", count=7, queue="broker-a:2")
    world.run(2)
    after = {
        queue["queue_id"]: queue["waiting"]
        for queue in topic(world, "orders")["queues"]
        if queue["broker"] == "broker-a"
    }
    assert int(after[2]["order-svc"]) - int(before[2]["order-svc"]) == 7
    assert {q: after[q] for q in (0, 1, 3)} == {q: before[q] for q in (0, 1, 3)}
    world.act("CreateTopic", topic="fresh", write_queues=1, read_queues=1, scope="broker-a")
    world.act("StartConsumer", actor="F", group="late", subscriptions=[["fresh", "*"]], work_ms=[60_000])
    world.run(3)
    world.act("SendMessages", topic="fresh", count=3)
    world.run(1)
    [queue] = topic(world, "fresh")["queues"]
    assert queue["waiting"] == {"late": "3"}


def test_queues_left_behind_by_a_shrink_stay_on_the_page(world: World) -> None:
    world.act("SendMessages", topic="orders", count=3, queue="broker-a:3")
    world.run(2)
    world.act("ChangeTopic", topic="orders", write_queues=2, read_queues=2)
    assert uses(topic(world, "orders")) == "rw rw none none"
