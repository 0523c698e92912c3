"""Engine faults found by seeds, as short scripts: scripts may change, these may not."""

from pathlib import Path

import pytest

from sandbox.client.assigned_queues import FetchedBatches
from sandbox.journal.events import DelayedMessageDue, MessagesConsumed, PullAnswered
from sandbox.kernel.clock import ScaledClock
from sandbox.sim.loop import SimLoop
from sandbox.simulation.world import World
from sandbox.store.reader import StoreReader
from sandbox.store_audit.findings import ERROR
from sandbox.store_audit.one_process import verify
from tests.seed.stage import files_of

TWO_MINUTES = 6  # delay level


def test_a_delayed_message_is_delivered_when_its_broker_s_clock_is_set_right_and_its_time_has_passed(
    tmp_path: Path,
) -> None:
    """RocketMQ looks every 100 ms what is due by the wall clock, so a clock that jumps makes things due at once."""
    with World(tmp_path) as world:
        world.act("CreateTopic", topic="T")
        world.act("SkewClock", broker="broker-a", skew_ms=-90_000)
        world.act("SendMessages", topic="T", delay_level=TWO_MINUTES)
        world.run(40)
        assert world.entries(DelayedMessageDue) == []
        world.act("SkewClock", broker="broker-a", skew_ms=0)
        world.run(1)
        assert len(world.entries(DelayedMessageDue)) == 1


def test_a_queue_is_given_up_though_its_broker_is_away_when_the_corrected_offset_is_committed(tmp_path: Path) -> None:
    """RocketMQ: `executeTaskLater` persists, and a failure of that is only logged."""
    with World(tmp_path) as world:
        world.act("CreateTopic", topic="T", write_queues=1, read_queues=1)
        world.act("StartConsumer", group="G", subscriptions=[["T", "*"]], work_ms=[1])
        world.run(15)
        world.act("SendMessages", topic="T")
        world.run(40)  # that is on disk now, and so is topics.json
        world.act("SendMessages", topic="T", count=40)
        world.run_until(lambda: len(world.entries(MessagesConsumed)) == 41, within_s=5, step_s=0.01)
        world.act("PowerCut", broker="broker-a")
        world.run(2)
        world.act("StartBroker", broker="broker-a")
        world.run_until(lambda: any(entry.event.code == 21 for entry in world.entries(PullAnswered)), within_s=30)
        world.act("KillBroker", broker="broker-a")
        world.run(15)
        world.act("StartBroker", broker="broker-a")
        world.run(5)
        world.act("SendMessages", topic="T", key="late")
        world.run(40)
        assert "late" in [key for entry in world.entries(MessagesConsumed) for key in entry.event.keys]


def test_a_store_agrees_with_itself_though_its_broker_s_clock_was_set_back(tmp_path: Path) -> None:
    """Index files are named by their time, so the names go back too."""
    with World(tmp_path / "world", "index") as world:
        world.run(5)
        world.act("SendMessages", topic="orders", count=600)
        world.run(5)
        world.act("SkewClock", broker="broker-a", skew_ms=-50_000)
        world.act("SendMessages", topic="orders", count=600)
        world.run(5)
        for path, data in files_of(world).items():
            (tmp_path / "copy" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "copy" / path).write_bytes(data)
    with StoreReader(tmp_path / "copy") as reader:
        files = reader.index_files()
        begins = [file.header().begin_physical for file in files]
        assert begins != sorted(begins)
    assert [finding for finding in verify(tmp_path / "copy").findings if finding.severity == ERROR] == []


def test_a_poll_ends_however_its_time_is_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The remaining time may be too small to move a floating-point clock."""
    monkeypatch.setattr("sandbox.sim.loop.CALLBACKS_PER_INSTANT", 100)
    with SimLoop() as loop:
        loop.run_for(55.383055)
        clock = ScaledClock(loop, start_ms=0)
        loop.run_for(20.855)
        assert loop.run(FetchedBatches(clock).take(4.6)) is None
        assert clock.monotonic() == pytest.approx(20.855 + 4.6, abs=0.002)
