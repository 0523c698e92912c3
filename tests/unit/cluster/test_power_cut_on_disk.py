"""A power cut over real files: what was not flushed is gone, and the journal counts it exactly (decision 0009)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster.live_environment import LiveEnvironment
from sandbox.cluster.power import MachineDisk
from sandbox.journal.events import BrokerStopped, RecoveryDone, UnflushedLost
from sandbox.kernel.clock import ScaledClock
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import FLAG_ONEWAY
from sandbox.sim.loop import SimLoop
from sandbox.simulation.world import SimulatedEnvironment, World
from tests.seed.stage import Caller

QUEUES = 4


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Virtual time over the files of the live engine."""
    monkeypatch.setattr(SimulatedEnvironment, "disk", lambda self, root, clock: MachineDisk(root, clock))
    monkeypatch.setattr(SimulatedEnvironment, "cut_power", LiveEnvironment.cut_power)
    with World(tmp_path, preset="teaching") as made:
        made.act("CreateTopic", topic="orders", write_queues=QUEUES, read_queues=QUEUES)
        made.run(40)  # the topic is on disk by then: the kernel writes dirty pages after 30 s
        yield made


def in_queues(world: World) -> int:
    store = world.cluster.nodes.broker("broker-a").running.store
    return sum(store.max_offset("orders", queue_id) for queue_id in range(QUEUES))


def send(world: World, count: int, **fields: Any) -> None:
    before = in_queues(world)
    world.act("SendMessages", topic="orders", count=count, **fields)
    world.run_until(lambda: in_queues(world) == before + count, within_s=30, step_s=0.01)


def cut_and_start(world: World) -> UnflushedLost:
    world.act("PowerCut", broker="broker-a")
    lost: UnflushedLost = world.entries(UnflushedLost)[-1].event
    world.act("StartBroker", broker="broker-a")
    return lost


def test_answered_messages_that_were_not_flushed_are_gone_and_counted(world: World) -> None:
    send(world, 20)
    world.run(30)  # a thorough flush every 10 s
    safe = in_queues(world)
    flushed = world.cluster.nodes.broker("broker-a").running.store.flushed_offset
    send(world, 7, body_bytes=100)
    end = world.cluster.nodes.broker("broker-a").running.store.max_physical_offset
    lost = cut_and_start(world)
    assert lost == UnflushedLost(broker="broker-a", from_offset=flushed, to_offset=end, messages=7, answered=7)
    assert in_queues(world) == safe == 20
    assert world.cluster.nodes.broker("broker-a").running.store.max_physical_offset == flushed
    assert world.entries(BrokerStopped)[-1].event.how == "power_cut"
    assert world.entries(RecoveryDone)[-1].event.kind == "abnormal"
    send(world, 5)
    assert in_queues(world) == 25, "the offsets of lost messages are given again"


def test_what_several_log_files_held_unflushed_is_lost_as_one(world: World) -> None:
    send(world, 10)
    world.run(30)
    store = world.cluster.nodes.broker("broker-a").running.store
    flushed, files = store.flushed_offset, len(store.log.files.files)
    send(world, 300, body_bytes=600)  # faster than the flush comes round, every 500 ms
    assert store.flushed_offset == flushed
    assert len(store.log.files.files) > files + 2
    end, before = store.max_physical_offset, in_queues(world)
    lost = cut_and_start(world)
    assert (lost.from_offset, lost.to_offset) == (flushed, end)
    assert lost.messages == before - in_queues(world) == 300
    assert in_queues(world) == 10


def test_nothing_answered_is_lost_when_every_put_is_flushed(world: World) -> None:
    world.act("ChangeBroker", broker="broker-a", changes={"flush": "SYNC_FLUSH"})
    world.run(40)
    send(world, 50)
    lost = cut_and_start(world)
    assert (lost.messages, lost.answered) == (0, 0)
    assert lost.from_offset == lost.to_offset
    assert in_queues(world) == 50


def test_who_asked_for_no_answer_had_no_ok(world: World) -> None:
    address = world.cluster.nodes.broker("broker-a").record.address
    caller = Caller(world, address)
    ext = {
        "producerGroup": "PG",
        "topic": "orders",
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": "4",
        "queueId": "0",
        "sysFlag": "0",
        "bornTimestamp": "1795000000000",
        "flag": "0",
        "properties": "",
        "reconsumeTimes": "0",
    }
    caller.send_one_way(RequestCode.SEND_MESSAGE, ext, b"nobody waits", flag=FLAG_ONEWAY)
    assert caller.ask(RequestCode.SEND_MESSAGE, ext, b"somebody waits").code == 0
    lost = cut_and_start(world)
    assert (lost.messages, lost.answered) == (2, 1)


def test_a_killed_broker_loses_nothing_and_what_it_had_flushed_stays_flushed(world: World) -> None:
    send(world, 20)
    world.run(30)
    world.act("KillBroker", broker="broker-a")
    world.act("StartBroker", broker="broker-a")
    assert in_queues(world) == 20
    lost = cut_and_start(world)  # the new process has flushed nothing yet; the old one had
    assert lost.messages == 0
    assert in_queues(world) == 20


def test_a_kill_leaves_the_page_cache_and_a_power_cut_after_it_does_not(world: World) -> None:
    send(world, 20)
    world.run(30)
    send(world, 6, body_bytes=100)
    world.act("KillBroker", broker="broker-a")
    world.act("StartBroker", broker="broker-a")
    assert in_queues(world) == 26
    lost = cut_and_start(world)
    assert lost.messages == 6
    assert in_queues(world) == 20


def test_a_topic_made_just_before_is_forgotten_and_an_older_one_is_not(world: World) -> None:
    world.act("CreateTopic", topic="hasty", write_queues=2, read_queues=2)
    world.run(3)
    cut_and_start(world)
    topics = set(world.cluster.nodes.broker("broker-a").running.topics.table)
    assert "orders" in topics
    assert "hasty" not in topics


def test_after_a_second_cut_the_first_is_not_undone(world: World) -> None:
    send(world, 20)
    world.run(30)
    for count in (4, 3):
        send(world, count, body_bytes=100)
        assert cut_and_start(world).messages == count
        assert in_queues(world) == 20


# The disk alone.


@pytest.fixture
def clock() -> ScaledClock:
    return ScaledClock(SimLoop(), start_ms=0)


def test_a_small_file_falls_back_to_what_was_synced(tmp_path: Path, clock: ScaledClock) -> None:
    disk = MachineDisk(tmp_path, clock)
    disk.write("a", b"first")
    disk.sync("a")
    disk.write("a", b"second")
    disk.write("b", b"never synced")
    disk.power_cut({})
    assert (disk.read("a"), disk.read("b")) == (b"first", None)


def test_a_removed_file_comes_back_and_a_renamed_one_has_its_old_name(tmp_path: Path, clock: ScaledClock) -> None:
    disk = MachineDisk(tmp_path, clock)
    for name in ("gone", "old"):
        disk.write(name, name.encode())
        disk.sync(name)
    disk.remove("gone")
    disk.rename("old", "new")
    disk.power_cut({})
    assert disk.read("gone") == b"gone"
    assert (disk.read("old"), disk.read("new")) == (b"old", None)


def test_a_mapped_file_keeps_its_size_and_what_was_flushed(tmp_path: Path, clock: ScaledClock) -> None:
    disk = MachineDisk(tmp_path, clock)
    mapped = disk.map("log", 8192)
    mapped.view[:8192] = b"x" * 8192
    mapped.close()
    disk.map("young", 4096).close()
    disk.power_cut({"log": 5000, "young": 0})
    assert disk.read("log") == b"x" * 5000 + bytes(3192)
    assert disk.read("young") is None


def test_what_was_on_disk_before_the_first_write_is_kept(tmp_path: Path, clock: ScaledClock) -> None:
    (tmp_path / "table").write_bytes(b"from last week")
    disk = MachineDisk(tmp_path, clock)
    disk.write("table", b"new")
    disk.power_cut({})
    assert disk.read("table") == b"from last week"
