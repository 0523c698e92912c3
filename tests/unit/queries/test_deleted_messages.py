"""Messages that retention deleted before a group consumed them: the figures beside its lag, counted a second way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.queries.rows.lag import deleted_lag, deleted_unread, row_lag
from sandbox.simulation.world import World

GROUP = "packers"
BURST = 320


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """One queue; a member with one thread has consumed 10 messages of it."""
    with World(tmp_path, preset="teaching") as made:
        made.act("CreateTopic", topic="parcels", write_queues=1, read_queues=1)
        made.act(
            "StartConsumer",
            actor="reader",
            group=GROUP,
            subscriptions=[["parcels", "*"]],
            work_ms=[120, 120],
            threads=1,
        )
        made.act("SendMessages", topic="parcels", count=10)
        made.run(15)
        yield made


def send_and_delete(world: World) -> None:
    world.act("SendMessages", topic="parcels", count=BURST, body_bytes=800)
    world.run(1)
    world.act("AgeFiles", broker="broker-a", hours=2)
    world.act("CleanFiles", broker="broker-a")


def row_of(world: World) -> Any:
    (row,) = world.read(f"board/{GROUP}/parcels").data["queues"].values()
    return row


def test_the_lag_of_a_stopped_group_says_how_much_of_it_is_deleted(world: World) -> None:
    world.act("StopActor", actor="reader")
    world.run(2)
    send_and_delete(world)
    row = row_of(world)
    first, committed, end = int(row["min"]), int(row["committed"]), int(row["max"])
    waiting = set(range(committed, end))
    assert first > committed, "the files that were deleted had messages of the burst"
    assert row_lag(row) == len(waiting)
    assert deleted_lag(row) == len(waiting - set(range(first, end)))
    assert deleted_unread(row) == deleted_lag(row), "no client has any of them"


def test_messages_in_a_members_memory_are_deleted_and_not_lost(world: World) -> None:
    send_and_delete(world)
    row = row_of(world)
    consumer = world.cluster.actors.get("reader").consumer
    (queue,) = [pq for mq, pq in consumer.process_queues.items() if mq.topic == "parcels"]
    end_of_held = queue.queue_offset_max + 1
    first, committed = int(row["min"]), int(row["committed"])
    assert committed < end_of_held < first
    assert deleted_lag(row) == first - committed
    assert deleted_unread(row) == first - end_of_held


def test_a_group_without_an_offset_has_deleted_messages_in_its_lag_and_has_lost_none() -> None:
    row = {"min": "290", "max": "357", "committed": None, "from_zero": True}
    assert (row_lag(row), deleted_lag(row), deleted_unread(row)) == (357, 290, 0)


@pytest.mark.parametrize(
    ("held", "unread"),
    [
        ({}, 190),
        ({"in_memory": "334"}, 190),
        ({"in_memory": "350"}, 174),
        ({"in_memory": "334", "cells": "p2d97b", "cells_from": "334"}, 90),
        ({"cached": {"count": 5, "min": "334", "max": "433"}}, 90),
        ({"in_memory": "334", "cells": "300b", "cells_from": "334"}, 0),
    ],
)
def test_unread_is_what_no_member_reports_to_have(held: dict[str, object], unread: int) -> None:
    row = {"min": "524", "max": "677", "committed": "334", **held}
    assert (deleted_lag(row), deleted_unread(row)) == (190, unread)


@pytest.mark.parametrize(
    "row", [{"min": None, "max": "9", "committed": "3"}, {"min": "4", "max": "9", "committed": "4"}]
)
def test_nothing_is_deleted_that_is_not_known_to_be(row: dict[str, object]) -> None:
    assert (deleted_lag(row), deleted_unread(row)) == (0, 0)
