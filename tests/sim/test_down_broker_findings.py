"""A broker without a master: the first sentence says what that means for the groups that read its queues."""

from collections.abc import Callable

import pytest

from sandbox.queries.rows.board import DownMark
from tests.sim.finding_stage import FindingStage


@pytest.fixture
def stage(staged: Callable[..., FindingStage]) -> FindingStage:
    return staged()


@pytest.fixture
def with_slave(staged: Callable[..., FindingStage]) -> FindingStage:
    """Two brokers, the first with a slave; the topic is on the first."""
    stage = staged("replicas")
    stage.act("CreateTopic", topic="orders", write_queues=2, read_queues=2, scope="broker-a")
    return stage


def first_of(stage: FindingStage) -> str:
    return stage.text(stage.only("broker_down")).split(". ")[0]


def marks_of(stage: FindingStage, group: str = "svc") -> list[DownMark]:
    rows = [queue.row["down"] for queue in stage.view.groups[group].queues() if queue.topic == "orders"]
    return [mark for mark in rows if mark is not None]


def kill_master_after(stage: FindingStage, action: str, **fields: str) -> None:
    """Kill the master 10 s after an action on a group that keeps up, and look 20 s later."""
    stage.member("A")
    stage.producer(5)
    stage.run(30)
    stage.act(action, **fields)
    stage.run(10)
    stage.act("KillBroker", broker="broker-a")
    stage.run(20)


def test_a_group_without_a_slave_cannot_read_and_its_messages_wait(stage: FindingStage) -> None:
    stage.member("A", work_ms=[2_000, 2_000], threads=1)
    stage.producer(5)
    stage.run(30)
    stage.act("KillBroker", broker="broker-a")
    stage.run(20)
    waiting = sum(int(mark["lag"] or 0) for mark in marks_of(stage))
    assert waiting > 20
    assert first_of(stage) == (
        f"broker-a has no master (killed): svc cannot read broker-a:0, broker-a:1, broker-a:2; {waiting} messages wait"
    )


def test_a_slave_that_lacks_messages_is_so_far_behind(with_slave: FindingStage) -> None:
    stage = with_slave
    kill_master_after(stage, "CutLink", a="broker-a", b="broker-a.1")
    behind = sum(int(mark["behind"] or 0) for mark in marks_of(stage))
    assert 40 <= behind <= 60, "10 s of 5 messages a second"
    assert first_of(stage) == (
        "broker-a has no master (killed): svc can read broker-a:0, broker-a:1 only from the slave, "
        f"which lacks {behind} messages"
    )


def test_a_slave_that_has_all_messages_is_not_behind(with_slave: FindingStage) -> None:
    stage = with_slave
    kill_master_after(stage, "StopActor", actor="shop")
    assert first_of(stage).endswith("svc can read broker-a:0, broker-a:1 only from the slave")


def test_an_ordered_group_loses_its_locks_although_a_slave_has_the_queues(with_slave: FindingStage) -> None:
    stage = with_slave
    stage.member("A", listener="orderly")
    stage.producer(5)
    stage.run(60)
    stage.act("KillBroker", broker="broker-a")
    stage.run(10)
    assert "svc cannot renew the locks of broker-a:0, broker-a:1; members stop there within 30 s" in first_of(stage)
    assert {mark["reads"] for mark in marks_of(stage)} == {"no_lock"}
    stage.run(40)
    assert "svc cannot lock broker-a:0, broker-a:1, so no member processes them" in first_of(stage)


def test_the_worst_consequence_is_first_and_the_others_follow(staged: Callable[..., FindingStage]) -> None:
    stage = staged(queues=2)
    stage.member("A", group="plain")
    stage.member("B", group="ordered", listener="orderly")
    stage.producer(5)
    stage.run(30)
    stage.act("KillBroker", broker="broker-a")
    stage.run(20)
    text = stage.text(stage.only("broker_down"))
    assert text.startswith("broker-a has no master (killed): plain cannot read broker-a:0, broker-a:1")
    assert "1 ordered group cannot renew its locks (ordered). Only a master grants them." in text


def test_a_broker_without_a_topic_has_no_master_and_no_more(staged: Callable[..., FindingStage]) -> None:
    stage = staged("replicas")
    stage.run(10)
    stage.act("KillBroker", broker="broker-a")
    stage.run(20)
    assert first_of(stage) == "broker-a has no master (killed)."


def test_a_broker_that_is_down_explains_no_trouble_of_another_broker_s_queues(
    staged: Callable[..., FindingStage],
) -> None:
    """Both touch the group; but the member hangs by itself, and the unfinished messages are in queues of broker-a."""
    stage = staged("orders")
    stage.act("StopBroker", broker="broker-b")
    stage.run(60)  # the members have shared the queues of broker-a
    stage.act("HangActor", actor="A")
    stage.act("ChangeActor", actor="C", slow_queue="broker-a:3", slow_ms=90_000)
    stage.run(40)
    causes = {
        (each.finding.code, each.finding.subject.name): each.because_of and each.because_of[0]
        for each in stage.tracker.open
        if each.finding.code in ("broker_down", "member_hung", "offset_pinned")
    }
    pinned = {name: cause for (code, name), cause in causes.items() if code == "offset_pinned"}
    assert [cause for (code, _), cause in causes.items() if code == "member_hung"] == [None]
    assert {cause for name, cause in pinned.items() if name.startswith("broker-a:")} == {None, "member_hung"}, causes
