"""Resets on a real cluster: members are notified and watched, every queue's result is written down, all else is read.

What each wish does to a group in each state is in `test_reset_plans.py`, for a sandbox and a real cluster alike.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.commands.reset.undo import UndoPoint
from sandbox.kernel.errors import ActionRefused
from sandbox.remoting.codes import RequestCode
from sandbox.sim.network import SimNetwork
from sandbox.simulation.world import World
from tests.sim.attached_stage import IP, Office

GROUP, TOPIC = "order-svc", "orders"
READS = {
    RequestCode.GET_ALL_TOPIC_CONFIG,
    RequestCode.GET_BROKER_RUNTIME_INFO,
    RequestCode.GET_BROKER_CLUSTER_INFO,
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
    RequestCode.GET_TOPIC_STATS_INFO,
    RequestCode.GET_CONSUMER_CONNECTION_LIST,
    RequestCode.GET_CONSUME_STATS,
    RequestCode.GET_ALL_CONSUMER_OFFSET,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER,
    RequestCode.GET_CONSUMER_RUNNING_INFO,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
    RequestCode.GET_ALL_PRODUCER_INFO,
    RequestCode.GET_BROKER_CONFIG,
    RequestCode.GET_ROUTEINFO_BY_TOPIC,
    RequestCode.QUERY_MESSAGE,
    RequestCode.VIEW_MESSAGE_BY_ID,
    RequestCode.PULL_MESSAGE,
    RequestCode.QUERY_CONSUME_QUEUE,
}


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """Two brokers of four queues each, three members; all is consumed and no one sends any more."""
    with World(tmp_path, "orders") as world:
        world.run(30)
        world.act("StopActor", actor="shop")
        world.run(15)
        made = Office(world)
        made.attach()
        yield made


@pytest.fixture
def offline(office: Office) -> Office:
    for actor in office.world.cluster.actors.consumers(GROUP):
        office.world.act("StopActor", actor=actor.label)
    office.world.run(2)
    return office


def committed(office: Office) -> dict[str, int]:
    """Return the offsets in the brokers' own tables."""
    found = {
        f"{node.name}:{number}": node.running.consumer_offsets.get(GROUP, TOPIC, number)
        for node in office.world.cluster.nodes.masters()
        for number in range(4)
    }
    return {queue: offset for queue, offset in found.items() if offset is not None}


def plan(office: Office, **wish: Any) -> dict[str, Any]:
    return office.ask("plan-reset", group=GROUP, topic=TOPIC, **wish)


def apply(office: Office, shown: dict[str, Any], **wish: Any) -> int:
    expected = [{name: row[name] for name in ("queue", "committed", "target")} for row in shown["rows"]]
    return office.act("ResetOffsets", group=GROUP, topic=TOPIC, confirm=GROUP, expected=expected, **wish)


def targets(shown: dict[str, Any]) -> dict[str, int]:
    return {row["queue"]: int(row["target"]) for row in shown["rows"]}


def middle_ms(office: Office) -> int:
    return office.world.cluster.clock.now_ms() - 30_000


@pytest.mark.parametrize("target", ["latest", "time"])
def test_online_the_members_go_where_the_preview_says(office: Office, target: str) -> None:
    """Members are slow, so that the targets can be seen before they move on."""
    world = office.world
    for actor in world.cluster.actors.consumers(GROUP):
        world.act("ChangeActor", actor=actor.label, work_ms=[120_000, 120_000])
    world.act("SendMessages", topic=TOPIC, count=40)
    world.run(6)
    before = committed(office)
    wish: dict[str, Any] = {"target": target, "method": "online"}
    if target == "time":
        wish["value"] = middle_ms(office)
    shown = plan(office, **wish)
    assert (shown["refused"], shown["method"], shown["instead"]) == (None, "online", None)
    apply(office, shown, **wish)
    assert committed(office) == before  # only members are notified
    world.run(25)  # they drop their queues, wait ten seconds, write the offsets down and go on
    assert committed(office) == targets(shown) != before


def test_everything_else_is_refused(office: Office) -> None:
    for action, fields in (
        ("CreateTopic", {"topic": "x"}),
        ("SendMessages", {"topic": TOPIC, "count": 1}),
        ("KillBroker", {"broker": "broker-a"}),
        ("DeleteTopic", {"topic": TOPIC}),
    ):
        with pytest.raises(ActionRefused) as refused:
            office.act(action, **fields)
        assert refused.value.status == 403


def test_who_reset_what_is_written_down_with_the_result_of_every_queue(offline: Office) -> None:
    before = committed(offline)
    shown = plan(offline, target="earliest", method="offline")
    seq = apply(offline, shown, target="earliest", method="offline", reason="the handler was wrong")
    [taken], [reset] = offline.entries("ActionTaken"), offline.entries("OffsetsReset")
    assert (taken["seq"], taken["by"], taken["action"]) == (seq, "operator ada", "ResetOffsets")
    assert (reset["cause"], reset["reason"], reset["by"]) == (seq, "the handler was wrong", "operator ada")
    rows = {row[0].split("/", 1)[1].replace("/", ":"): (row[1], row[2]) for row in reset["rows"]}
    assert rows == {queue: (before[queue], target) for queue, target in targets(shown).items()}
    assert committed(offline) == targets(shown), "on both brokers"
    board = offline.read(f"board/{GROUP}/{TOPIC}")["queues"]
    assert {row["cause"] for row in board.values()} == {str(reset["seq"])}


def test_members_are_notified_and_verified_a_minute_later(office: Office) -> None:
    shown = plan(office, target="latest", method="online")
    apply(office, shown, target="latest", method="online")
    assert {row["step"] for row in office.entries("ResetStepDone")} == {"told"}
    office.world.run(65)
    steps = [(row["client_id"], row["step"]) for row in office.entries("ResetStepDone")]
    assert sorted(client for client, step in steps if step == "verified") == sorted(
        actor.client_id for actor in office.world.cluster.actors.consumers(GROUP)
    )


def test_an_undo_waits_until_members_are_stopped(office: Office) -> None:
    shown = plan(office, target="latest", method="online")
    apply(office, shown, target="latest", method="online")
    point = UndoPoint.of(office.entries("OffsetsReset")[-1])
    with pytest.raises(ActionRefused) as refused:
        office.act("UndoReset", reset_id=point.reset_id, confirm=GROUP, undo=point)
    assert refused.value.status == 409


def test_resets_of_two_runs_of_the_engine_have_different_names(offline: Office) -> None:
    apply(offline, plan(offline, target="earliest", method="offline"), target="earliest", method="offline")
    offline.world.run(1)
    later = Office(offline.world)
    later.attach()
    apply(later, plan(later, target="earliest", method="offline"), target="earliest", method="offline")
    [first], [second] = (one.entries("OffsetsReset") for one in (offline, later))
    assert first["reset_id"] != second["reset_id"]


def test_one_broker_that_does_not_answer_stops_the_plan(office: Office) -> None:
    network = office.world.cluster.network
    assert isinstance(network, SimNetwork)
    node = office.world.cluster.nodes.find("broker-b")
    assert node is not None
    network.partition(IP, node.record.address)
    with pytest.raises(ActionRefused) as refused:
        plan(office, target="latest", method="online")
    assert refused.value.status == 503


def test_nothing_but_a_reset_is_ever_written(office: Office) -> None:
    """Every request of the engine, of polls and of questions, is one that only reads."""
    office.read(f"board/{GROUP}/{TOPIC}")
    office.read("topology")
    plan(office, target="time", value=middle_ms(office), method="online")
    office.ask("find-messages", topic=TOPIC, from_ms=0)
    office.ask("walk-index", topic=TOPIC, key="k")
    office.ask("route", topic=TOPIC, everywhere=True)
    office.world.run(30)
    assert {code for _, code in office.asked} <= READS
