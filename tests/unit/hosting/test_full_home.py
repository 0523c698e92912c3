"""A data home that fills up: refusals in words, sandboxes that stop and go on, and no one's process ends."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import record as records
from sandbox.cluster.config import HostConfig
from sandbox.cluster.power import MachineDisk
from sandbox.control.actions import CreateTopic, SendMessages
from sandbox.control.limits import MIB, HostLimits
from sandbox.control.rights import Actor
from sandbox.hosting import data_home
from sandbox.hosting.engine import Engine
from sandbox.hosting.port import EnginePort
from sandbox.journal.events import ClockChanged, SendFailed
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.world import SimulatedEnvironment, World
from sandbox.store import blocks
from sandbox.store.disk import FileDisk
from sandbox.store.message_store import MessageStore
from sandbox.store_audit.one_process import verify

WAIT_S = 20
OWNER = Actor("owner", "otter")
ALLOWED_MIB = 16


class Room:
    """A switch for free blocks of the disk; allocated blocks stay."""

    full = False

    def allocate(self, descriptor: int, start: int, length: int) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.posix_fallocate(descriptor, start, length)

    def space(self) -> tuple[int, int]:
        return 64 * MIB, 0 if self.full else 32 * MIB


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Room:
    made = Room()
    monkeypatch.setattr(SimulatedEnvironment, "disk", lambda self, root, clock: MachineDisk(root, clock))
    monkeypatch.setattr(blocks, "_allocate", made.allocate)
    monkeypatch.setattr(FileDisk, "space", lambda self: made.space())
    return made


@pytest.fixture
def world(tmp_path: Path, room: Room) -> Iterator[World]:
    with World(tmp_path) as made:
        made.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
        made.act("StartConsumer", group="g", subscriptions=[["orders", "*"]], work_ms=[1])
        made.act("StartProducer", actor="shop", topic="orders", rate_per_s=100, body_bytes=1_000)
        made.run(10)
        yield made


def store_of(world: World) -> MessageStore:
    return world.cluster.nodes.broker("broker-a").running.store


def test_a_log_without_free_blocks_stops_the_sandbox_until_there_are_some(world: World, room: Room) -> None:
    room.full = True
    world.run_until(lambda: world.cluster.clock.rate == 0, within_s=10)
    seen = world.snapshot()["sandbox"]
    assert seen["trouble"] == "The data home accepts no more data: no space left on device."
    stood_ms, stored = world.cluster.clock.now_ms(), store_of(world).max_offset("orders", 0)
    world.run(30)
    assert (world.cluster.clock.now_ms(), store_of(world).max_offset("orders", 0)) == (stood_ms, stored)
    reported = [entry.event.reason for entry in world.entries(ClockChanged)]
    assert reported.count("disk") == 1, "it does not go on to be stopped again"
    room.full = False
    world.run_until(lambda: world.cluster.clock.rate == 1, within_s=5)
    assert world.snapshot()["sandbox"]["trouble"] is None
    world.run_until(lambda: store_of(world).max_offset("orders", 0) > stored + 200, within_s=30)
    assert [entry.event.status for entry in world.entries(SendFailed)], "producers were told"
    root = world.sandbox.directory / "broker-a"
    world.cluster.nodes.broker("broker-a").stop()
    assert verify(root).findings == []


@pytest.fixture
def port(tmp_path: Path) -> Iterator[EnginePort]:
    engine = Engine(tmp_path, HostConfig(limits=HostLimits(data_bytes=ALLOWED_MIB * MIB), look_around_s=3_600)).start()
    yield engine.port
    assert engine.stop()


def create(port: EnginePort, slug: str) -> dict[str, Any]:
    return port.create(slug, "empty", seed=1).result(WAIT_S)


def test_what_all_take_together_is_a_wall_for_the_next_and_a_full_disk_for_the_others(
    port: EnginePort, tmp_path: Path
) -> None:
    for slug in ("good", "bulky"):
        create(port, slug)
        port.act(slug, CreateTopic(topic="orders"), OWNER).result(WAIT_S)
    (tmp_path / "sandboxes" / "bulky" / "much").write_bytes(bytes(ALLOWED_MIB * MIB))
    with pytest.raises(ActionRefused) as refusal:
        create(port, "late")
    assert refusal.value.status == 503
    assert (refusal.value.values["allowed"], refusal.value.values["used"] > ALLOWED_MIB) == (ALLOWED_MIB, True)
    assert not (tmp_path / "sandboxes" / "late").exists()
    seen = port.snapshot("good").result(WAIT_S)
    assert seen["brokers"][0]["disk"] == "full"
    [notice] = seen["sandbox"]["notices"]
    assert (notice["pattern"], notice["values"]) == (data_home.HOME_FULL, refusal.value.values)
    assert port.status().result(WAIT_S)["sandboxes"]["good"]["state"] == "live"

    port.delete("bulky").result(WAIT_S)
    assert create(port, "late")["state"] == "live"
    seen = port.snapshot("good").result(WAIT_S)
    assert (seen["brokers"][0]["disk"], seen["sandbox"]["notices"]) == ("ok", [])
    port.act("good", SendMessages(topic="orders", count=3), OWNER).result(WAIT_S)


def test_a_share_of_the_disk_is_a_wall_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        total, used, free = 10 * MIB, 0, 10 * MIB

    monkeypatch.setattr(data_home.shutil, "disk_usage", lambda _: Usage)
    home = data_home.DataHome(tmp_path, HostLimits())
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "log").write_bytes(bytes(7 * MIB))
    home.measure(["demo"], {"demo"})
    assert home.full is None
    (tmp_path / "demo" / "log").write_bytes(bytes(9 * MIB))
    home.measure(["demo"], ())
    assert home.full is None, "it sleeps, and is not looked at again"
    home.measure(["demo"], {"demo"})
    assert home.full is not None
    assert home.full.values == {"used": 9, "allowed": 8}


def test_a_sandbox_that_finds_no_room_is_refused_in_words_and_leaves_nothing(
    port: EnginePort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(records, "save", full)
        with pytest.raises(ActionRefused, match="no space left on device") as refusal:
            create(port, "late")
    assert (refusal.value.status, list((tmp_path / "sandboxes").iterdir())) == (503, [])
    assert create(port, "late")["state"] == "live"
