"""A whole sandbox in virtual time: templates, members that come and go, sleep and crash."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.cluster import record as records
from sandbox.cluster.templates import TEMPLATES
from sandbox.journal.events import (
    MessagesConsumed,
    MessagesStored,
    QueueLocked,
    SandboxWoken,
)
from sandbox.simulation.world import World
from tests.beginnings import world_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One data home for the module: the flights table is sorted once."""
    return tmp_path_factory.mktemp("home")


world = world_of("empty")


def flights(tmp_path: Path, home: Path, seed: int = 1) -> World:
    (tmp_path / "feeds").symlink_to(home / "feeds", target_is_directory=True)
    (home / "feeds").mkdir(exist_ok=True)
    return World(tmp_path, "flights", seed=seed)


def test_the_flights_of_2013_are_stored_and_consumed_by_both_groups(tmp_path: Path, home: Path) -> None:
    with flights(tmp_path, home) as world:
        world.run(40)
        stored = sum(entry.event.count for entry in world.entries(MessagesStored))
        consumed = {"gate-display": 0, "maintenance": 0}
        for entry in world.entries(MessagesConsumed):
            assert entry.event.outcome == "SUCCESS"
            consumed[entry.event.group] += len(entry.event.offsets)
        assert stored > 200
        assert consumed["gate-display"] > stored * 0.9
        assert consumed["maintenance"] > stored * 0.5


def test_the_board_shows_counters_that_move(tmp_path: Path, home: Path) -> None:
    with flights(tmp_path, home) as world:
        world.run(20)
        first = world.read("board/gate-display/flights")
        world.run(5)
        second = world.read("board/gate-display/flights")
        assert second.seq > first.seq
        before, after = first.data["queues"], second.data["queues"]
        assert set(before) == {f"broker-a:{n}" for n in range(8)}
        assert sum(int(row["max"]) for row in after.values()) > sum(int(row["max"]) for row in before.values())
        for row in after.values():
            assert int(row["committed"]) <= int(row["in_memory"]) <= int(row["next_pull"]) <= int(row["max"])
            assert row["owner"] == row["assigned"]
        assert [member["actor"] for member in second.data["members"].values()] == ["A", "B", "C"]
        assert second.data["header"]["next_actor"] == "F"


def test_one_more_consumer_gets_the_queues_that_were_forecast(tmp_path: Path, home: Path) -> None:
    with flights(tmp_path, home) as world:
        world.run(15)
        forecast = world.ask("plan-rebalance", group="gate-display", topic="flights", add=1)
        assert forecast["moves"] > 0
        world.act("StartConsumer", group="gate-display")
        world.run(25)
        owned: dict[str, list[str]] = {}
        for queue, row in world.read("board/gate-display/flights").data["queues"].items():
            owned.setdefault(row["owner"], []).append(queue)
        assert owned == {client_id: queues for client_id, queues in forecast["after"].items() if queues}


def test_a_crashed_orderly_member_leaves_its_locks_for_a_minute(tmp_path: Path, home: Path) -> None:
    with flights(tmp_path, home) as world:
        world.run(30)
        crashed = world.cluster.actors.get("D").client_id
        world.act("CrashActor", actor="D")
        world.run(20)
        rows = world.read("locks/maintenance").data["queues"].values()
        left = [row for row in rows if row["lock"] is not None and row["lock"]["holder"] == crashed]
        assert left, "nobody unlocked them"
        assert any(row["waiting"] for row in left), "the other member asks in vain"
        took_s = world.run_until(
            lambda: all(
                row["lock"]["holder"] != crashed
                for row in world.read("locks/maintenance").data["queues"].values()
                if row["lock"] is not None
            ),
            within_s=90,
        )
        assert took_s > 10
        taken_over = [entry for entry in world.entries(QueueLocked) if entry.event.how == "taken_over"]
        assert {entry.event.previous for entry in taken_over} == {crashed}
        reported = world.read("locks/maintenance").data
        denied = [row["left_ms"] for row in reported["attempts"].values() if not row["granted"]]
        assert all(0 <= left_ms <= 60_000 for left_ms in denied), "what was left then, whoever has it now"
        assert {row["topic"] for row in reported["queues"].values()} == {"flights"}
        assert {row["queue"].rpartition("/")[0] for row in reported["attempts"].values()} == {"", "%RETRY%maintenance"}


def test_sleep_and_wake_bring_everything_back(tmp_path: Path, home: Path) -> None:
    with flights(tmp_path, home) as world:
        world.run(30)
        world.act("ChangeActor", actor="A", work_ms=[900, 900], slow_key="N14228", slow_ms=5_000)
        world.act("CrashActor", actor="C")
        world.run(5)
        before = world.snapshot()
        epoch, seq = before["epoch"], int(before["seq"])
        world.sleep()
        world.wake()
        assert world.cluster.clock.now_ms() < before["at_ms"] + 5_000, "sandbox time goes on where it stopped"
        world.run(30)
        after = world.snapshot()
        assert after["epoch"] != epoch
        assert [entry.event.reason for entry in world.entries(SandboxWoken)] == ["visit"]
        assert world.entries()[0].seq > seq, "no number is used twice"
        states = {member["actor"]: member["state"] for group in after["groups"] for member in group["members"]}
        assert states == {"A": "running", "B": "running", "C": "crashed", "D": "running", "E": "running"}
        actor = world.cluster.actors.get("A")
        assert actor.settings.work_ms == (900, 900)
        assert actor.slow is not None
        assert (actor.slow.key, actor.slow.ms) == ("N14228", 5_000)
        old = {(q["topic"], q["queue_id"]): int(q["committed"]) for q in before["groups"][0]["queues"]}
        new = {(q["topic"], q["queue_id"]): int(q["committed"]) for q in after["groups"][0]["queues"]}
        assert all(new[queue] >= offset for queue, offset in old.items())
        assert sum(new.values()) > sum(old.values()), "and they consume on"


def test_after_a_kill_the_journal_jumps_and_little_is_repeated(tmp_path: Path, home: Path) -> None:
    with flights(tmp_path, home) as world:
        world.run(30)
        stored = {
            queue: int(row["max"]) for queue, row in world.read("board/gate-display/flights").data["queues"].items()
        }
        last = world.cluster.journal.next_seq
        world.kill()
        world.wake()
        assert world.sandbox.record.wakes == 2
        assert world.entries()[0].seq == (last // 10_000 + 1) * 10_000
        assert [entry.event.reason for entry in world.entries(SandboxWoken)] == ["after a kill"]
        world.run(30)
        rows = world.read("board/gate-display/flights").data["queues"]
        assert all(int(rows[queue]["max"]) >= high for queue, high in stored.items()), "what was stored is there"
        assert all(int(rows[queue]["committed"]) >= stored[queue] - 60 for queue in rows)


def member(world: World, label: str) -> dict[str, object]:
    rows = world.read("board/order-svc/orders").data["members"].values()
    return next(dict(row) for row in rows if row["actor"] == label)


def test_a_member_restarted_just_before_a_kill_runs_again_afterwards(tmp_path: Path) -> None:
    with World(tmp_path, "orders", seed=3) as world:
        world.run(30)
        world.act("CrashActor", actor="A")
        world.act("RestartActor", actor="A")
        kept = next(row for row in records.load(world.sandbox.directory).actors if row["label"] == "A")
        assert kept["state"] == "starting", "written in the turn of the action; its start is the loop's next step"
        world.kill()
        world.wake()
        world.run(30)
        assert member(world, "A")["state"] == "running"


def test_a_member_that_was_stopping_when_the_server_was_killed_can_be_restarted(tmp_path: Path) -> None:
    with World(tmp_path, "orders", seed=3, latency_ms=(100, 100)) as world:
        world.run(30)
        world.act("StopActor", actor="A")
        world.run(0.1)
        world.act("SetRate", rate=1)  # whatever is done keeps how everyone is
        assert member(world, "A")["state"] == "stopping"
        world.kill()
        world.wake()
        world.run(30)
        assert member(world, "A")["state"] == "crashed"
        world.act("RestartActor", actor="A")
        world.run(1)
        assert member(world, "A")["state"] == "running"


def test_since_when_a_member_is_crashed_is_known_after_a_kill_and_after_sleep(tmp_path: Path) -> None:
    with World(tmp_path, "orders", seed=3) as world:
        world.run(30)
        world.act("CrashActor", actor="B")
        crashed_ms = world.cluster.clock.now_ms()
        for end in (world.kill, world.sleep):
            world.run(20)
            assert member(world, "B")["state_since_ms"] == crashed_ms
            end()
            world.wake()
        assert member(world, "B")["state_since_ms"] == crashed_ms
        assert world.read("client/B").data["client"]["state_since_ms"] == crashed_ms


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_same_seed_and_the_same_actions_write_the_same_journal(tmp_path: Path, home: Path, template: str) -> None:
    def transcript(name: str, seed: int) -> list[tuple[object, ...]]:
        directory = tmp_path / name
        directory.mkdir()
        (directory / "feeds").symlink_to(home / "feeds", target_is_directory=True)
        (home / "feeds").mkdir(exist_ok=True)
        with World(directory, template, seed=seed, latency_ms=(0.5, 20)) as world:
            world.run(12)
            for actor in world.cluster.actors.consumers()[:1]:
                world.act("CrashActor", actor=actor.label)
                world.run(7)
                world.act("RestartActor", actor=actor.label)
            world.act("KillBroker", broker="broker-a")
            world.run(5)
            world.act("StartBroker", broker="broker-a")
            world.act("CreateTopic", topic="more", write_queues=2, read_queues=2, scope="broker-a")
            world.act("SendMessages", topic="more", count=20)
            world.run(30)
            return [tuple(entry) for entry in world.entries()]

    first, again, other = transcript("first", 7), transcript("again", 7), transcript("other", 8)
    assert first == again
    assert first != other, "and another seed another one"


SCRIPT = """
import hashlib, sys
from pathlib import Path
from sandbox.simulation.world import World

with World(Path(sys.argv[1]), "orders", seed=7, latency_ms=(0.5, 20)) as world:
    world.run(12)
    world.act("CrashActor", actor="A")
    world.act("SetStrategy", group="order-svc", strategy="CONSISTENT_HASH")
    world.run(30)
    print(hashlib.sha256(repr([tuple(entry) for entry in world.entries()]).encode()).hexdigest())
"""


def test_another_process_gives_the_same_transcript(tmp_path: Path) -> None:
    reported = set()
    for hash_seed in ("1", "2"):  # the order of Python's sets differs between them
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path / hash_seed)],
            cwd=ROOT,
            check=True,
            timeout=60,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        )
        reported.add(done.stdout)
    assert len(reported) == 1
