"""What the Store page reads of a disk: files, marks, and how much of the log a power cut would leave."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.hosting.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as made:
        made.act("CreateTopic", topic="orders", write_queues=2, read_queues=2)
        yield made


def disk(world: World) -> dict[str, Any]:
    return world.read("store/broker-a/disk").data


def test_entries_of_a_queue_take_twenty_bytes_each(world: World) -> None:
    world.act("SendMessages", topic="orders", queue="broker-a:1", count=7)
    world.run(2)
    assert disk(world)["queues"]["orders/1"] == {"files": 1, "bytes": "140", "min": "0", "max": "7"}


def test_the_log_is_flushed_a_while_after_it_is_written(world: World) -> None:
    world.act("SendMessages", topic="orders", count=5)
    world.run_until(lambda: disk(world)["log"]["max"] != "0", within_s=1, step_s=0.01)
    log = disk(world)["log"]
    assert int(log["flushed"]) < int(log["max"]), "asynchronously, every half second at the earliest"
    world.run(30)
    log = disk(world)["log"]
    assert log["flushed"] == log["max"]
    [file] = disk(world)["commitlog"].values()
    assert file["flushed"] == file["wrote"]


def test_the_checkpoint_follows_the_store_time_of_what_was_flushed(world: World) -> None:
    assert disk(world)["checkpoint"]["physic_ms"] is None
    world.act("SendMessages", topic="orders", count=1)
    sent_ms = world.sandbox.clock.now_ms()
    world.run(90)
    times = disk(world)["checkpoint"]
    assert sent_ms - 1_000 <= times["physic_ms"] <= sent_ms + 1_000
    assert times["index_ms"] is None, "no index file is full yet"


def test_abort_and_lock_are_there_while_the_broker_runs(world: World) -> None:
    assert disk(world)["marks"] == {"abort": True, "lock": True}
    assert "topics.json" in disk(world)["config"]


def test_a_slave_has_a_disk_of_its_own_and_a_master_knows_how_far_it_follows(tmp_path: Path) -> None:
    with World(tmp_path, "cluster") as world:
        world.run(30)
        master, slave = (world.read(f"store/{node}/disk").data for node in ("broker-a", "broker-a.1"))
        assert (master["node"]["role"], slave["node"]["role"]) == ("master", "slave")
        assert int(master["log"]["replicated"]) > 0
        assert slave["log"]["replicated"] is None
