"""Sandboxes that record their run on a real engine: threads, sockets, kill -9."""

import json
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sandbox.cluster.config import HostConfig
from sandbox.control.actions import parse_action
from sandbox.control.rights import Actor
from sandbox.hosting.engine import Engine
from sandbox.hosting.port import EnginePort
from sandbox.journal.segments import rows_since
from sandbox.simulation.replay import replay
from tests.unit.hosting.test_listeners import free_port
from tests.unit.hosting.wire_client import WITHIN_S

ROOT = Path(__file__).resolve().parents[3]
OWNER = Actor("owner", "otter")

CHILD = """
import sys
from pathlib import Path
from sandbox.cluster.config import HostConfig
from sandbox.control.actions import parse_action
from sandbox.control.rights import Actor
from sandbox.hosting.engine import Engine

port = Engine(Path(sys.argv[1])).start().port
port.create("demo", "orders", seed=1).result(20)

def stored():
    topics = port.snapshot("demo").result(20)["topics"]
    return sum(int(queue["max"]) for topic in topics for queue in topic["queues"])

while not stored():
    pass
print("made", flush=True)
for number in range(1_000):
    for action, fields in (("SetRate", {"rate": 5}), ("CrashActor", {"actor": "A"}), ("RestartActor", {"actor": "A"})):
        seq = port.act("demo", parse_action({"action": action, **fields}), Actor("owner", "otter")).result(20)
        while port.newest_seq("demo").result(20) < seq + 20:
            pass
        print(seq, stored(), flush=True)
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(tmp_path, HostConfig(first_port=free_port(6), last_port=65_535)).start()
    yield engine
    engine.stop()


def act(port: EnginePort, slug: str, action: str, **fields: Any) -> None:
    port.act(slug, parse_action({"action": action, **fields}), OWNER).result(WITHIN_S)


class News:
    """Set at every event."""

    def __init__(self) -> None:
        self.come = threading.Event()

    def ring(self) -> None:
        self.come.set()


def until_seq(port: EnginePort, slug: str, seq: int) -> None:
    news = News()
    port.subscribe(slug, news).result(WITHIN_S)
    while port.newest_seq(slug).result(WITHIN_S) < seq:
        assert news.come.wait(WITHIN_S)
        news.come.clear()
    port.unsubscribe(slug, news).result(WITHIN_S)


def why_ended(directory: Path) -> list[str]:
    return [row["why"] for row in rows_since(directory / "journal", 0) if row["type"] == "StretchEnded"]


def test_what_an_engine_with_threads_ran_is_executed_again(engine: Engine, tmp_path: Path) -> None:
    port = engine.port
    port.create("demo", "payments", seed=4).result(WITHIN_S)
    act(port, "demo", "SetRate", rate=20)
    until_seq(port, "demo", 800)
    act(port, "demo", "KillBroker", broker="broker-a")
    act(port, "demo", "StartBroker", broker="broker-a")
    port.sleep("demo", "test").result(WITHIN_S)
    port.wake("demo").result(WITHIN_S)
    until_seq(port, "demo", port.newest_seq("demo").result(WITHIN_S) + 500)
    engine.stop()
    found = replay(tmp_path / "sandboxes" / "demo")
    assert found.first_difference is None
    assert found.events > 1_300
    assert [stretch.why for stretch in found.stretches] == [None]


def test_open_ports_lead_to_the_machines_time_and_back(engine: Engine, tmp_path: Path) -> None:
    port = engine.port
    port.create("demo", "orders", seed=4).result(WITHIN_S)
    until_seq(port, "demo", 100)
    assert port.open_listener("demo").result(WITHIN_S)["open"]
    assert all(node["listening"] for node in port.snapshot("demo").result(WITHIN_S)["brokers"])
    assert not port.close_listener("demo").result(WITHIN_S)["open"]
    assert port.status().result(WITHIN_S)["sandboxes"]["demo"]["state"] == "live"
    until_seq(port, "demo", port.newest_seq("demo").result(WITHIN_S) + 20)
    engine.stop()
    directory = tmp_path / "sandboxes" / "demo"
    assert why_ended(directory) == ["ports"]
    found = replay(directory)
    assert (found.first_difference, [stretch.reproducible for stretch in found.stretches]) == (None, [True, False])
    slept = [row["reason"] for row in rows_since(directory / "journal", 0) if row["type"] == "SandboxSlept"]
    assert slept == ["ports open", "ports closed", "server stop"]


class Answered(NamedTuple):
    """The last response of the killed server: the number of its newest action, and the stored messages."""

    seq: int
    stored: int


def killed_after(home: Path, actions: int) -> Answered:
    with subprocess.Popen([sys.executable, "-c", CHILD, str(home)], cwd=ROOT, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"made\n"
        for _ in range(actions):
            answered = child.stdout.readline()
        child.send_signal(signal.SIGKILL)
    return Answered(*map(int, answered.split()))


SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(2, 50))]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_ran_before_a_kill_is_executed_again_and_nothing_answered_is_lost(tmp_path: Path, seed: int) -> None:
    answered = killed_after(tmp_path, random.Random(seed).randrange(3, 30))
    directory = tmp_path / "sandboxes" / "demo"
    kept = [row["seq"] for row in rows_since(directory / "journal", 0) if row["type"] == "ActionTaken"]
    assert answered.seq in kept
    written = len(list(rows_since(directory / "journal", 0)))
    before = replay(directory)
    assert (before.first_difference, before.events) == (None, written)
    with_engine = Engine(tmp_path).start()
    with_engine.port.wake("demo").result(WITHIN_S)
    topics = with_engine.port.snapshot("demo").result(WITHIN_S)["topics"]
    assert sum(int(queue["max"]) for topic in topics for queue in topic["queues"]) >= answered.stored > 0
    with_engine.stop()
    assert why_ended(directory) == ["kill"]
    after = replay(directory)
    assert (after.first_difference, after.events) == (None, written)
    assert json.dumps(after.row())
