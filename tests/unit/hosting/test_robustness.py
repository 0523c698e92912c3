"""One broken sandbox, a full disk, a dying thread, a hurried stop: the rest goes on, and nothing is lost."""

import errno
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import record as records
from sandbox.cluster.actors.feeds import FeedInterrupted, prepare_flights
from sandbox.cluster.notices import LOG_CUT, TABLE_DAMAGED
from sandbox.control.actions import AcceptLoss, CreateTopic, SendMessages, parse_action
from sandbox.control.rights import Actor
from sandbox.hosting.engine import Engine
from sandbox.hosting.port import EnginePort
from sandbox.journal import segments
from sandbox.journal.events import ClockChanged
from sandbox.kernel.errors import ActionRefused, EngineBusy
from sandbox.simulation.world import World
from tests.server.server import until

WAIT_S = 20
OWNER = Actor("owner", "otter")
FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two sandboxes asleep, `good` and `bad`."""
    engine = Engine(tmp_path).start()
    for slug in ("good", "bad"):
        engine.port.create(slug, "empty", seed=1).result(WAIT_S)
        engine.port.act(slug, CreateTopic(topic="orders"), OWNER).result(WAIT_S)
    assert engine.stop()
    return tmp_path


def with_field(text: str, name: str, value: str) -> str:
    record = records.json_bytes.loads(text)
    record[name] = records.json_bytes.loads(value)
    return records.json_bytes.dumps(record).decode()


BROKEN: dict[str, Any] = {
    "no JSON": lambda text: "{",
    "a list": lambda text: "[]",
    "a text": lambda text: '"sandbox"',
    "another version": lambda text: with_field(text, "format", "99"),
    "nodes without ports": lambda text: with_field(text, "nodes", '[["broker", "b", 0, "nowhere"]]'),
    "nodes that are none": lambda text: with_field(text, "nodes", '["abcd"]'),
    "a wrong kind": lambda text: with_field(text, "actors", "7"),
    "an unknown preset": lambda text: with_field(text, "preset", '"huge"'),
    "actors that are none": lambda text: with_field(text, "actors", '[{"kind": "consumer"}]'),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_record_that_cannot_be_used_fails_its_sandbox_alone(home: Path, how: str) -> None:
    file = home / "sandboxes" / "bad" / records.FILE_NAME
    file.write_text(BROKEN[how](file.read_text()))
    engine = Engine(home).start()
    try:
        assert_only_bad_fails(engine.port)
    finally:
        assert engine.stop()


def test_a_record_that_cannot_be_read_fails_its_sandbox_alone(home: Path) -> None:
    file = home / "sandboxes" / "bad" / records.FILE_NAME
    file.unlink()
    file.mkdir()
    engine = Engine(home).start()
    try:
        assert_only_bad_fails(engine.port)
    finally:
        assert engine.stop()


def test_a_store_that_cannot_be_opened_fails_its_sandbox_alone(home: Path) -> None:
    lock = home / "sandboxes" / "bad" / "broker-a" / "lock"
    lock.unlink()
    lock.mkdir()
    engine = Engine(home).start()
    try:
        assert_only_bad_fails(engine.port)
    finally:
        assert engine.stop()


def test_a_file_in_the_place_of_the_commit_log_fails_its_sandbox_alone(home: Path) -> None:
    directory = home / "sandboxes" / "bad" / "broker-a" / "commitlog"
    if directory.exists():
        shutil.rmtree(directory)
    directory.write_bytes(b"")
    engine = Engine(home).start()
    try:
        assert_only_bad_fails(engine.port, "commitlog is a file")
    finally:
        assert engine.stop()


def test_c1_a_broker_whose_table_cannot_be_read_stays_down_and_its_sandbox_wakes(home: Path) -> None:
    topics = home / "sandboxes" / "bad" / "broker-a" / "config" / "topics.json"
    for path in (topics, topics.with_name("topics.json.bak")):
        path.write_bytes(bytes(400))
    engine = Engine(home).start()
    try:
        assert engine.port.wake("bad").result(WAIT_S)["state"] == "live"
        shown = engine.port.snapshot("bad").result(WAIT_S)
        assert [row["state"] for row in shown["brokers"]] == ["damaged"]
        assert [notice["pattern"] for notice in shown["sandbox"]["notices"]] == [TABLE_DAMAGED]
        engine.port.act("bad", AcceptLoss(broker="broker-a", table="topics"), OWNER).result(WAIT_S)
        shown = engine.port.snapshot("bad").result(WAIT_S)
        assert [row["state"] for row in shown["brokers"]] == ["running"]
        assert shown["sandbox"]["notices"] == []
        assert topics.with_name("topics.json.damaged").read_bytes() == bytes(400)
    finally:
        assert engine.stop()
    assert records.load(home / "sandboxes" / "bad").stretch_ended == "files"


def test_what_was_cut_off_a_garbled_log_is_reported_until_its_owner_has_read_it(home: Path) -> None:
    engine = Engine(home).start()
    engine.port.wake("bad").result(WAIT_S)
    engine.port.act("bad", SendMessages(topic="orders", count=50), OWNER).result(WAIT_S)
    until(
        lambda: (
            sum(
                int(queue["max"])
                for topic in engine.port.snapshot("bad").result(WAIT_S)["topics"]
                for queue in topic["queues"]
            )
            == 50
        )
    )
    assert engine.stop()
    log = home / "sandboxes" / "bad" / "broker-a" / "commitlog" / f"{0:020}"
    with log.open("rb+") as file:
        file.write(b"\xff" * 40)
    for dismissed in (False, False, True):
        engine = Engine(home).start()
        try:
            engine.port.wake("bad").result(WAIT_S)
            notices = engine.port.snapshot("bad").result(WAIT_S)["sandbox"]["notices"]
            assert [(notice["pattern"], notice["dismissible"]) for notice in notices] == [(LOG_CUT, True)]
            values = notices[0]["values"]
            assert (values["broker"], values["offset"], int(values["bytes"]) > 1_000) == ("broker-a", "0", True)
            if dismissed:
                engine.port.dismiss_notices("bad").result(WAIT_S)
                assert engine.port.snapshot("bad").result(WAIT_S)["sandbox"]["notices"] == []
        finally:
            assert engine.stop()
    assert records.load(home / "sandboxes" / "bad").cuts == {}


def assert_only_bad_fails(port: EnginePort, why: str | None = None) -> None:
    with pytest.raises(ActionRefused, match=why) as refusal:
        port.wake("bad").result(WAIT_S)
    assert refusal.value.status == 409
    assert not str(refusal.value).endswith("..")
    row = port.status().result(WAIT_S)["sandboxes"]["bad"]
    assert row["state"] == "failed"
    assert row["failed"], "and it says why"
    assert port.wake("good").result(WAIT_S)["state"] == "live"
    assert port.create("another", "empty").result(WAIT_S)["state"] == "live", "ports are given away as before"
    port.delete("bad").result(WAIT_S)
    assert "bad" not in port.status().result(WAIT_S)["sandboxes"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as made:
        made.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
        made.act("StartConsumer", group="g", subscriptions=[["orders", "*"]], work_ms=[1])
        made.act("StartProducer", actor="shop", topic="orders", rate_per_s=20)
        made.run(10)
        yield made


def test_a_full_disk_stops_the_world_and_loses_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    full = True
    written, saved = segments.SegmentWriter._write, records.save

    def write(writer: segments.SegmentWriter, data: bytes) -> None:
        if full:
            raise FULL
        written(writer, data)

    def save(directory: Path, record: records.SandboxRecord) -> None:
        if full:
            raise FULL
        saved(directory, record)

    monkeypatch.setattr(segments.SegmentWriter, "_write", write)
    monkeypatch.setattr(records, "save", save)
    world.run(1)
    assert world.cluster.clock.rate == 0
    seen = world.snapshot()["sandbox"]
    assert seen["trouble"] == f"The data home accepts no more data: {seen['trouble_why']}."
    assert "no space left" in seen["trouble_why"]
    stood_ms = world.cluster.clock.now_ms()
    stored = world.snapshot()["topics"][0]["queues"][0]["max"]
    with pytest.raises(ActionRefused) as refusal:
        world.act("SendMessages", topic="orders", count=1)
    assert refusal.value.status == 503
    assert refusal.value.values == {"why": seen["trouble_why"]}
    world.run(30)
    assert world.cluster.clock.now_ms() == stood_ms
    assert world.snapshot()["topics"][0]["queues"][0]["max"] == stored
    full = False
    world.run(3)
    assert world.cluster.clock.rate == 1
    assert world.snapshot()["sandbox"]["trouble"] is None
    assert [entry.event.rate for entry in world.entries(ClockChanged) if entry.event.reason == "disk"] == [0, 1]
    world.run(5)
    world.cluster.journal_files.flush()
    directory = world.sandbox.directory / "journal"
    kept = [row["seq"] for row in segments.rows_since(directory, 0)]
    assert kept == list(range(world.cluster.journal.next_seq)), "every entry is in the files, none twice"


def test_a_sandbox_sleeps_and_wakes_with_all_its_messages_though_the_disk_is_full(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise FULL

    with monkeypatch.context() as full:
        full.setattr(segments.SegmentWriter, "_write", refuse)
        full.setattr(records, "replace_file", refuse)
        world.run(2)
        stored = int(world.snapshot()["topics"][0]["queues"][0]["max"])
        world.sleep()
    world.wake()
    assert world.cluster.clock.rate == 1
    world.run(5)
    assert int(world.snapshot()["topics"][0]["queues"][0]["max"]) >= stored > 100


def test_an_engine_whose_thread_dies_says_so_and_the_next_one_finds_everything(tmp_path: Path) -> None:
    engine = Engine(tmp_path).start()
    port = engine.port
    port.create("demo", "empty", seed=1).result(WAIT_S)
    port.act("demo", CreateTopic(topic="orders"), OWNER).result(WAIT_S)

    def die() -> None:
        raise SystemExit("out of luck")

    port._loop.call_soon_threadsafe(die)
    assert engine._thread is not None
    engine._thread.join(WAIT_S)
    assert not engine.is_alive
    with pytest.raises(EngineBusy):
        port.status().result(WAIT_S)
    again = Engine(tmp_path).start()
    try:
        again.port.wake("demo").result(WAIT_S)
        topics = again.port.snapshot("demo").result(WAIT_S)["topics"]
        assert [topic["topic"] for topic in topics] == ["orders"]
    finally:
        assert again.stop()


def test_sorting_the_flights_ends_when_it_is_over_and_leaves_no_draft(tmp_path: Path) -> None:
    asked = 0

    def is_over() -> bool:
        nonlocal asked
        asked += 1
        return asked > 3

    with pytest.raises(FeedInterrupted):
        prepare_flights(tmp_path, is_over)
    assert list((tmp_path / "feeds").iterdir()) == []


def test_an_engine_stops_in_time_while_it_sorts_and_while_it_is_busy(tmp_path: Path) -> None:
    engine = Engine(tmp_path).start()
    port = engine.port
    port.create("flights", "flights", seed=1).result(WAIT_S)
    port.create("busy", "empty", seed=1).result(WAIT_S)
    for action in (
        {"action": "CreateTopic", "topic": "orders"},
        {"action": "StartConsumer", "group": "g", "subscriptions": [["orders", "*"]], "work_ms": [100_000]},
        {"action": "StartProducer", "topic": "orders", "rate_per_s": 2_000},
        {"action": "SendMessages", "topic": "orders", "count": 5_000},
    ):
        port.act("busy", parse_action(action), OWNER).result(WAIT_S)
    began_s = time.process_time()
    assert engine.stop(timeout_s=WAIT_S)
    assert time.process_time() - began_s < 5, "neither is finished first"
    again = Engine(tmp_path).start()
    try:
        again.port.wake("flights").result(WAIT_S)
        snapshot = again.port.snapshot("flights").result(WAIT_S)
        assert [producer["state"] for producer in snapshot["producers"]] in (["starting"], ["running"])
    finally:
        assert again.stop()
