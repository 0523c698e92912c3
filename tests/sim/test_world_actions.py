"""Actions of users in a sandbox and their effects."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster.config import HostConfig
from sandbox.control.limits import SandboxLimits
from sandbox.journal.events import (
    BrokerStopped,
    ClockChanged,
    DiskChanged,
    Event,
    Keyframe,
    LimitReached,
    MemberStateChanged,
    MessagesStored,
    RecoveryDone,
    SendFailed,
)
from sandbox.simulation.world import World
from tests.beginnings import world_with
from tests.sim.fault_stage import refusal

GROUP = "order-svc"
world = world_with({"orders": 4})


def with_traffic(world: World, *, copies: int = 2, per_s: float = 10, **fields: Any) -> None:
    world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], copies=copies, work_ms=[50, 100], **fields)
    world.act("StartProducer", actor="shop", topic="orders", rate_per_s=per_s)


def stored(world: World) -> int:
    return sum(entry.event.count for entry in world.entries(MessagesStored))


def test_messages_are_sent_by_hand_to_a_queue_and_in_batches(world: World) -> None:
    world.act("SendMessages", topic="orders", queue="broker-a:3", count=5, key="hand-{n}", tag="vip")
    world.act("SendMessages", topic="orders", count=40, batch=True)
    world.act("SendMessages", topic="orders", count=10, rate_per_s=2)
    world.run(2)
    assert 45 < stored(world) < 55, "the trickle is still under way"
    world.run(4)
    assert stored(world) == 55
    found = world.ask("find-messages", topic="orders", key="hand-5")
    assert [(row["queue_id"], row["tags"]) for row in found["rows"]] == [(3, "vip")]
    record = world.ask("read-record", broker="broker-a", physical_offset=found["rows"][0]["physical_offset"])
    assert record["message"]["body"].startswith("hand-5 #5")
    by_id = world.ask("find-messages", id=found["rows"][0]["msg_id"])
    assert by_id["rows"][0]["keys"] == "hand-5"
    entry = world.ask("read-entry", topic="orders", broker="broker-a", queue_id=3, offset=0)
    assert entry["physical_offset"] == "0" or int(entry["physical_offset"]) > 0
    assert len(bytes.fromhex(entry["hex"])) == 20


def test_a_search_over_a_whole_topic_goes_on_by_its_cursor(world: World) -> None:
    world.act("SendMessages", topic="orders", count=130)
    world.run(1)
    keys: list[str] = []
    cursor = None
    while True:
        page = world.ask("find-messages", topic="orders", cursor=cursor)
        keys += [row["keys"] for row in page["rows"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert sorted(keys) == sorted(f"burst-{n}" for n in range(1, 131))


def test_stop_hang_resume_and_restart_are_distinguished(world: World) -> None:
    with_traffic(world, copies=3)
    world.run(20)
    world.act("StopActor", actor="A")
    world.act("HangActor", actor="B")
    world.run(2)
    members = world.read(f"board/{GROUP}/orders").data["members"]
    states = {member["actor"]: member["state"] for member in members.values()}
    assert states == {"A": "stopped", "B": "hung", "C": "running"}
    hung = next(member for member in members.values() if member["actor"] == "B")
    assert hung["expires_at_ms"] is not None
    assert refusal(world, "StopActor", actor="B").status == 409
    first_id = world.cluster.actors.get("A").client_id
    world.act("RestartActor", actor="A")
    world.act("ResumeActor", actor="B")
    world.run(25)
    assert world.cluster.actors.get("A").client_id != first_id
    owners = {row["owner"] for row in world.read(f"board/{GROUP}/orders").data["queues"].values()}
    assert owners == {world.cluster.actors.get(label).client_id for label in "ABC"}
    crashed = [entry.event.state for entry in world.entries(MemberStateChanged)]
    assert "crashed" not in crashed


def test_a_strategy_changes_who_reads_what_as_forecast(world: World) -> None:
    with_traffic(world, copies=2)
    world.run(22)
    forecast = world.ask("plan-rebalance", group=GROUP, topic="orders", strategy="AVG_BY_CIRCLE")
    world.act("SetStrategy", group=GROUP, strategy="AVG_BY_CIRCLE")
    world.run(45)
    board = world.read(f"board/{GROUP}/orders").data
    assert board["header"]["strategy"] == "AVG_BY_CIRCLE"
    owned: dict[str, list[str]] = {}
    for queue, row in board["queues"].items():
        owned.setdefault(row["owner"], []).append(queue)
    assert owned == forecast["after"]


def test_a_broadcasting_group_has_a_row_per_member_and_its_offsets_in_files(world: World) -> None:
    with_traffic(world, copies=2, model="BROADCASTING")
    world.run(30)
    board = world.read(f"board/{GROUP}/orders").data
    assert len(board["queues"]) == 8
    assert all("@" in key for key in board["queues"])
    file = world.ask("offset-file", owner="A")
    assert "offsetTable" in file["text"]


def test_a_killed_broker_recovers_and_traffic_goes_on(world: World) -> None:
    with_traffic(world)
    world.run(20)
    world.act("KillBroker", broker="broker-a")
    world.run(5)
    assert {row["down"]["reads"] for row in world.read(f"board/{GROUP}/orders").data["queues"].values()} == {"nobody"}
    assert world.snapshot()["brokers"][0]["state"] == "killed"
    world.act("StartBroker", broker="broker-a")
    before = stored(world)
    world.run(60)
    assert [entry.event.kind for entry in world.entries(RecoveryDone)] == ["normal", "abnormal"]
    assert stored(world) > before + 200
    assert int(world.read(f"board/{GROUP}/orders").data["header"]["lag"]) < 9
    world.act("StopBroker", broker="broker-a")
    assert [entry.event.how for entry in world.entries(BrokerStopped)] == ["killed", "clean"]


def test_a_full_disk_refuses_and_a_free_one_takes_again(world: World) -> None:
    with_traffic(world)
    world.run(5)
    world.act("FillDisk", broker="broker-a")
    failed = len(world.entries(SendFailed))
    world.run(3)
    assert len(world.entries(SendFailed)) > failed
    world.act("FreeDisk", broker="broker-a")
    before = stored(world)
    world.run(3)
    assert stored(world) > before
    assert [entry.event.state for entry in world.entries(DiskChanged)] == ["full", "ok"]


def test_topics_change_and_go(world: World) -> None:
    with_traffic(world)
    world.act("ChangeTopic", topic="orders", write_queues=2)
    world.run(40)
    row = world.snapshot()["topics"][0]
    assert (row["write_queues"], row["read_queues"]) == (2, 4)
    assert refusal(world, "CreateTopic", topic="orders").status == 409
    assert refusal(world, "CreateTopic", topic="no spaces").field == "topic"
    assert refusal(world, "DeleteTopic", topic="TBW102").status == 422
    world.act("RemoveActor", actor="shop")
    world.run(1)
    world.act("DeleteTopic", topic="orders")
    assert [topic["topic"] for topic in world.snapshot()["topics"]] == ["%RETRY%order-svc"]
    assert world.ask("route", topic="orders")["known"] is False


def test_the_clock_stops_steps_and_runs(world: World) -> None:
    with_traffic(world)
    world.run(10)
    world.act("SetRate", rate=0)
    at_ms, before = world.cluster.clock.now_ms(), stored(world)
    world.run(30)
    assert (world.cluster.clock.now_ms(), stored(world)) == (at_ms, before)
    world.act("Step", until="ms", ms=2_000)
    world.run(1)
    assert world.cluster.clock.now_ms() == at_ms + 2_000
    assert stored(world) - before in (19, 20, 21)
    seq = world.act("Step", until="MessagesStored")
    world.run(1)
    kinds = [type(entry.event) for entry in world.entries(since=seq + 1)]
    assert kinds.count(MessagesStored) == 1
    world.act("SetRate", rate=4)
    before = stored(world)
    world.run(5)
    assert stored(world) - before == pytest.approx(200, abs=5)
    assert [entry.event.rate for entry in world.entries(ClockChanged)][-1] == 4


def test_a_paused_sandbox_sleeps_and_wakes_paused(world: World) -> None:
    with_traffic(world)
    world.run(10)
    world.act("SetRate", rate=0)
    world.sleep()
    world.wake()
    assert world.cluster.clock.rate == 0
    world.act("SetRate", rate=1)
    before = stored(world)
    world.run(10)
    assert stored(world) > before


def test_limits_are_refusals_with_a_fact_at_most_once_a_second(tmp_path: Path) -> None:
    limits = SandboxLimits(topics=2, members=2, producers=1, messages_per_send=10, queues_per_topic=4)
    with World(tmp_path, config=HostConfig(sandbox_limits=limits)) as world:
        world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
        world.act("StartProducer", topic="orders", rate_per_s=1)
        cases: list[tuple[str, dict[str, Any]]] = [
            ("CreateTopic", {"topic": "wide", "write_queues": 5, "read_queues": 4}),
            ("StartConsumer", {"group": "g", "subscriptions": [["orders", "*"]], "copies": 3}),
            ("StartProducer", {"topic": "orders"}),
            ("SendMessages", {"topic": "orders", "count": 11}),
        ]
        for action, fields in cases:
            assert refusal(world, action, **fields).status == 422
            assert refusal(world, action, **fields).status == 422
        reported = [entry.event.limit for entry in world.entries(LimitReached)]
        assert reported == ["queues_per_topic", "members", "producers", "messages_per_send"]


def test_producers_are_slowed_to_the_limit_and_none_fails(tmp_path: Path) -> None:
    limits = SandboxLimits(stored_messages_per_s=50)
    with World(tmp_path, config=HostConfig(sandbox_limits=limits)) as world:
        world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
        world.act("StartProducer", topic="orders", rate_per_s=200)
        world.run(20)
        assert stored(world) == pytest.approx(20 * 50, rel=0.1)
        assert not world.entries(SendFailed)
        assert len(world.entries(LimitReached)) == pytest.approx(20, abs=2)


def test_a_burst_of_more_than_a_second_may_store_is_stored_whole_at_any_speed(world: World) -> None:
    world.act("SendMessages", topic="orders", count=1)
    world.act("SendMessages", topic="orders", count=4_999)
    world.run(5)
    assert stored(world) == 5_000
    world.act("SetRate", rate=0.1)
    world.act("SendMessages", topic="orders", count=4_000)
    world.run(20)
    assert stored(world) == 9_000
    assert not world.entries(SendFailed)


def test_keyframes_come_with_growth_and_hold_the_snapshot(world: World) -> None:
    def keyframes() -> list[Event]:
        return [entry.event for entry in world.entries(Keyframe)]

    world.run(120)
    assert len(keyframes()) == 1, "an idle sandbox needs one only"
    with_traffic(world, per_s=40)
    world.run(120)
    assert 2 <= len(keyframes()) <= 12
    newest = keyframes()[-1].snapshot  # type: ignore[union-attr]
    assert set(newest) == set(world.snapshot())


def test_several_groups_may_share_one_client(world: World) -> None:
    with_traffic(world, copies=1)
    world.run(2)
    world.act("StartConsumer", group="audit", subscriptions=[["orders", "*"]], instance="A")
    world.run(25)
    members = [member for group in world.snapshot()["groups"] for member in group["members"]]
    assert len({member["client_id"] for member in members}) == 1
    assert {member["state"] for member in members} == {"running"}
    assert refusal(world, "StartConsumer", group="audit", subscriptions=[["orders", "*"]], instance="A").status == 409
    world.act("CrashActor", actor="A")
    world.run(1)
    states = {member["state"] for group in world.snapshot()["groups"] for member in group["members"]}
    assert states == {"crashed"}, "one process, one end"
