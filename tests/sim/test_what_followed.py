"""The consequences of an action: new owners of queues, and messages delivered again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.journal.events import QueueTaken
from sandbox.simulation.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, seed=1) as world:
        world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
        for label in "AB":
            world.act("StartConsumer", actor=label, group="svc", subscriptions=[{"topic": "orders"}], work_ms=[20, 40])
        world.act("StartProducer", actor="shop", topic="orders", rate_per_s=20)
        world.run(33)
        yield world


def asked(world: World, seq: int) -> tuple[str, dict[str, dict[str, Any]]]:
    answer: Any = world.ask("what-followed", seq=seq)
    return answer["state"], {row["sentence"]: row["values"] for row in answer["sentences"]}


def test_after_a_crash_the_queues_go_to_others_and_messages_come_again(world: World) -> None:
    seq = world.act("CrashActor", actor="A")
    assert asked(world, seq)[0] == "waiting"
    world.run(40)
    state, sentences = asked(world, seq)
    assert state == "done"
    assert sentences["crashed"] == {"who": "A"}
    assert (sentences["took_at_once"]["by"], sentences["took_at_once"]["names"]) == ("B", "q0, q1")
    again = world.cluster.actors.group_stats["svc"].again_by_cause["crash_before_commit"]
    assert again > 0
    assert sentences["again"] == {"messages": again}


def test_the_queues_of_a_member_are_known_however_long_ago_it_took_them(world: World) -> None:
    took = max(entry.seq for entry in world.entries(QueueTaken))
    world.run_until(lambda: world.cluster.journal.first_in_memory > took, within_s=900, step_s=5)
    seq = world.act("CrashActor", actor="A")
    world.run(40)
    state, sentences = asked(world, seq)
    assert (state, sentences["took_at_once"]["names"]) == ("done", "q0, q1")


def test_who_took_its_queues_is_still_said_after_the_member_came_back(world: World) -> None:
    seq = world.act("CrashActor", actor="A")
    world.run(20)
    world.act("RestartActor", actor="A")
    world.run(40)
    state, sentences = asked(world, seq)
    assert (state, sentences["took_at_once"]["by"]) == ("done", "B")


def test_a_member_with_many_queues_has_their_number(world: World) -> None:
    world.act("CreateTopic", topic="many", write_queues=16, read_queues=16)
    for label in "CD":
        world.act("StartConsumer", actor=label, group="wide", subscriptions=[{"topic": "many"}])
    world.run(30)
    seq = world.act("CrashActor", actor="C")
    world.run(40)
    assert asked(world, seq)[1]["took_many_at_once"]["queues"] == 8


def test_after_a_clean_stop_nothing_comes_again(world: World) -> None:
    seq = world.act("StopActor", actor="A")
    world.run(40)
    state, sentences = asked(world, seq)
    assert state == "done"
    assert sentences["stopped"] == {"who": "A"}
    assert (sentences.get("took") or sentences["took_at_once"])["queues"] == 2
    assert "again" not in sentences


def test_a_hung_member_keeps_its_queues_for_two_minutes(world: World) -> None:
    state, sentences = asked(world, world.act("HangActor", actor="A"))
    assert (state, sentences["hangs"]) == ("done", {"who": "A", "kept_ms": 120_000, "queues": 2})


def test_a_new_member_has_its_share_or_none(world: World) -> None:
    seq = world.act("StartConsumer", actor="C", group="svc", subscriptions=[{"topic": "orders"}])
    world.run(30)
    state, sentences = asked(world, seq)
    share = sentences.get("has") or sentences["has_at_once"]
    assert (state, share["who"], share["queues"]) == ("done", "C", 1)
    world.act("StartConsumer", actor="D", group="svc", subscriptions=[{"topic": "orders"}])
    world.run(30)
    seq = world.act("StartConsumer", actor="E", group="svc", subscriptions=[{"topic": "orders"}])
    world.run(30)
    assert asked(world, seq) == ("done", {"has_none": {"who": "E"}})


def test_a_member_has_the_queues_that_it_keeps_when_another_comes(world: World) -> None:
    c = world.act("StartConsumer", actor="C", group="svc", subscriptions=[{"topic": "orders"}])
    world.run(0.9)
    world.act("StartConsumer", actor="D", group="svc", subscriptions=[{"topic": "orders"}])
    world.run(5)
    state, sentences = asked(world, c)
    share = sentences.get("has") or sentences["has_at_once"]
    assert (state, share["who"], share["queues"]) == ("done", "C", 1)


def test_a_reset_counts_what_comes_again(world: World) -> None:
    seq = world.act("ResetOffsets", group="svc", topic="orders", target="shift", value=-10, confirm="svc")
    world.run(1)
    state, sentences = asked(world, seq)
    assert state == "done"
    assert sentences["replayed"]["replayed"] >= 40


def test_of_other_events_nothing_is_known(world: World) -> None:
    assert asked(world, 0) == ("unknown", {})
    assert asked(world, world.act("SendMessages", topic="orders", count=1, key="k")) == ("unknown", {})
