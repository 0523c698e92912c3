"""The engine's thread and its port."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster.config import HostConfig
from sandbox.control.actions import CreateTopic, StartBroker, StopBroker, parse_action
from sandbox.control.limits import HostLimits
from sandbox.control.readings import Reading, Refusal
from sandbox.control.rights import Actor
from sandbox.hosting.engine import Engine
from sandbox.hosting.port import EnginePort
from sandbox.journal import segments
from sandbox.journal.event_filter import EventFilter, Show
from sandbox.kernel.errors import ActionRefused, EngineBusy, Locked
from tests.unit.hosting.loop_bell import LoopBell

WAIT_S = 10
OWNER = Actor("owner", "otter")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(tmp_path).start()
    yield made
    made.stop()


@pytest.fixture
def port(engine: Engine) -> EnginePort:
    return engine.port


def create(port: EnginePort, slug: str = "demo", template: str = "empty") -> None:
    port.create(slug, template, seed=1).result(WAIT_S)


def test_a_sandbox_is_created_awake_and_drawn(port: EnginePort) -> None:
    create(port)
    snapshot = port.snapshot("demo").result(WAIT_S)
    assert snapshot["sandbox"]["state"] == "live"
    assert [broker["broker"] for broker in snapshot["brokers"]] == ["broker-a"]
    assert snapshot["name_servers"][0]["brokers"][0]["broker"] == "broker-a"
    assert isinstance(snapshot["seq"], str)


def test_an_action_answers_with_the_seq_of_its_event_and_its_effects_name_it_as_cause(port: EnginePort) -> None:
    create(port)
    seq = port.act("demo", CreateTopic(topic="orders"), OWNER).result(WAIT_S)
    rows = port.entries("demo", seq - 1, 10).result(WAIT_S).rows
    assert rows[0]["type"] == "ActionTaken"
    assert rows[0]["by"] == "owner otter"
    changed = next(row for row in rows if row["type"] == "TopicChanged")
    assert changed["cause"] == str(seq)


def test_a_refused_action_leaves_no_trace(port: EnginePort) -> None:
    create(port)
    before = port.entries("demo", -1, 1_000).result(WAIT_S).next_seq
    with pytest.raises(ActionRefused) as refusal:
        port.act("demo", parse_action({"action": "CrashActor", "actor": "Z"}), OWNER).result(WAIT_S)
    assert refusal.value.status == 404
    types = [row["type"] for row in port.entries("demo", before - 1, 1_000).result(WAIT_S).rows]
    assert "ActionTaken" not in types


def test_reading_many_boards_takes_one_crossing_and_each_answers_for_itself(port: EnginePort) -> None:
    create(port)
    good, unknown, strange, missing = port.read(
        ["store/demo/broker-a", "store/demo/broker-z", "nonsense/demo", "store/nobody/broker-a"]
    ).result(WAIT_S)
    assert isinstance(good, Reading)
    assert good.data["log"]["max"] == "0"
    assert [unknown, strange, missing] == [Refusal("unknown")] * 3


def test_the_store_of_a_stopped_broker_says_so_and_is_read_again_when_it_runs(port: EnginePort) -> None:
    create(port)
    port.act("demo", StopBroker(broker="broker-a"), OWNER).result(WAIT_S)
    assert port.read(["store/demo/broker-a", "index/demo/broker-a"]).result(WAIT_S) == [Refusal("stopped")] * 2
    port.act("demo", StartBroker(broker="broker-a"), OWNER).result(WAIT_S)
    assert isinstance(port.read(["store/demo/broker-a"]).result(WAIT_S)[0], Reading)


def test_no_board_is_begun_when_the_time_for_reading_is_over(port: EnginePort) -> None:
    create(port)
    names = ["topology/demo", "store/demo/broker-a", "groups/demo"]
    assert len(port.read_within(names, WAIT_S).result(WAIT_S)) == 3
    [first] = port.read_within(names, 0.0).result(WAIT_S)
    assert isinstance(first.answer, Reading)
    assert first.took_s > 0


def test_the_newest_event_has_the_same_number_awake_and_as_it_fell_asleep(port: EnginePort) -> None:
    create(port)
    assert port.newest_seq("demo").result(WAIT_S) == int(port.snapshot("demo").result(WAIT_S)["seq"])
    port.sleep("demo", "test").result(WAIT_S)
    assert port.newest_seq("demo").result(WAIT_S) == int(port.snapshot("demo").result(WAIT_S)["seq"])


def test_a_sleeping_sandbox_shows_how_it_fell_asleep_and_refuses_actions(port: EnginePort) -> None:
    create(port)
    port.act("demo", CreateTopic(topic="orders"), OWNER).result(WAIT_S)
    port.sleep("demo", "test").result(WAIT_S)
    snapshot = port.snapshot("demo").result(WAIT_S)
    assert snapshot["sandbox"]["state"] == "asleep"
    assert [topic["topic"] for topic in snapshot["topics"]] == ["orders"]
    assert port.read(["store/demo/broker-a"]).result(WAIT_S) == [Refusal("asleep")]
    with pytest.raises(ActionRefused) as refusal:
        port.act("demo", CreateTopic(topic="more"), OWNER).result(WAIT_S)
    assert refusal.value.status == 503
    rows = port.entries("demo", -1, 1_000).result(WAIT_S).rows
    assert rows[0]["type"] == "SandboxOpened"
    assert rows[-1]["type"] == "SandboxSlept"


def test_entries_are_whole_however_they_are_asked_for(port: EnginePort) -> None:
    create(port)
    port.act("demo", CreateTopic(topic="orders"), OWNER).result(WAIT_S)
    port.sleep("demo", "test").result(WAIT_S)
    whole = port.entries("demo", -1, 1_000).result(WAIT_S)
    pages, after = [], -1
    while True:
        page = port.entries("demo", after, 3).result(WAIT_S)
        if not page.rows:
            break
        pages += page.rows
        after = page.next_seq - 1
    assert pages == whole.rows
    facts = port.entries("demo", -1, 1_000, facts_only=True).result(WAIT_S).rows
    assert [row for row in whole.rows if row["type"] not in ("BrokerRegistered", "Keyframe")] == facts


def test_a_deleted_sandbox_is_unknown(port: EnginePort, tmp_path: Path) -> None:
    create(port)
    port.delete("demo").result(WAIT_S)
    with pytest.raises(ActionRefused) as refusal:
        port.wake("demo").result(WAIT_S)
    assert refusal.value.status == 404
    assert not (tmp_path / "sandboxes" / "demo").exists()


def test_a_name_is_given_once(port: EnginePort) -> None:
    create(port)
    with pytest.raises(ActionRefused) as refusal:
        create(port)
    assert refusal.value.status == 409
    with pytest.raises(ActionRefused):
        port.create("../etc", "empty").result(WAIT_S)
    with pytest.raises(ActionRefused):
        port.create("other", "no-such-template").result(WAIT_S)


def test_two_wakes_at_once_open_it_once(port: EnginePort) -> None:
    create(port)
    port.sleep("demo", "test").result(WAIT_S)
    first, second = port.wake("demo"), port.wake("demo")
    assert first.result(WAIT_S)["epoch"] == second.result(WAIT_S)["epoch"]


def test_a_second_engine_is_kept_out(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(Locked, match="in use by process"):
        Engine(tmp_path).start()


def test_a_stopped_engine_says_so_and_its_sandboxes_are_asleep_for_the_next(tmp_path: Path) -> None:
    first = Engine(tmp_path).start()
    create(first.port)
    port = first.port
    assert first.stop()
    with pytest.raises(EngineBusy):
        port.status().result(WAIT_S)
    second = Engine(tmp_path).start()
    try:
        assert second.port.status().result(WAIT_S)["sandboxes"]["demo"]["state"] == "asleep"
        assert second.port.wake("demo").result(WAIT_S)["state"] == "live"
    finally:
        second.stop()


def test_at_the_cap_the_one_not_looked_at_for_longest_sleeps_and_watched_ones_stay(tmp_path: Path) -> None:
    engine = Engine(tmp_path, HostConfig(limits=HostLimits(awake_sandboxes=2))).start()
    port = engine.port
    try:
        create(port, "one")
        create(port, "two")
        port.snapshot("one").result(WAIT_S)
        create(port, "three")
        states = {slug: row["state"] for slug, row in port.status().result(WAIT_S)["sandboxes"].items()}
        assert states == {"one": "live", "two": "asleep", "three": "live"}
        bell = CountingBell()
        for slug in ("one", "three"):
            port.subscribe(slug, bell).result(WAIT_S)
        with pytest.raises(ActionRefused) as refusal:
            port.wake("two").result(WAIT_S)
        assert refusal.value.status == 503
    finally:
        engine.stop()


def test_a_bell_rings_for_events_and_for_falling_asleep(port: EnginePort) -> None:
    create(port)
    bell = CountingBell()
    port.subscribe("demo", bell).result(WAIT_S)
    port.act("demo", CreateTopic(topic="orders"), OWNER).result(WAIT_S)
    rung = bell.count
    assert rung > 0
    port.sleep("demo", "test").result(WAIT_S)
    assert bell.count > rung
    port.unsubscribe("demo", bell).result(WAIT_S)
    rung = bell.count
    port.wake("demo").result(WAIT_S)
    assert bell.count == rung


def test_while_the_journal_is_read_the_engine_answers_others(port: EnginePort, monkeypatch: pytest.MonkeyPatch) -> None:
    create(port)
    reading, may_go_on = threading.Event(), threading.Event()

    def lines_back(directory: Path, seq: int) -> list[bytes]:
        reading.set()
        may_go_on.wait(WAIT_S)
        return []

    monkeypatch.setattr(segments, "lines_back", lines_back)
    looked = port.look_back("demo", EventFilter("told"))
    assert reading.wait(WAIT_S)
    assert port.snapshot("demo").result(WAIT_S)["sandbox"]["slug"] == "demo"
    assert not looked.done()
    may_go_on.set()
    assert looked.result(WAIT_S).rows


def test_the_journal_is_read_back_to_the_first_event_awake_asleep_and_after_a_kill(tmp_path: Path) -> None:
    engine = Engine(tmp_path).start()
    create(engine.port)
    engine.port.act("demo", CreateTopic(topic="orders"), OWNER).result(WAIT_S)

    def reported(port: EnginePort, show: Show = "actions") -> list[dict[str, Any]]:
        return port.look_back("demo", EventFilter(show)).result(WAIT_S).rows

    try:
        [awake] = reported(engine.port)
        assert awake["action"] == "CreateTopic"
        engine.port.sleep("demo", "test").result(WAIT_S)
        assert reported(engine.port) == [awake]
    finally:
        engine.stop()
    [newest] = (tmp_path / "sandboxes" / "demo" / "journal").glob("*.ndjson")
    newest.write_bytes(newest.read_bytes()[:-10])  # as a kill leaves it
    again = Engine(tmp_path).start()
    try:
        assert reported(again.port) == [awake], "before anybody wakes it"
        again.port.wake("demo").result(WAIT_S)
        assert reported(again.port) == [awake]
        assert reported(again.port, "all")[-1]["type"] == "SandboxOpened"
    finally:
        again.stop()


def test_a_broken_sandbox_fails_alone_and_keeps_its_files(tmp_path: Path) -> None:
    engine = Engine(tmp_path).start()
    create(engine.port, "good")
    create(engine.port, "bad")
    engine.stop()
    (tmp_path / "sandboxes" / "bad" / "sandbox.json").write_text("{")
    again = Engine(tmp_path).start()
    try:
        assert again.port.wake("good").result(WAIT_S)["state"] == "live"
        with pytest.raises(ActionRefused) as refusal:
            again.port.wake("bad").result(WAIT_S)
        assert refusal.value.status == 409
        assert again.port.status().result(WAIT_S)["sandboxes"]["bad"]["state"] == "failed"
        assert (tmp_path / "sandboxes" / "bad" / "broker-a").is_dir()
    finally:
        again.stop()


async def test_the_bell_of_a_loop_crosses_once_until_it_is_heard() -> None:
    bell = LoopBell(asyncio.get_running_loop())
    thread = threading.Thread(target=lambda: [bell.ring() for _ in range(1_000)])
    thread.start()
    await asyncio.wait_for(bell.news(), WAIT_S)
    thread.join()
    bell.ring()
    await asyncio.wait_for(bell.news(), WAIT_S)


class CountingBell:
    def __init__(self) -> None:
        self.count = 0

    def ring(self) -> None:
        self.count += 1
