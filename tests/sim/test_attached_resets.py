"""Resets on a real cluster: what was previewed is what the brokers have afterwards, or nothing is done."""

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
WRITES = {RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET}
READS = {RequestCode.GET_ALL_TOPIC_CONFIG, RequestCode.GET_BROKER_RUNTIME_INFO, RequestCode.GET_BROKER_CLUSTER_INFO,
         RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, RequestCode.GET_TOPIC_STATS_INFO,
         RequestCode.GET_CONSUMER_CONNECTION_LIST, RequestCode.GET_CONSUME_STATS, RequestCode.GET_ALL_CONSUMER_OFFSET,
         RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, RequestCode.GET_CONSUMER_RUNNING_INFO,
         RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, RequestCode.GET_ALL_PRODUCER_INFO, RequestCode.GET_BROKER_CONFIG,
         RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.QUERY_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID,
         RequestCode.PULL_MESSAGE, RequestCode.QUERY_CONSUME_QUEUE}


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
    """What the brokers' own tables say."""
    found = {f"{node.name}:{number}": node.running.consumer_offsets.get(GROUP, TOPIC, number)
             for node in office.world.cluster.nodes.masters() for number in range(4)}
    return {queue: offset for queue, offset in found.items() if offset is not None}


def plan(office: Office, **wish: Any) -> dict[str, Any]:
    return office.ask("plan-reset", group=GROUP, topic=TOPIC, **wish)


def apply(office: Office, shown: dict[str, Any] | None = None, **wish: Any) -> int:
    expected = [{"queue": row["queue"], "committed": row["committed"], "target": row["target"]}
                for row in (shown or {"rows": ()})["rows"] if row["selected"]]
    return office.act("ResetOffsets", group=GROUP, topic=TOPIC, confirm=GROUP, expected=expected, **wish)


def targets(shown: dict[str, Any]) -> dict[str, int]:
    return {row["queue"]: int(row["target"]) for row in shown["rows"] if row["selected"] and row["target"] is not None}


def refusal(office: Office, shown: dict[str, Any] | None = None, **wish: Any) -> ActionRefused:
    with pytest.raises(ActionRefused) as refused:
        apply(office, shown, **wish)
    return refused.value


def undo(office: Office, *, confirm: str = GROUP) -> int:
    """Of the newest reset."""
    point = UndoPoint.of(office.entries("OffsetsReset")[-1])
    return office.act("UndoReset", reset_id=point.reset_id, confirm=confirm, undo=point)


def middle_ms(office: Office) -> int:
    return office.world.cluster.clock.now_ms() - 30_000


@pytest.mark.parametrize("wish", [
    {"target": "earliest"}, {"target": "latest"}, {"target": "offset", "value": 7}, {"target": "shift", "value": -5},
    {"target": "offset", "value": 3, "queues": ["broker-a:1", "broker-b:3"]}, {"target": "offset", "value": 10**6},
])  # fmt: skip
def test_offline_the_preview_is_what_brokers_have_afterwards(offline: Office, wish: dict[str, Any]) -> None:
    before = committed(offline)
    shown = plan(offline, method="offline", **wish)
    assert shown["refused"] is None
    apply(offline, shown, method="offline", **wish)
    assert committed(offline) == before | targets(shown)


def test_an_apply_that_wishes_what_was_not_previewed_is_refused_there_too(offline: Office) -> None:
    before, wish = committed(offline), {"method": "offline", "target": "latest"}
    shown = plan(offline, **wish)
    refused = refusal(offline, shown, **{**wish, "queues": ["broker-a:1"]}, fingerprint=shown["fingerprint"])
    assert (refused.status, refused.message) == (409, "The form was changed after this preview.")
    assert committed(offline) == before
    apply(offline, shown, **wish, fingerprint=shown["fingerprint"])
    assert committed(offline) == before | targets(shown)


def test_offline_to_a_point_in_time(offline: Office) -> None:
    wish: dict[str, Any] = {"target": "time", "value": middle_ms(offline), "method": "offline"}
    shown = plan(offline, **wish)
    assert sum(row["again"] for row in shown["rows"]) > 0
    apply(offline, shown, **wish)
    assert committed(offline) == targets(shown)


def test_a_group_is_put_where_another_one_is(offline: Office) -> None:
    world = offline.world
    world.act("StartConsumer", group="other", subscriptions=[{"topic": TOPIC}], from_where="CONSUME_FROM_FIRST_OFFSET")
    world.run(30)
    shown = plan(offline, target="copy_of", source_group="other", method="offline")
    apply(offline, shown, target="copy_of", source_group="other", method="offline")
    theirs = {f"{node.name}:{number}": node.running.consumer_offsets.get("other", TOPIC, number)
              for node in world.cluster.nodes.masters() for number in range(4)}
    assert committed(offline) == theirs


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


@pytest.mark.parametrize("wish", [
    {"target": "earliest"}, {"target": "offset", "value": 3}, {"target": "shift", "value": -2},
    {"target": "latest", "queues": ["broker-a:0"]},
])  # fmt: skip
def test_what_4_9_cannot_do_live_goes_offline_and_says_so(office: Office, wish: dict[str, Any]) -> None:
    shown = plan(office, method="online", **wish)
    assert (shown["asked_method"], shown["method"]) == ("online", "offline")
    assert "broker-a (4.9.8)" in shown["instead"]["message"]
    assert shown["refused"] == shown["instead"]  # members are online
    assert refusal(office, shown, method="online", **wish).status == 409
    for actor in office.world.cluster.actors.consumers(GROUP):
        office.world.act("StopActor", actor=actor.label)
    office.world.run(2)
    before = committed(office)
    shown = plan(office, method="online", **wish)
    assert shown["refused"] is None
    apply(office, shown, method="online", **wish)
    assert committed(office) == before | targets(shown)
    assert office.entries("OffsetsReset")[0]["method"] == "offline"


def test_members_online_would_overwrite_an_offline_reset(office: Office) -> None:
    shown = plan(office, target="earliest", method="offline")
    assert shown["refused"]["message"] == "Members of the group are online and would overwrite it."
    assert refusal(office, shown, target="earliest", method="offline").status == 409
    assert not WRITES & {code for _, code in office.asked}


def test_no_one_online_can_be_notified(offline: Office) -> None:
    shown = plan(offline, target="latest", method="online")
    assert "206" in shown["refused"]["message"]
    assert refusal(offline, shown, target="latest", method="online").status == 409


def test_a_commit_that_crosses_the_target_stops_the_apply(offline: Office) -> None:
    shown = plan(offline, target="offset", value=5, method="offline")
    broker = offline.world.cluster.nodes.broker("broker-a").running
    broker.consumer_offsets.commit(GROUP, TOPIC, 0, 2, "admin")  # went back behind what was shown
    refused = refusal(offline, shown, target="offset", value=5, method="offline")
    assert refused.status == 409
    assert refused.details["rows"], "a refusal brings the new plan"
    assert not WRITES & {code for _, code in offline.asked}


def test_the_groups_name_is_typed_always(offline: Office) -> None:
    with pytest.raises(ActionRefused) as refused:
        offline.act("ResetOffsets", group=GROUP, topic=TOPIC, target="earliest", method="offline")
    assert (refused.value.status, refused.value.field) == (422, "confirm")


def test_everything_else_is_refused(office: Office) -> None:
    for action, fields in (("CreateTopic", {"topic": "x"}), ("SendMessages", {"topic": TOPIC, "count": 1}),
                           ("KillBroker", {"broker": "broker-a"}), ("DeleteTopic", {"topic": TOPIC})):
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
    board = offline.read(f"board/{GROUP}/{TOPIC}")["queues"]
    assert {row["cause"] for row in board.values()} == {str(reset["seq"])}


def test_members_are_notified_and_verified_a_minute_later(office: Office) -> None:
    shown = plan(office, target="latest", method="online")
    apply(office, shown, target="latest", method="online")
    assert {row["step"] for row in office.entries("ResetStepDone")} == {"told"}
    office.world.run(65)
    steps = [(row["client_id"], row["step"]) for row in office.entries("ResetStepDone")]
    assert sorted(client for client, step in steps if step == "verified") == sorted(
        actor.client_id for actor in office.world.cluster.actors.consumers(GROUP))


def test_messages_that_lie_with_a_member_are_not_called_processed(office: Office) -> None:
    office.world.act("ChangeActor", actor="A", work_ms=[600_000, 600_000])
    office.world.act("SendMessages", topic=TOPIC, count=160)
    office.world.run(10)
    office.read(f"board/{GROUP}/{TOPIC}")
    shown = plan(office, target="latest", method="online")
    notes = [note for row in shown["rows"] for note in row["notes"]]
    assert {note["code"] for note in notes} == {"held"}
    assert notes[0]["text"].endswith("messages lie with its member")


def test_an_undo_goes_back_to_where_it_was(offline: Office) -> None:
    before = committed(offline)
    shown = plan(offline, target="earliest", method="offline")
    apply(offline, shown, target="earliest", method="offline")
    undo(offline)
    assert committed(offline) == before
    assert [row["method"] for row in offline.entries("OffsetsReset")] == ["offline", "undo"]


def test_an_undo_waits_until_members_are_stopped(office: Office) -> None:
    shown = plan(office, target="latest", method="online")
    apply(office, shown, target="latest", method="online")
    with pytest.raises(ActionRefused) as refused:
        undo(office)
    assert refused.value.status == 409


def test_an_undo_asks_for_the_name_of_the_group_and_for_where_it_leads(offline: Office) -> None:
    apply(offline, plan(offline, target="earliest", method="offline"), target="earliest", method="offline")
    moved = committed(offline)
    with pytest.raises(ActionRefused) as unnamed:
        undo(offline, confirm="")
    assert (unnamed.value.status, unnamed.value.field) == (422, "confirm")
    with pytest.raises(ActionRefused) as unknown:
        offline.act("UndoReset", reset_id=offline.entries("OffsetsReset")[-1]["reset_id"], confirm=GROUP)
    assert unknown.value.status == 404
    assert committed(offline) == moved


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
