"""Members that filter by properties, in a sandbox whose brokers allow it and in one whose brokers do not."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.control.actions import Subscription
from sandbox.journal.events import MessagesConsumed, MessagesFiltered, PullAnswered
from sandbox.kernel.errors import ActionRefused
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.simulation.world import World
from tests.seed.stage import WireLog

FIRST = "CONSUME_FROM_FIRST_OFFSET"


def stage(tmp_path: Path, *, allowed: bool = True) -> World:
    """One broker, a topic T of two queues, no one there."""
    world = World(tmp_path)
    world.act("CreateTopic", topic="T", write_queues=2, read_queues=2)
    if allowed:
        world.act("ChangeBroker", broker="broker-a", changes={"property_filter": True})
    world.run(2)
    return world


def start(world: World, expression: str, *, group: str = "G", **consumer: Any) -> None:
    world.act(
        "StartConsumer",
        group=group,
        subscriptions=[["T", expression, "SQL92"]],
        work_ms=[1],
        from_where=FIRST,
        **consumer,
    )


def send(world: World, tag: str, *keys: str) -> None:
    world.act("SendMessages", topic="T", rows=[{"key": key, "tag": tag, "body": "b"} for key in keys])


def consumed(world: World, group: str = "G") -> list[str]:
    return sorted(
        key for entry in world.entries(MessagesConsumed) if entry.event.group == group for key in entry.event.keys
    )


def member(world: World, group: str = "G") -> dict[str, Any]:
    [row] = world.read(f"board/{group}/T").data["members"].values()
    found: dict[str, Any] = row
    return found


@pytest.mark.parametrize("kind", ["push", "lite_pull", "pull"])
def test_a_member_is_given_what_its_condition_says(tmp_path: Path, kind: str) -> None:
    with stage(tmp_path) as world:
        wire = WireLog(world)
        start(world, "TAGS IN ('paid', 'sent') AND KEYS BETWEEN 10 AND 20", kind=kind)
        world.run(5)
        send(world, "paid", "9", "10", "11")
        send(world, "open", "12")
        send(world, "sent", "20", "21", "x")
        world.run(20)
        assert consumed(world) == ["10", "11", "20"]
        pulls = [frame.command.ext or {} for frame in wire.requests(RequestCode.PULL_MESSAGE)]
        pulls += [frame.command.ext or {} for frame in wire.requests(RequestCode.LITE_PULL_MESSAGE)]
        assert {pull["expressionType"] for pull in pulls if pull["topic"] == "T"} == {"SQL92"}
        assert world.entries(MessagesFiltered) == []  # the broker's word is final


@pytest.mark.parametrize("wanted", [["T", "TAGS = 'paid'", "SQL92"], ["T", "paid", "TAG"]], ids=["SQL92", "TAG"])
def test_what_brokers_leave_out_is_counted_at_the_member_by_any_filter(tmp_path: Path, wanted: list[str]) -> None:
    with stage(tmp_path) as world:
        world.act("StartConsumer", group="G", subscriptions=[wanted], work_ms=[1], from_where=FIRST)
        world.run(5)
        send(world, "open", "1", "2", "3", "4", "5")
        send(world, "paid", "6", "7")
        world.run(25)
        assert (member(world)["passed_over"], member(world)["dropped"]) == (5, 0)
        [group] = [row for row in world.snapshot()["groups"] if row["group"] == "G"]
        assert [row["passed_over"] for row in group["members"]] == [5], "and in the API"


def test_offsets_pass_over_what_no_one_wants(tmp_path: Path) -> None:
    with stage(tmp_path) as world:
        start(world, "TAGS = 'paid'")
        world.run(5)
        send(world, "open", *map(str, range(10)))
        world.run(30)
        rows = world.read("board/G/T").data["queues"].values()
        assert sorted(row["committed"] for row in rows) == ["5", "5"]
        assert consumed(world) == []
        passed = [
            entry.event
            for entry in world.entries(PullAnswered)
            if entry.event.code == ResponseCode.PULL_RETRY_IMMEDIATELY
        ]
        assert len(passed) >= 2
        assert {event.skipped_by_hash for event in passed} == {0}


def test_a_member_waits_in_a_long_poll_until_a_message_matches(tmp_path: Path) -> None:
    with stage(tmp_path) as world:
        start(world, "TAGS = 'paid'")
        world.run(10)
        begun = len(world.entries(PullAnswered))
        send(world, "paid", "1")
        world.run(0.1)
        [woken] = [entry.event for entry in world.entries(PullAnswered)[begun:] if entry.event.count]
        assert woken.held_ms > 0
        assert consumed(world) == ["1"]


@pytest.mark.parametrize("kind", ["push", "lite_pull"])
def test_a_broker_that_does_not_filter_refuses_the_member_and_its_card_says_why(tmp_path: Path, kind: str) -> None:
    with stage(tmp_path, allowed=False) as world:
        start(world, "TAGS = 'paid'", kind=kind)
        world.run(5)
        row = member(world)
        assert row["state"] == "refused"
        assert "The broker does not support consumer to filter message by SQL92" in row["reason"]
        world.act("ChangeBroker", broker="broker-a", changes={"property_filter": "true"})
        world.act("RestartActor", actor=row["actor"])
        world.run(40)
        send(world, "paid", "1")
        world.run(30)
        assert member(world)["state"] == "running"
        assert consumed(world) == ["1"]


def test_a_condition_that_does_not_compile_is_refused_with_its_place(tmp_path: Path) -> None:
    with stage(tmp_path) as world:
        start(world, "TAGS > 'paid'")
        world.run(5)
        row = member(world)
        assert (row["state"], row["reason"]) == ("refused", "code 23: > compares numbers (character 6)")


def test_a_running_member_can_be_given_another_condition(tmp_path: Path) -> None:
    with stage(tmp_path) as world:
        start(world, "TAGS = 'paid'")
        world.run(5)
        world.act("ChangeActor", actor="A", expression="TAGS = 'sent'")
        world.run(2)
        send(world, "paid", "1")
        send(world, "sent", "2")
        world.run(20)
        assert consumed(world) == ["2"]
        [group] = [group for group in world.snapshot()["groups"] if group["group"] == "G"]
        assert group["subscription"] == [{"topic": "T", "expression": "TAGS = 'sent'", "kind": "SQL92"}]


def test_members_filter_on_after_their_sandbox_slept(tmp_path: Path) -> None:
    with stage(tmp_path) as world:
        start(world, "TAGS = 'paid'")
        world.run(5)
        world.sleep()
        world.wake()
        world.run(40)
        send(world, "paid", "1")
        send(world, "open", "2")
        world.run(20)
        assert consumed(world) == ["1"]


def test_a_subscription_without_a_kind_is_one_by_tags(tmp_path: Path) -> None:
    """As every recorded one was before there were kinds."""
    with stage(tmp_path, allowed=False) as world:
        world.act("StartConsumer", group="G", subscriptions=[["T", "paid"]], work_ms=[1], from_where=FIRST)
        record = world.cluster.actors.get("A").record()
        record["settings"]["subscriptions"] = [["T", "paid"]]
        assert ConsumerActor.of(record).settings.subscriptions == (Subscription("T", "paid", "TAG"),)
        world.run(5)
        send(world, "paid", "1")
        send(world, "open", "2")
        world.run(10)
        assert consumed(world) == ["1"]


@pytest.mark.parametrize(
    ("subscription", "field"),
    [
        (["T", "", "SQL92"], "subscriptions"),
        (["T", "a > 1", "XPATH"], "subscriptions.kind"),
        (["T", "||", "TAG"], "subscriptions"),
    ],
)
def test_what_no_client_would_send_is_refused_at_once(tmp_path: Path, subscription: list[str], field: str) -> None:
    with stage(tmp_path) as world:
        with pytest.raises(ActionRefused) as refusal:
            world.act("StartConsumer", group="G", subscriptions=[subscription])
        assert (refusal.value.status, refusal.value.field) == (422, field)
