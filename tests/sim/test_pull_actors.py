"""Consumers that pull by themselves, as actors of a sandbox."""

from pathlib import Path
from statistics import median
from typing import Any

import pytest

from sandbox.journal.events import (
    MemberJoined,
    MemberStateChanged,
    MessagesConsumed,
    QueueTaken,
    ResetStepDone,
)
from sandbox.kernel.errors import ActionRefused
from sandbox.remoting.codes import RequestCode
from sandbox.simulation.world import World
from tests.seed.stage import WireLog, broker_address

FIRST = "CONSUME_FROM_FIRST_OFFSET"
KINDS = ("pull", "lite_pull")


def stage(tmp_path: Path, **consumer: Any) -> World:
    """Four queues and one or more members of G; label A is the first."""
    world = World(tmp_path)
    world.act("CreateTopic", topic="T", write_queues=4, read_queues=4)
    start(world, **consumer)
    return world


def start(world: World, **consumer: Any) -> None:
    consumer = {"group": "G", "subscriptions": [["T", "*"]], "work_ms": [1], "from_where": FIRST, **consumer}
    world.act("StartConsumer", **consumer)


def send(world: World, count: int, **how: Any) -> None:
    world.act("SendMessages", topic="T", count=count, key="k-{n}", **how)


def member(world: World, label: str = "A") -> dict[str, Any]:
    rows = world.read("board/G/T").data["members"].values()
    return next(row for row in rows if row["actor"] == label)


def queues(world: World) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = world.read("board/G/T").data["queues"]
    return found


def consumed(world: World, *, since: int = 0) -> list[str]:
    return [key for entry in world.entries(MessagesConsumed, since=since) for key in entry.event.keys]


def committed(world: World) -> list[int | None]:
    return [None if row["committed"] is None else int(row["committed"]) for _, row in sorted(queues(world).items())]


@pytest.mark.parametrize("kind", KINDS)
def test_they_share_a_topic_and_the_board_shows_them_at_it(tmp_path: Path, kind: str) -> None:
    with stage(tmp_path, kind=kind, copies=2, work_ms=[400]) as world:
        world.run(35)
        send(world, 40)
        world.run(4)
        rows = [member(world, label) for label in "AB"]
        assert [(row["kind"], row["queues"], row["threads"], row["busy"]) for row in rows] == [(kind, 2, 1, 1)] * 2
        assert all(row["buffered"] > 0 for row in rows)
        owners = [row["owner"] for _, row in sorted(queues(world).items())]
        assert [owners[0], owners[2]] != [owners[2], owners[0]]
        assert all(owner.endswith("@STREAM") for owner in owners)
        world.run(30)
        assert sorted(consumed(world)) == sorted(f"k-{n}" for n in range(1, 41))
        assert {row["kind"] for row in (group["members"][0] for group in world.snapshot()["groups"])} == {kind}
        assert {entry.event.kind for entry in world.entries(MemberJoined)} == {"CONSUME_ACTIVELY"}


@pytest.mark.parametrize("kind", KINDS)
def test_what_they_did_is_committed_within_seconds_and_survives_a_restart(tmp_path: Path, kind: str) -> None:
    with stage(tmp_path, kind=kind) as world:
        world.run(25)
        send(world, 20)
        world.run(20)
        assert committed(world) == [5, 5, 5, 5]
        before = world.cluster.journal.next_seq
        world.act("RestartActor", actor="A")
        world.run(60)
        assert consumed(world, since=before) == []
        assert {
            entry.event.start_offset for entry in world.entries(QueueTaken, since=before) if entry.event.topic == "T"
        } == {5}


@pytest.mark.seed("0.7")
def test_a_pull_consumer_repeats_everything_unless_it_saves_its_offsets(tmp_path: Path) -> None:
    again: dict[str, list[str]] = {}
    for store in ("memory", "default"):
        with stage(tmp_path / store, kind="pull", offset_store=store) as world:
            wire = WireLog(world)
            world.run(25)
            send(world, 12)
            world.run(20)
            assert len(consumed(world)) == 12
            assert bool(wire.requests(RequestCode.UPDATE_CONSUMER_OFFSET)) is (store == "default")
            before = world.cluster.journal.next_seq
            world.act("RestartActor", actor="A")
            world.run(40)
            again[store] = consumed(world, since=before)
            assert (world.read("board/G/T").data["header"]["delivered_again"] > 0) is (store == "memory")
    assert (len(again["memory"]), again["default"]) == (12, [])


@pytest.mark.parametrize("kind", KINDS)
def test_a_crash_hands_their_queues_on(tmp_path: Path, kind: str) -> None:
    with stage(tmp_path, kind=kind, copies=2) as world:
        world.run(35)
        world.act("CrashActor", actor="A")
        world.run(2)
        assert (member(world)["state"], member(world)["queues"]) == ("crashed", 0)
        assert member(world, "B")["queues"] == 4
        send(world, 8)
        world.run(10)
        assert len(consumed(world)) == 8


@pytest.mark.parametrize("kind", KINDS)
def test_a_hung_one_does_nothing_until_it_goes_on(tmp_path: Path, kind: str) -> None:
    with stage(tmp_path, kind=kind) as world:
        world.run(25)
        world.act("HangActor", actor="A")
        send(world, 8)
        world.run(20)
        assert consumed(world) == []
        assert member(world)["state"] == "hung"
        world.act("ResumeActor", actor="A")
        world.run(10)
        assert len(consumed(world)) == 8


@pytest.mark.parametrize("kind", KINDS)
def test_one_that_stops_lets_go_of_its_queues_and_unregisters(tmp_path: Path, kind: str) -> None:
    with stage(tmp_path, kind=kind, copies=2) as world:
        world.run(35)
        world.act("StopActor", actor="A")
        world.run(2)
        assert (member(world)["state"], member(world, "B")["queues"]) == ("stopped", 4)
        states = [
            entry.event.state
            for entry in world.entries(MemberStateChanged)
            if entry.event.client_id.endswith("@STREAM")
        ]
        assert states[-2:] == ["stopping", "stopped"]


def test_a_clean_stop_of_a_lite_pull_consumer_repeats_what_the_last_polls_gave(tmp_path: Path) -> None:
    """Automatic commits happen at a poll, at most every 5 s; stopping is no poll (spec client-behaviour 12)."""
    with stage(tmp_path, kind="lite_pull") as world:
        world.run(26)
        send(world, 8)
        world.run(1)
        before = world.cluster.journal.next_seq
        assert len(consumed(world)) == 8
        world.act("StopActor", actor="A")
        world.run(2)
        world.act("RestartActor", actor="A")
        world.run(30)
        assert 0 < len(consumed(world, since=before)) <= 8


@pytest.mark.parametrize("kind", KINDS)
def test_a_slow_key_and_other_tags_count_at_once(tmp_path: Path, kind: str) -> None:
    with stage(tmp_path, kind=kind) as world:
        world.run(25)
        world.act("ChangeActor", actor="A", slow_key="k-1", slow_ms=9_000)
        send(world, 1, queue="broker-a:0")
        world.run(6)
        assert consumed(world) == []
        world.run(8)
        assert consumed(world) == ["k-1"]
        world.act("ChangeActor", actor="A", expression="red", slow_key="")
        world.run(25)
        send(world, 4, tag="blue")
        send(world, 4, tag="red")
        before = world.cluster.journal.next_seq
        world.run(10)
        assert len(consumed(world, since=before)) == 4


def test_what_a_pull_consumer_refuses_comes_again_by_the_retry_topic(tmp_path: Path) -> None:
    with stage(tmp_path, kind="pull") as world:
        world.run(25)
        world.act("ChangeActor", actor="A", handler="reject k-3")
        send(world, 4)
        world.run(60)
        tries = [entry.event for entry in world.entries(MessagesConsumed) if entry.event.keys == ("k-3",)]
        assert [(event.outcome, event.reconsume_times) for event in tries[:3]] == [
            ("LATER", 0),
            ("LATER", 1),
            ("LATER", 2),
        ]
        assert {event.topic for event in tries[1:]} == {"%RETRY%G"}
        assert committed(world) == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"kind": "pull", "listener": "orderly"}, "Only a push consumer has a listener"),
        ({"kind": "lite_pull", "threads": 5}, "Only a push consumer has a listener"),
        ({"kind": "lite_pull", "fail_percent": 10}, "nothing can fail"),
        ({"kind": "lite_pull", "instance": "P"}, "clients with different IDs"),
    ],
)
def test_what_they_do_not_have_is_refused(tmp_path: Path, wish: dict[str, Any], sentence: str) -> None:
    with World(tmp_path) as world:
        start(world, actor="P", group="other")
        world.run(1)
        with pytest.raises(ActionRefused, match=sentence) as why:
            start(world, **wish)
        assert why.value.status == 422


def test_a_lite_pull_consumer_cannot_be_made_to_refuse_a_key(tmp_path: Path) -> None:
    with stage(tmp_path, kind="lite_pull") as world:
        for change in ({"handler": "reject k-1"}, {"fail_percent": 5}):
            with pytest.raises(ActionRefused, match="nothing can fail"):
                world.act("ChangeActor", actor="A", **change)
        world.act("ChangeActor", actor="A", handler="other work")


@pytest.mark.parametrize("kind", KINDS)
def test_a_live_reset_is_not_heard_and_the_plan_says_so(tmp_path: Path, kind: str) -> None:
    with stage(tmp_path, kind=kind) as world:
        world.run(25)
        send(world, 20)
        world.run(20)
        wish = {"group": "G", "topic": "T", "target": "earliest"}
        plan = world.ask("plan-reset", **wish, method="online")
        assert {note["code"] for row in plan["rows"] for note in row["notes"]} == {"not_heard"}
        world.act("ResetOffsets", **wish, method="online", reason="try")
        world.run(90)
        assert len(consumed(world)) == 20
        assert committed(world) == [5, 5, 5, 5]
        assert [entry.event.step for entry in world.entries(ResetStepDone)] == ["told"]


@pytest.mark.parametrize("kind", KINDS)
def test_they_sleep_and_wake_with_the_sandbox(tmp_path: Path, kind: str) -> None:
    with stage(tmp_path, kind=kind) as world:
        world.run(25)
        send(world, 8)
        world.run(12)
        world.sleep()
        world.wake()
        world.run(40)
        before = world.cluster.journal.next_seq
        send(world, 4)
        world.run(10)
        assert (member(world)["kind"], member(world)["state"]) == (kind, "running")
        assert len(consumed(world, since=before)) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_broadcasting_one_reads_all_queues_and_keeps_its_own_file(tmp_path: Path, kind: str) -> None:
    with stage(tmp_path, kind=kind, model="BROADCASTING", copies=2) as world:
        world.run(30)
        send(world, 8)
        world.run(20)
        assert len(consumed(world)) == 16
        files = list((tmp_path / "sandboxes" / "world" / "clients").rglob("offsets.json"))
        assert len(files) == 2


@pytest.mark.seed("3.8", "3.34", "D32")
def test_pulling_costs_delay_or_requests_and_push_is_a_pull_that_the_broker_holds(tmp_path: Path) -> None:
    """Three ways to the same messages: asking once a second, asking and waiting at the broker, being "pushed" to."""
    delay_ms: dict[str, float] = {}
    idle_pulls: dict[str, int] = {}
    for kind in ("pull", "lite_pull", "push"):
        with stage(tmp_path / kind, kind=kind) as world:
            wire = WireLog(world)
            world.run(30)
            before = len(wire.requests(RequestCode.PULL_MESSAGE))
            world.run(60)
            idle_pulls[kind] = len(wire.requests(RequestCode.PULL_MESSAGE)) - before
            for _ in range(12):
                send(world, 1, queue="broker-a:0")
                world.run(2.37)
            world.run(3)
            stored = {}
            for entry in world.entries(MessagesConsumed):
                stored[entry.event.offsets[0]] = entry.event.started_ms - _stored_ms(world, entry.event.offsets[0])
            delay_ms[kind] = median(stored.values())
            reported = [
                frame
                for frame in wire.frames
                if frame.sender == broker_address(world) and b"k-" in (frame.command.body or b"")
            ]
            assert len(reported) >= 12
            # a message only ever travels in the answer to a pull
            assert {(frame.code, frame.answer) for frame in reported} == {(RequestCode.PULL_MESSAGE, True)}
    assert delay_ms["pull"] > 200 > 50 > delay_ms["lite_pull"]
    assert delay_ms["push"] < 50
    # 60 s of silence on four queues: once a second each by hand; held 20 s or 15 s at the broker else
    assert idle_pulls["pull"] > 200
    assert idle_pulls["lite_pull"] == pytest.approx(12, abs=4)
    assert idle_pulls["push"] == pytest.approx(20, abs=5)  # five queues: the retry topic too


def _stored_ms(world: World, offset: int) -> int:
    store = world.cluster.nodes.broker("broker-a").running.store
    at_ms = store.store_time("T", 0, offset)
    assert at_ms is not None
    return at_ms
