"""Rows that a power cut took from a broker's tables are facts at its next start; so are topics made in their place."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.journal.events import (
    DelayOffsetsReverted,
    Event,
    GroupReverted,
    OffsetsReverted,
    TopicChanged,
    TopicReverted,
)
from sandbox.simulation.world import World
from sandbox.store.table_files import BACKUP, TABLES, path_of
from tests.seed.stage import Caller, broker_address, disk_of

BROKER = "broker-a"
REVERTED: tuple[type[Event], ...] = (TopicReverted, GroupReverted, OffsetsReverted, DelayOffsetsReverted)
ONE_QUEUE = {"read_queues": 1, "write_queues": 1}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as made:
        yield made


def ended(world: World, how: str = "PowerCut", *, start: bool = True) -> list[Any]:
    """End the broker and start it again; the facts about what was lost."""
    seq = world.cluster.journal.next_seq
    world.act(how, broker=BROKER)
    if start:
        world.act("StartBroker", broker=BROKER)
    return [entry.event for entry in world.entries(since=seq) if isinstance(entry.event, REVERTED)]


@pytest.mark.parametrize("seed", range(10))
def test_c3_a_topic_lost_in_a_power_cut_is_a_fact_and_so_is_its_successor(tmp_path: Path, seed: int) -> None:
    with World(tmp_path, seed=seed) as world:
        world.act("CreateTopic", topic="orders", **ONE_QUEUE)
        world.act("SendMessages", topic="orders", count=6)
        world.run(22)
        assert ended(world) == [
            TopicReverted(
                topic="orders",
                broker=BROKER,
                how="power_cut",
                read_queues=None,
                write_queues=None,
                permission=None,
                was_read_queues=1,
                was_write_queues=1,
                was_permission=6,
                ends=((0, 0, 6),),
            )
        ]
        world.act("SendMessages", topic="orders", count=1)
        world.run(5)
        assert world.entries(TopicChanged)[-1].event == TopicChanged(
            topic="orders",
            broker=BROKER,
            read_queues=4,
            write_queues=4,
            permission=6,
            how="automatic",
            lost_read_queues=1,
            lost_write_queues=1,
        )
        assert world.cluster.origins.of("orders", BROKER) == "automatic"


def with_files_of(world: World, tables: dict[str, bytes]) -> list[Any]:
    """End the broker, and start it with older files, as a power cut may leave them; the facts about what was lost."""
    world.act("KillBroker", broker=BROKER)
    for path, data in tables.items():
        disk_of(world).write(path, data)
    seq = world.cluster.journal.next_seq
    world.act("StartBroker", broker=BROKER)
    return [entry.event for entry in world.entries(since=seq) if isinstance(entry.event, REVERTED)]


def tables_of(world: World) -> dict[str, bytes]:
    return {path: data for path in map(path_of, TABLES) if (data := disk_of(world).read(path)) is not None}


def test_a_change_of_a_topic_and_its_deletion_can_be_lost_too(world: World) -> None:
    for topic in ("grown", "gone"):
        world.act("CreateTopic", topic=topic, **ONE_QUEUE)
    older = tables_of(world)
    world.act("ChangeTopic", topic="grown", write_queues=8, read_queues=8)
    world.act("DeleteTopic", topic="gone")
    rows = with_files_of(world, older)
    assert [(row.topic, row.write_queues, row.was_write_queues) for row in rows] == [("gone", 1, None), ("grown", 1, 8)]


def test_offsets_settings_and_delays_are_facts_with_both_values(world: World) -> None:
    world.act("CreateTopic", topic="orders", **ONE_QUEUE)
    world.act("StartConsumer", group="g", subscriptions=[["orders", "*"]], work_ms=[1])
    for level, count in ((None, 4), (1, 2)):
        world.act("SendMessages", topic="orders", count=count, delay_level=level)
    world.run(20)
    older = tables_of(world)
    world.act("ChangeGroup", group="g", changes={"retry_max_times": 3})
    for level, count in ((None, 5), (1, 3)):
        world.act("SendMessages", topic="orders", count=count, delay_level=level)
    world.run(20)
    assert with_files_of(world, older) == [
        GroupReverted(group="g", broker=BROKER, how="killed", changes=(("retryMaxTimes", "3", "16"),)),
        OffsetsReverted(group="g", broker=BROKER, how="killed", queues=((f"orders/{BROKER}/0", 14, 6),)),
        DelayOffsetsReverted(broker=BROKER, how="killed", levels=((1, 5, 2),)),
    ]


def test_what_a_kill_takes_from_memory_is_a_fact(world: World) -> None:
    """Offsets are written every 5 s."""
    world.act("CreateTopic", topic="orders", **ONE_QUEUE)
    Caller(world, broker_address(world)).commit("g", "orders", 0, 7)
    assert ended(world, "KillBroker") == [
        OffsetsReverted(group="g", broker=BROKER, how="killed", queues=((f"orders/{BROKER}/0", 7, -1),))
    ]


def test_a_clean_stop_loses_nothing(world: World) -> None:
    world.act("CreateTopic", topic="orders", **ONE_QUEUE)
    Caller(world, broker_address(world)).commit("g", "orders", 0, 7)
    assert ended(world, "StopBroker") == []


def test_what_was_lost_is_known_after_sleep_too(world: World) -> None:
    world.act("CreateTopic", topic="orders", **ONE_QUEUE)
    world.run(22)
    ended(world, start=False)
    world.sleep()
    world.wake()
    world.act("StartBroker", broker=BROKER)
    assert [entry.event.topic for entry in world.entries(TopicReverted)] == ["orders"]


def test_a_loss_that_was_accepted_is_counted_row_by_row(world: World) -> None:
    world.act("CreateTopic", topic="orders", **ONE_QUEUE)
    Caller(world, broker_address(world)).commit("g", "orders", 0, 7)
    world.act("StopBroker", broker=BROKER)
    disk_of(world).write(path_of("consumerOffset"), bytes(60))
    disk_of(world).write(path_of("consumerOffset") + BACKUP, bytes(60))
    with pytest.raises(Exception, match="cannot start"):
        world.act("StartBroker", broker=BROKER)
    world.act("AcceptLoss", broker=BROKER, table="consumerOffset")
    assert [entry.event for entry in world.entries(OffsetsReverted)] == [
        OffsetsReverted(group="g", broker=BROKER, how="damaged", queues=((f"orders/{BROKER}/0", 7, -1),))
    ]
