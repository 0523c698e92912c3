"""The Store page's reading of a disk: files, marks, and the part of the log that a power cut would leave."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.kernel.errors import TablesDamaged
from sandbox.queries.snapshot import offset_files
from sandbox.simulation.world import World
from tests.beginnings import world_with

world = world_with({"orders": 2})


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
    sent_ms = world.cluster.clock.now_ms()
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


@pytest.mark.seed("0.14", "3.43")
def test_the_offset_file_stands_beside_the_table_and_says_what_waits_for_the_next_write(world: World) -> None:
    world.act("StartConsumer", group="order-svc", subscriptions=[["orders", "*"]], work_ms=[1])
    world.run(25)
    world.act("SendMessages", topic="orders", queue="broker-a:1", count=7)
    key = "orders@order-svc/1"
    world.run_until(lambda: disk(world)["offsets"][key]["state"] == "waits", within_s=11, step_s=0.1)
    row = disk(world)["offsets"][key]
    assert (row["now"], row["file"] != "7") == ("7", True), "the group has committed, the file has not been written"
    due_ms = disk(world)["offset_file"]["due_ms"]
    left_s = (due_ms - world.cluster.clock.now_ms()) / 1000
    assert 0 < left_s <= 5
    world.run(left_s + 0.001)
    assert disk(world)["offsets"][key] == {"file": "7", "now": "7", "state": "same"}
    assert disk(world)["offset_file"]["due_ms"] == due_ms + 5_000
    written = json.loads(world.cluster.nodes.masters()[0].running.store.disk.read("config/consumerOffset.json"))
    assert written["offsetTable"]["orders@order-svc"]["1"] == 7


@pytest.mark.parametrize("bytes_read", [0, offset_files.BYTES_READ])
def test_offsets_beside_a_file_that_is_not_read_are_those_of_memory(
    world: World, monkeypatch: pytest.MonkeyPatch, bytes_read: int
) -> None:
    """Too long for a picture, or damaged since: an empty table would say that no group has an offset."""
    world.act("StartConsumer", group="order-svc", subscriptions=[["orders", "*"]], work_ms=[1])
    world.act("SendMessages", topic="orders", queue="broker-a:1", count=7)
    world.run(60)
    broker = world.cluster.nodes.masters()[0].running
    monkeypatch.setattr(offset_files, "BYTES_READ", bytes_read)
    if bytes_read:

        def damaged() -> None:
            raise TablesDamaged([])

        monkeypatch.setattr(
            broker.store.config_file(offset_files.CONSUMER_OFFSETS).__class__, "read", lambda _: damaged()
        )
    assert disk(world)["offsets"]["orders@order-svc/1"] == {"file": None, "now": "7", "state": "unknown"}
