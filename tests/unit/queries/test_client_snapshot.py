"""The client page: steps, timers, requests, waits and queues."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.control.channel_names import ChannelUnknown
from sandbox.journal.events import Entry, LockDenied, QueueTaken
from sandbox.queries.client_lives import CLIENTS_KEPT, MARKS_KEPT, ClientLives
from sandbox.simulation.world import BEGIN_MS, World
from tests.beginnings import world_of

START = [
    "check config",
    "copy subscriptions",
    "load offsets",
    "start consume service",
    "register in instance",
    "start instance",
    "fetch routes",
    "check subscriptions at a broker",
    "heartbeat",
    "wake rebalance",
]
STOP = [
    "stop consume service",
    "persist offsets",
    "unregister",
    "stop pulling",
    "stop inner producer",
    "stop timers",
    "close connections",
    "stop rebalance",
    "drop queues",
]
world = world_of("orders", seconds=3)


def read(world: World, who: str) -> dict[str, Any]:
    return dict(world.read(f"client/{who.replace('@', '%40').replace('#', '%23')}").data)


def steps(data: dict[str, Any], phase: str) -> list[str]:
    rows = sorted((row for row in data["steps"].values() if row["phase"] == phase), key=lambda row: int(row["step"]))
    return [row["name"] for row in rows]


@pytest.mark.seed("1.14", "4.1")
def test_a_start_is_reported_step_by_step_in_its_order(world: World) -> None:
    data = read(world, "A")
    assert steps(data, "start") == START
    assert [row["state"] for row in data["states"]] == ["starting", "running"]


@pytest.mark.seed("4.33")
def test_each_step_of_a_start_says_how_long_it_took(tmp_path: Path) -> None:
    """Over wires of 10 ms: a route per topic, then one heartbeat per broker, each there and back."""
    with World(tmp_path, "orders", latency_ms=(10, 10)) as world:
        world.run(10)
        rows = {row["name"]: row for row in read(world, "A")["steps"].values()}
        connect_ms, call_ms, topics, brokers = 20, 20, 2, 2
        assert rows["fetch routes"]["took_ms"] == connect_ms + topics * call_ms
        assert rows["heartbeat"]["took_ms"] == brokers * (connect_ms + call_ms)
        assert rows["heartbeat"]["began_ms"] == rows["fetch routes"]["began_ms"] + rows["fetch routes"]["took_ms"]
        assert rows["load offsets"]["took_ms"] == 0


def test_a_clean_stop_is_reported_too_and_stays_when_the_process_is_gone(world: World) -> None:
    world.act("StopActor", actor="A")
    world.run(3)
    data = read(world, "A")
    assert (data["client"]["state"], data["client"]["lives"]) == ("stopped", False)
    assert steps(data, "stop") == STOP
    assert data["timers"] == {}
    assert data["queues"] == {}


@pytest.mark.seed("1.19", "4.8", "D19")
def test_the_timer_table_of_a_concurrent_member(tmp_path: Path) -> None:
    with World(tmp_path, "orders") as world:
        world.run(65)
        timers = read(world, "A")["timers"]
        table = {name: (row["first_ms"], row["period_ms"], row["how"]) for name, row in timers.items()}
        assert table == {
            "route": (10, 30_000, "runs"),
            "heartbeat": (1_000, 30_000, "runs"),
            "commit": (10_000, 5_000, "runs"),
            "adjust pool": (60_000, 60_000, "empty"),
            "rebalance": (20_000, 20_000, "runs"),
            "clean": (900_000, 900_000, "runs"),
            "fetch name servers": (10_000, 120_000, "off"),
            "response scan": (3_000, 1_000, "each"),
        }
        due = {name: row["due_ms"] and row["due_ms"] - BEGIN_MS for name, row in timers.items()}
        assert due["commit"] == 70_000
        assert due["heartbeat"] == 91_000
        assert due["fetch name servers"] is None
        assert (timers["adjust pool"]["runs"], timers["commit"]["runs"], timers["heartbeat"]["runs"]) == (1, 12, 3)


def test_an_orderly_member_renews_its_locks_instead_of_cleaning(tmp_path: Path) -> None:
    with World(tmp_path, "payments") as world:
        world.run(3)
        timers = read(world, "A")["timers"]
        assert (timers["lock"]["first_ms"], timers["lock"]["period_ms"]) == (1_000, 20_000)
        assert timers["lock"]["due_ms"] == BEGIN_MS + 21_000
        assert "clean" not in timers


def test_a_held_pull_is_a_request_that_waits_for_its_answer(tmp_path: Path) -> None:
    with World(tmp_path, "payments") as world:
        world.act("StopActor", actor="till")
        world.run(10)
        data = read(world, "A")
        pulls = [row for row in data["pending"].values() if row["name"] == "PULL_MESSAGE"]
        assert len(pulls) == len(data["queues"])
        assert {row["timeout_ms"] for row in pulls} == {31_000}
        assert {row["code"] for row in pulls} == {11}
        broker = world.snapshot()["brokers"][0]["address"]
        assert {row["address"] for row in pulls} == {broker}


@pytest.mark.seed("0.26")
def test_the_cached_offsets_of_each_queue_are_listed(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        world.act("CreateTopic", topic="T", write_queues=1, read_queues=1)
        world.act(
            "StartConsumer",
            group="G",
            actor="A",
            threads=1,
            work_ms=[60_000, 60_000],
            subscriptions=[{"topic": "T", "expression": "*"}],
            from_where="CONSUME_FROM_FIRST_OFFSET",
        )
        world.run(3)
        world.act("SendMessages", topic="T", count=7)
        world.run(5)
        row = read(world, "A")["queues"]["T/broker-a/0"]
        assert row["runs"] == [["0", "6"]]
        assert (row["cached"], row["taken"], row["processing"], row["span"]) == (7, 0, 1, 6)
        assert row["next_pull"] == "7"
        assert row["oldest"]["offset"] == "0"
        assert row["bytes"] > 0


@pytest.mark.seed("4.34", "D44")
def test_after_a_crash_the_successor_waits_for_the_dead_owners_lock(tmp_path: Path) -> None:
    with World(tmp_path, "payments") as world:
        world.run(5)
        mine = set(read(world, "B")["queues"])
        world.act("CrashActor", actor="B")
        world.run(2)
        waits = [wait for who in "AC" for wait in read(world, who)["waits"].values()]
        assert {wait["queue"] for wait in waits} == {key for key in mine if not key.startswith("%")}
        renewed_ms = BEGIN_MS + 1_000
        for wait in waits:
            assert (wait["why"], wait["holder_state"]) == ("lock", "crashed")
            assert wait["until_ms"] == renewed_ms + 60_000
            assert wait["again_ms"] is not None
        world.run(80)
        assert [read(world, who)["waits"] for who in "AC"] == [{}, {}]
        assert mine <= {key for who in "AC" for key in read(world, who)["queues"]} | {"%RETRY%payment-fifo/broker-a/0"}


def test_a_member_without_a_route_waits_for_the_route(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        world.act("StartConsumer", group="G", actor="A", subscriptions=[{"topic": "nowhere", "expression": "*"}])
        world.run(3)
        waits = read(world, "A")["waits"]
        assert (waits["nowhere"]["why"], waits["nowhere"]["topic"]) == ("route", "nowhere")
        assert waits["nowhere"]["again_ms"] == BEGIN_MS + 30_010


def test_a_pull_that_fails_is_tried_again_after_a_second(world: World) -> None:
    world.act("KillBroker", broker="broker-b")
    world.run(1.3)
    waits = [row for row in read(world, "C")["waits"].values() if row["queue"] and "broker-b" in row["queue"]]
    assert {row["why"] for row in waits} == {"pull_failed"}
    now_ms = world.cluster.clock.now_ms()
    assert all(0 < row["until_ms"] - now_ms <= 1_000 for row in waits)


def test_a_crashed_member_shows_what_the_journal_said_last(tmp_path: Path) -> None:
    with World(tmp_path, "orders") as world:
        world.run_until(lambda: any(row["runs"] for row in read(world, "B")["queues"].values()), within_s=20)
        held = {key: row["runs"] for key, row in read(world, "B")["queues"].items() if row["runs"]}
        former = read(world, "B")["client"]["client_id"]
        world.act("CrashActor", actor="B")
        world.run(1)
        data = read(world, "B")
        assert (data["client"]["state"], data["client"]["lives"], data["client"]["version"]) == ("crashed", False, None)
        assert steps(data, "start") == START
        assert data["unfinished"] == held
        world.act("RestartActor", actor="B")
        world.run(2)
        now = read(world, "B")["client"]
        assert (now["state"], now["client_id"] != former) == ("running", True)
        old = read(world, former)["client"]
        assert (old["kind"], old["actor"], old["state"], old["now_client_id"]) == (
            "former",
            "B",
            "crashed",
            now["client_id"],
        )


def test_a_producer_shows_how_it_chooses_and_what_came_of_it(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        world.act("CreateTopic", topic="T", write_queues=4, read_queues=4)
        world.act("StartProducer", actor="P", topic="T", rate_per_s=4, selector="avoid_faulty")
        world.run(5)
        row = read(world, "P")["producer"]
        assert row["answers"] == {"SEND_OK": row["sent"]}
        assert row["topics"]["T"]["queues"] == [f"broker-a:{n}" for n in range(4)]
        assert (row["avoid_faulty"], row["retry_times"], row["compress_over_bytes"]) == (True, 2, 4_096)
        assert row["brokers"]["broker-a"]["avoided"] is False
        world.act("KillBroker", broker="broker-a")
        world.run(2)
        row = read(world, "P")["producer"]
        assert row["brokers"]["broker-a"]["avoided"] is True
        assert row["brokers"]["broker-a"]["until_ms"] > world.cluster.clock.now_ms() + 500_000
        assert row["failed"] > 0
        assert row["retried"] > 0


def test_the_queue_named_next_is_the_queue_taken_next(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        world.act("CreateTopic", topic="T", write_queues=4, read_queues=4)
        world.act("StartProducer", actor="P", topic="T", rate_per_s=1)
        world.run(3.5)

        def ends() -> dict[str, str]:
            topic = next(topic for topic in world.snapshot()["topics"] if topic["topic"] == "T")
            return {f"{queue['broker']}:{queue['queue_id']}": queue["max"] for queue in topic["queues"]}

        for _ in range(5):
            said, before = read(world, "P")["producer"]["topics"]["T"]["next"], ends()
            world.run_until(lambda before=before: ends() != before, within_s=3, step_s=0.05)  # type: ignore[misc]
            assert [key for key, end in ends().items() if end != before[key]] == [said]


@pytest.mark.parametrize("kind", ["pull", "lite_pull"])
def test_members_that_pull_by_themselves_show_their_queues_too(tmp_path: Path, kind: str) -> None:
    with World(tmp_path) as world:
        world.act("CreateTopic", topic="T", write_queues=2, read_queues=2)
        world.act("StartConsumer", group="G", actor="A", kind=kind, subscriptions=[{"topic": "T", "expression": "*"}])
        world.run(25)
        data = read(world, "A")
        assert {"T/broker-a/0", "T/broker-a/1"} <= set(data["queues"])
        assert (data["client"]["pulls"], data["client"]["state"]) == (kind, "running")
        assert "commit" in data["timers"]
        assert "clean" not in data["timers"]
        assert "T" in data["subscriptions"]


def test_an_unknown_name_is_no_channel(tmp_path: Path) -> None:
    with World(tmp_path) as world, pytest.raises(ChannelUnknown):
        read(world, "nobody")


def test_lives_are_bounded_and_keep_how_each_began() -> None:
    lives = ClientLives()
    lives.note(Entry(0, 5, None, QueueTaken("G", "c", "T", "b", 0, 3, ("stored",), "X")))
    for seq in range(1, 500):
        lives.note(Entry(seq, seq, None, LockDenied("G", "c", "T", "b", 1, "other", 10)))
    life = lives.get("c")
    assert life is not None
    assert len(life.marks) == MARKS_KEPT
    assert (life.marks[0]["what"], life.marks[0]["offset"]) == ("taken", "3")
    assert life.marks[-1]["seq"] == "499"
    for number in range(CLIENTS_KEPT):
        lives.note(Entry(number, 0, None, LockDenied("G", f"other-{number}", "T", "b", 1, "x", 10)))
    assert lives.get("c") is None


@pytest.mark.seed("3.43", "D22", "D24")
def test_a_broadcasting_member_shows_its_offset_file_and_a_clustering_one_has_none(tmp_path: Path) -> None:
    with World(tmp_path, "orders") as world:
        world.act(
            "StartConsumer",
            actor="screen",
            group="screens",
            subscriptions=[["orders", "*"]],
            work_ms=[1],
            model="BROADCASTING",
        )
        world.run(30)
        rows = read(world, "screen")["offsets"]
        assert len(rows) == 8
        assert all(int(row["file"]) <= int(row["now"]) for row in rows.values())
        assert read(world, "A")["offsets"] is None, "its broker keeps them"
        world.act("StopActor", actor="shop")
        world.run(7)
        assert {row["state"] for row in read(world, "screen")["offsets"].values()} == {"same"}
        actor = world.cluster.actors.by_label["screen"]
        for path in Path(tmp_path).rglob(f"*{actor.client_id}/{actor.group}/offsets.json*"):
            path.write_bytes(b"\0" * 9)
        rows = read(world, "screen")["offsets"]
        assert {(row["file"], row["state"]) for row in rows.values()} == {(None, "unknown")}, "and not: there are none"
        assert len(rows) == 8
