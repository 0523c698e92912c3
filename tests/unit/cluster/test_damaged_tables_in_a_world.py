"""A broker whose tables cannot be read does not start, and the sandbox says which file it is and what can be done."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cluster.notices import FROM_BACKUP, NO_BACKUP, TABLE_DAMAGED
from sandbox.journal.events import BrokerStarted, RecoveryDone, TableDamaged, TableLossAccepted
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.world import World
from sandbox.store.table_files import BACKUP, TABLES, path_of
from tests.seed.stage import Caller, broker_address, disk_of

BROKER = "broker-a"
OFFSETS = path_of("consumerOffset")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Twenty messages, of which group g has committed fifteen; both brokers are stopped cleanly."""
    with World(tmp_path, template="orders") as made:
        for actor in [*made.cluster.actors.by_label]:
            made.act("StopActor", actor=actor)
        made.act("CreateTopic", topic="paid", write_queues=1, read_queues=1, scope=BROKER)
        made.act("SendMessages", topic="paid", count=20)
        made.run(5)
        Caller(made, broker_address(made, BROKER)).commit("g", "paid", 0, 15)
        for broker in (BROKER, "broker-b"):
            made.act("StopBroker", broker=broker)
        yield made


def zeroed(world: World, *paths: str) -> None:
    """Filled with NUL bytes of their length, as a power cut leaves files whose blocks were not written."""
    disk = disk_of(world)
    for path in paths:
        disk.write(path, bytes(disk.size_of(path) or 60))


def state_of(world: World, broker: str = BROKER) -> str:
    return next(row["state"] for row in world.snapshot()["brokers"] if row["broker"] == broker)


def notices_of(world: World) -> list[tuple[str, str, bool]]:
    notices = world.snapshot()["sandbox"]["notices"]
    return [(row["pattern"], row["values"]["table"], row["dismissible"]) for row in notices]


def test_c1_two_files_of_nul_bytes_keep_the_broker_from_starting(world: World) -> None:
    zeroed(world, OFFSETS, OFFSETS + BACKUP)
    recoveries = len(world.entries(RecoveryDone))
    with pytest.raises(ActionRefused, match=f"{BROKER} cannot start: {OFFSETS} holds only NUL bytes") as refusal:
        world.act("StartBroker", broker=BROKER)
    assert "accept the loss" in refusal.value.hint
    assert state_of(world) == "damaged"
    assert world.entries(TableDamaged)[-1].event == TableDamaged(
        broker=BROKER, table="consumerOffset", file=OFFSETS, why="nul_bytes", backup_why="nul_bytes", outcome="refused"
    )
    assert notices_of(world) == [(TABLE_DAMAGED, "consumerOffset", False)]
    assert len(world.entries(RecoveryDone)) == recoveries, "its log was not touched"


def test_the_sandbox_wakes_with_the_other_brokers_and_says_it_again(world: World) -> None:
    zeroed(world, OFFSETS, OFFSETS + BACKUP)
    world.act("StartBroker", broker="broker-b")
    world.cluster.nodes.broker(BROKER).last_known = None  # as one that ran when the sandbox fell asleep
    world.sleep()
    world.wake()
    assert (state_of(world), state_of(world, "broker-b")) == ("damaged", "running")
    [row] = [row for row in world.snapshot()["brokers"] if row["broker"] == BROKER]
    assert row["damaged"] == [{"table": "consumerOffset", "file": OFFSETS, "why": "nul_bytes"}]
    assert row["log"] is None
    assert world.read("topology").data["brokers"][BROKER]["damaged"] == row["damaged"]
    world.act("CreateTopic", topic="other")
    world.sleep()
    world.wake()
    assert state_of(world) == "damaged", "each wake tries again"
    assert notices_of(world) == [(TABLE_DAMAGED, "consumerOffset", False)]


def test_with_its_loss_accepted_the_table_is_empty_and_the_damaged_files_are_kept(world: World) -> None:
    zeroed(world, OFFSETS, OFFSETS + BACKUP)
    with pytest.raises(ActionRefused):
        world.act("StartBroker", broker=BROKER)
    world.act("AcceptLoss", broker=BROKER, table="consumerOffset")
    assert state_of(world) == "running"
    kept = (f"{OFFSETS}.damaged", f"{OFFSETS}{BACKUP}.damaged")
    assert world.entries(TableLossAccepted)[-1].event == TableLossAccepted(BROKER, "consumerOffset", OFFSETS, kept)
    assert [any(disk_of(world).read(path) or b"x") for path in kept] == [False, False]
    broker = world.cluster.nodes.broker(BROKER).running
    assert broker.consumer_offsets.get("g", "paid", 0) is None
    assert broker.store.max_offset("paid", 0) == 20
    assert "paid" in broker.topics.table
    assert notices_of(world) == []


def test_a_file_that_was_restored_meanwhile_is_read_and_not_put_aside(world: World) -> None:
    sound = disk_of(world).read(OFFSETS)
    assert sound is not None
    zeroed(world, OFFSETS, OFFSETS + BACKUP)
    with pytest.raises(ActionRefused):
        world.act("StartBroker", broker=BROKER)
    disk_of(world).write(OFFSETS, sound)
    world.act("AcceptLoss", broker=BROKER, table="consumerOffset")
    assert world.entries(TableLossAccepted) == []
    assert world.cluster.nodes.broker(BROKER).running.consumer_offsets.get("g", "paid", 0) == 15


def test_of_two_damaged_tables_each_is_given_up_by_its_name(world: World) -> None:
    zeroed(world, *(path_of(name) + end for name in ("topics", "consumerOffset") for end in ("", BACKUP)))
    with pytest.raises(ActionRefused):
        world.act("StartBroker", broker=BROKER)
    with pytest.raises(ActionRefused, match="The table delayOffset of broker-a is not damaged"):
        world.act("AcceptLoss", broker=BROKER, table="delayOffset")
    world.act("AcceptLoss", broker=BROKER, table="topics")
    assert state_of(world) == "damaged"
    assert notices_of(world) == [(TABLE_DAMAGED, "consumerOffset", False)]
    world.act("AcceptLoss", broker=BROKER, table="consumerOffset")
    assert state_of(world) == "running"
    with pytest.raises(ActionRefused, match="has no damaged table"):
        world.act("AcceptLoss", broker=BROKER, table="topics")


def test_c2_every_table_takes_its_backup_and_says_so(world: World) -> None:
    disk = disk_of(world)
    for path in map(path_of, TABLES):
        disk.write(path + BACKUP, disk.read(path) or b"{}")
        zeroed(world, path)
    world.act("StartBroker", broker=BROKER)
    assert [entry.event for entry in world.entries(TableDamaged)] == [
        TableDamaged(BROKER, name, path_of(name), "nul_bytes", None, "backup") for name in TABLES
    ]
    every = [(FROM_BACKUP, name, True) for name in sorted(TABLES)]
    assert notices_of(world) == every
    assert world.cluster.nodes.broker(BROKER).running.consumer_offsets.get("g", "paid", 0) == 15
    world.sleep()
    world.wake()
    assert notices_of(world) == every, "until its owner has read them"
    world.sandbox.dismiss_notices()
    assert notices_of(world) == []


def test_c2_every_table_that_cannot_be_read_keeps_the_broker_from_starting(world: World) -> None:
    for path in map(path_of, TABLES):
        zeroed(world, path, path + BACKUP)
    with pytest.raises(ActionRefused) as refusal:
        world.act("StartBroker", broker=BROKER)
    assert all(path_of(name) in str(refusal.value) for name in TABLES)
    assert [read.name for read in world.cluster.nodes.broker(BROKER).damaged] == list(TABLES)


def test_a_damaged_file_without_a_backup_is_an_empty_table_as_in_rocketmq_and_said(world: World) -> None:
    zeroed(world, OFFSETS)
    disk_of(world).remove(OFFSETS + BACKUP)
    world.act("StartBroker", broker=BROKER)
    assert world.entries(TableDamaged)[-1].event.outcome == "empty"
    assert notices_of(world) == [(NO_BACKUP, "consumerOffset", True)]
    assert world.cluster.nodes.broker(BROKER).running.consumer_offsets.get("g", "paid", 0) is None


@pytest.mark.parametrize("data", [None, b""])
def test_c1_absent_and_zero_length_files_are_no_damage(world: World, data: bytes | None) -> None:
    disk = disk_of(world)
    for path in (OFFSETS, OFFSETS + BACKUP):
        disk.remove(path)
        if data is not None:
            disk.write(path, data)
    world.act("StartBroker", broker=BROKER)
    assert world.entries(TableDamaged) == []
    assert notices_of(world) == []
    assert len(world.entries(BrokerStarted)) == 3
