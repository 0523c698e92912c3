"""A real cluster in an outage: what was seen once stays, marked, and what happened stands in the journal."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sandbox.attached.picture import GONE_MS, Picture
from sandbox.attached.snapshot.group_reports import GroupSeen
from sandbox.attached.snapshot.groups import retrying
from sandbox.control.limits import AttachedLimits
from sandbox.kernel.clock import ScaledClock
from sandbox.queries.rates import CommitRates, Rates
from sandbox.sim.loop import SimLoop
from sandbox.simulation.world import World
from tests.sim.attached_stage import SLUG, CountingBell, Office

BOARD = "board/order-svc/orders"


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """Two masters, one slave and two name servers, watched."""
    with World(tmp_path, "cluster") as world:
        world.run(20)
        yield watching(world)


def watching(world: World, **more: Any) -> Office:
    office = Office(world, **more)
    office.attach()
    office.clusters.get(SLUG).subscribe(CountingBell())
    office.read(BOARD)
    return office


def brokers(office: Office) -> dict[str, dict[str, Any]]:
    return {row["broker"]: row for row in office.snapshot()["brokers"] if not row["broker_id"]}


def at(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%H:%M:%S}"


def test_a_killed_master_stays_with_the_time_of_its_last_answer(office: Office) -> None:
    office.world.act("KillBroker", broker="broker-b")
    killed_ms = office.world.environment.wall.now_ms()
    office.world.run(60)
    gone = brokers(office)["broker-b"]
    assert gone["state"] == "unreachable"
    assert killed_ms - 2_000 <= gone["answered_ms"] <= killed_ms
    said = f"Broker broker-b ({gone['address']}) does not answer; last response at {at(gone['answered_ms'])} UTC."
    assert office.snapshot()["sandbox"]["trouble"] == said
    assert office.read("topology")["brokers"]["broker-b"]["state"] == "unreachable"


def test_lag_is_that_of_the_queues_whose_master_answers(office: Office) -> None:
    header = office.read(BOARD)["header"]
    assert (header["queues_known"], header["queues_all"]) == (8, 8)
    before = office.glance(BOARD).data["queues"]
    office.world.act("KillBroker", broker="broker-b")
    office.world.run(60)
    board = office.read(BOARD)
    header, rows = board["header"], board["queues"]
    assert (header["queues_known"], header["queues_all"]) == (4, 8)
    assert header["lag"] == str(
        sum(int(row["max"]) - int(row["committed"]) for key, row in rows.items() if key.startswith("broker-a"))
    )
    assert header["lag_last_known"] == str(
        sum(int(row["max"]) - int(row["committed"]) for key, row in rows.items() if key.startswith("broker-b"))
    )
    answered_ms = brokers(office)["broker-b"]["answered_ms"]
    for key, row in rows.items():
        gone = key.startswith("broker-b")
        assert (row["down"] or {}).get("known_at_ms") == (answered_ms if gone else None)
        assert row["max"] == before[key]["max"] if gone else int(row["max"]) > int(before[key]["max"])


def test_retries_of_a_silent_broker_are_unknown_and_no_whole_number(office: Office) -> None:
    """The lag says of how many queues it is; retries of some brokers only are no such number."""
    assert office.read(BOARD)["header"]["retrying"] == "0"
    office.world.act("KillBroker", broker="broker-b")
    office.world.run(60)
    [row] = [row for row in office.snapshot()["groups"] if row["group"] == "order-svc"]
    assert row["counts"]["retrying"] is None
    for place in (office.read(BOARD)["header"], office.read("groups")["groups"]["order-svc"]):
        assert (place["retrying"], place["queues_known"]) == (None, 4)
        assert place["lag"] is not None
    office.world.act("StartBroker", broker="broker-b")
    office.world.run(130)
    assert office.read(BOARD)["header"]["retrying"] == "0"


def test_retries_are_unknown_before_any_broker_reported_its_topics() -> None:
    assert retrying(GroupSeen(seen({"broker-a": {0: "10.0.0.1:10911"}}), "order-svc")) is None


def test_members_divide_the_queues_that_are_still_routed(office: Office) -> None:
    office.world.act("KillBroker", broker="broker-b")
    office.world.run(60)
    rows = office.read(BOARD)["queues"]
    living = {key: row for key, row in rows.items() if key.startswith("broker-a")}
    assert len(living) == 4
    assert {key: row["owner"] for key, row in living.items()} == {key: row["assigned"] for key, row in living.items()}
    assert {row["assigned"] for key, row in rows.items() if key not in living} == {None}
    due = office.read("rebalance/order-svc")["queues"]
    assert {row["trouble"] for row in due.values() if row["broker"] == "broker-a"} == {None}
    assert office.ask("plan-rebalance", group="order-svc", topic="orders")["of"] == 4


def test_the_only_broker_killed_leaves_no_lag_and_no_silence(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
        world.act("StartConsumer", group="order-svc", subscriptions=[{"topic": "orders"}])
        world.act("SendMessages", topic="orders", count=40)
        world.run(20)
        office = watching(world)
        world.act("KillBroker", broker=next(iter(brokers(office))))
        world.run(60)
        header = office.read(BOARD)["header"]
        assert (header["lag"], header["queues_known"], header["queues_all"]) == (None, 0, 4)
        assert "does not answer; last response at" in office.snapshot()["sandbox"]["trouble"]
        assert office.snapshot()["sandbox"]["state"] == "live"  # its name server answers


def test_what_falls_silent_and_answers_again_is_in_the_journal_once(office: Office) -> None:
    office.world.act("KillBroker", broker="broker-b")
    office.world.act("StopNameServer", name_server="ns-2")
    office.world.run(60)
    silent = {row["node"]: row for row in office.entries("NodeSilent")}
    assert set(silent) == {"broker-b", "ns-2"}
    assert len(office.entries("NodeSilent")) == 2
    office.world.act("StartBroker", broker="broker-b")
    office.world.act("StartNameServer", name_server="ns-2")
    office.world.run(130)
    assert all(row["quiet_ms"] < 15_000 for row in silent.values())
    assert {row["node"]: row["at_ms"] - row["silent_ms"] for row in office.entries("NodeAnswered")} == {
        name: row["at_ms"] - row["quiet_ms"] for name, row in silent.items()
    }
    assert len(office.entries("NodeAnswered")) == 2
    assert brokers(office)["broker-b"]["state"] == "running"
    assert office.read(BOARD)["header"]["queues_known"] == 8


def test_members_that_come_and_go_are_in_the_journal_and_the_first_ones_are_no_news(office: Office) -> None:
    assert office.entries() == []
    office.world.act("StartConsumer", group="order-svc", subscriptions=[{"topic": "orders"}])
    office.world.run(45)
    [joined] = office.entries("MemberJoined")
    assert joined["group"] == "order-svc"
    victim = next(
        actor for actor in office.world.cluster.actors.consumers("order-svc") if actor.client_id == joined["client_id"]
    )
    office.world.act("CrashActor", actor=victim.label)
    office.world.run(150)
    [left] = office.entries("MemberLeft")
    assert (left["client_id"], left["reason"]) == (victim.client_id, "unnamed")


def test_no_one_has_left_because_a_broker_cannot_say_so(office: Office) -> None:
    office.world.act("KillBroker", broker="broker-b")
    office.world.run(60)
    assert office.entries("MemberLeft") == []


def test_lag_over_the_mark_is_reported_once_and_again_when_it_is_under_half(tmp_path: Path) -> None:
    with World(tmp_path) as world:
        world.act("CreateTopic", topic="orders", write_queues=4, read_queues=4)
        world.act("StartConsumer", group="order-svc", subscriptions=[{"topic": "orders"}])
        world.run(20)
        office = watching(world, limits=AttachedLimits(lag_mark=50))
        [member] = world.cluster.actors.consumers("order-svc")
        world.act("HangActor", actor=member.label)
        world.act("SendMessages", topic="orders", count=80)
        world.run(60)
        [over] = office.entries("LagMarked")
        assert (over["group"], over["state"], over["mark"], over["queues"]) == ("order-svc", "over", 50, over["of"])
        assert over["lag"] >= 50
        world.act("ResumeActor", actor=member.label)
        world.run(60)
        assert [row["state"] for row in office.entries("LagMarked")] == ["over", "under"]


def seen(reported: dict[str, dict[int, str]]) -> Picture:
    clock = ScaledClock(SimLoop(), start_ms=0)
    picture = Picture(Rates(clock, 10), CommitRates(clock, 10))
    picture.set_brokers(reported, 64, 0)
    for broker in picture.brokers.values():
        broker.answered_ms = 0
    return picture


def test_a_broker_at_another_address_is_the_same_broker() -> None:
    picture = seen({"broker-a": {0: "10.0.0.1:10911"}})
    picture.set_brokers({"broker-a": {0: "10.0.0.2:10911"}}, 64, 1)
    assert list(picture.brokers) == ["10.0.0.2:10911"]


def test_a_broker_is_forgotten_with_its_queues_a_day_after_its_last_answer() -> None:
    picture = seen({"broker-a": {0: "10.0.0.1:10911"}, "broker-b": {0: "10.0.0.2:10911"}})
    picture.topics = {"broker-a": {}, "broker-b": {}}
    picture.set_brokers({"broker-a": {0: "10.0.0.1:10911"}}, 64, GONE_MS)
    assert [(broker.name, broker.named) for broker in picture.in_order()] == [("broker-a", True), ("broker-b", False)]
    picture.set_brokers({"broker-a": {0: "10.0.0.1:10911"}}, 64, GONE_MS + 1)
    assert list(picture.masters()) == list(picture.topics) == ["broker-a"]
