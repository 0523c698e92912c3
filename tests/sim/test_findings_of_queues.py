"""Findings about queues that no member reads, or that wait for a lock, a listener or a permission."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.findings.all_rules import BY_CODE
from sandbox.findings.english import text_of
from tests.sim.finding_stage import FindingStage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[FindingStage]:
    stage = FindingStage(tmp_path, queues=4)
    yield stage
    stage.world.close()


# lock_held_by_gone_member


def test_the_lock_of_a_crashed_member_keeps_its_queues_from_the_next_owner(stage: FindingStage) -> None:
    stage.member("A", listener="orderly")
    stage.member("B", listener="orderly")
    stage.producer(4)
    stage.run(61)
    assert stage.opened == []
    stage.act("CrashActor", actor="A")
    stage.run(8)
    [opened] = stage.opened
    assert opened.code == "lock_held_by_gone_member"
    assert opened.text.startswith("broker-a:0, broker-a:1 are locked by A, which crashed: free in ")
    assert opened.text.endswith("B waits for them.")
    assert opened.at_s <= 61 + 6
    stage.run(100)
    assert stage.codes == []


def test_the_lock_of_an_earlier_process_is_named_after_it(stage: FindingStage) -> None:
    stage.member("A", listener="orderly")
    stage.producer(4)
    stage.run(61)
    stage.act("CrashActor", actor="A")
    stage.act("RestartActor", actor="A")
    stage.run(10)
    [opened] = stage.opened
    assert opened.code == "lock_held_by_gone_member"
    assert " are locked by an earlier process of A: free in " in opened.text


def test_a_lock_whose_release_was_lost_is_not_renewed(stage: FindingStage) -> None:
    stage.member("A", listener="orderly")
    stage.member("B", listener="orderly")
    stage.run(60)
    assert stage.view is not None
    group = stage.view.groups["svc"]
    _, second = group.members
    rows = {name: {**row, "owner": second, "assigned": second} for name, row in group.topics["orders"].items()}
    opened = []
    expires_ms = max(row["lock"]["expires_at_ms"] for row in rows.values() if row["lock"] is not None)
    for left_ms in (40_000, 15_000):
        moved = replace(group, topics={"orders": rows})
        view = replace(stage.view, groups={"svc": moved}, at_ms=expires_ms - left_ms)
        opened.append([text_of(finding, view.labels) for finding in BY_CODE["lock_held_by_gone_member"].find(view)])
    assert opened[0] == [], "the holder releases its locks within a rebalance"
    [text] = opened[1]
    assert text.startswith("broker-a:0, broker-a:1 are locked by A, which does not own them any more: free in ")


def test_a_member_keeps_the_lock_of_a_queue_at_work_for_20_s(stage: FindingStage) -> None:
    """Found by seed 44: a member that loses a queue while it works on its message releases the lock 20 s later."""
    stage.member("A", listener="orderly", threads=1, work_ms=[150, 250])
    stage.member("B", listener="orderly", threads=1, work_ms=[150, 250])
    stage.producer(6)
    stage.run(76)
    stage.act("StartConsumer", actor="C", group="svc")
    stage.run(60)
    assert stage.opened == []


def test_a_member_that_stops_releases_its_locks(stage: FindingStage) -> None:
    stage.member("A", listener="orderly", work_ms=[500, 900])
    stage.member("B", listener="orderly", work_ms=[500, 900])
    stage.producer(2)
    stage.run(60)
    stage.act("StopActor", actor="A")
    stage.run(60)
    stage.act("RestartActor", actor="A")
    stage.run(60)
    assert stage.opened == []


# queue_without_reader


def test_queues_that_a_strategy_assigns_to_no_member_have_no_reader(stage: FindingStage) -> None:
    stage.member("A")
    stage.producer(4)
    stage.run(60)
    queues = ["broker-a:0", "broker-a:1"]
    stage.act("SetStrategy", group="svc", strategy="CONFIG", queues_by_member={"A": queues})
    stage.run(80)
    opened = stage.only("queue_without_reader")
    text = stage.text(opened)
    assert text.startswith("2 of 4 queues of orders are assigned to no member of svc (broker-a:2, broker-a:3).")
    assert " messages wait in them." in text
    stage.act("SetStrategy", group="svc", strategy="AVG")
    stage.run(80)
    assert stage.codes == []


def test_a_queue_assigned_to_a_member_that_cannot_read_it_has_no_reader(stage: FindingStage) -> None:
    stage.member("A")
    stage.member("B")
    stage.producer(4)
    stage.run(60)
    stage.act("CutLink", a="A", b="broker-a")
    stage.act("CrashActor", actor="A")
    stage.run(90)
    assert {"member_gone_not_expelled", "queue_without_reader"} == set(stage.codes)
    opened = stage.only("queue_without_reader")
    assert stage.text(opened).startswith("2 of 4 queues of orders are assigned to members that do not read them (")
    assert opened.because_of == stage.only("member_gone_not_expelled").finding.key


def test_messages_in_queues_beyond_the_read_count_reach_no_member(stage: FindingStage) -> None:
    stage.member("A")
    stage.producer(4)
    stage.run(40)
    stage.act("ChangeTopic", topic="orders", write_queues=6)
    stage.run(90)
    [opened] = stage.opened
    assert opened.code == "queue_without_reader"
    assert opened.text.startswith("orders has 6 write queues and 4 read queues. ")
    assert opened.text.endswith("No member may read 2 other queues.")
    stage.act("ChangeTopic", topic="orders", read_queues=6)
    stage.run(90)
    assert stage.codes == []


def test_a_topic_that_grows_gets_readers_within_a_route_and_a_rebalance(stage: FindingStage) -> None:
    stage.member("A")
    stage.member("B")
    stage.producer(4)
    stage.run(60)
    stage.act("ChangeTopic", topic="orders", read_queues=8)
    stage.run(40)
    stage.act("ChangeTopic", topic="orders", write_queues=8)
    stage.run(120)
    assert stage.opened == []


def test_members_that_start_and_stop_leave_no_queue_without_a_reader(stage: FindingStage) -> None:
    stage.producer(4)
    stage.run(40)
    stage.member("A")
    stage.run(40)
    stage.act("StopActor", actor="A")
    stage.run(80)
    assert stage.opened == []


# suspended


def test_an_orderly_listener_that_refuses_a_message_suspends_its_queue(stage: FindingStage) -> None:
    stage.member("A", listener="orderly")
    stage.producer(4)
    stage.run(30)
    stage.act("ChangeActor", actor="A", handler="reject order-130")
    stage.run(60)
    codes = [line.code for line in stage.opened]
    assert codes == ["suspended", "offset_pinned"]
    opened = stage.opened[0]
    assert "order-130 failed " in opened.text
    assert " times in A within 1" in opened.text
    assert "The member retries it without a limit." in opened.text
    assert "behind it wait." in opened.text
    assert stage.only("offset_pinned").because_of == stage.only("suspended").finding.key
    stage.act("ChangeActor", actor="A", handler="work")
    stage.run(60)
    assert stage.codes == []


def test_an_orderly_listener_that_fails_now_and_then_is_not_suspended(stage: FindingStage) -> None:
    stage.member("A", listener="orderly", fail_percent=20)
    stage.producer(2)
    stage.run(300)
    assert stage.opened == []


# paused


def test_a_group_that_may_not_consume_is_paused(stage: FindingStage) -> None:
    stage.member("A")
    stage.producer(4)
    stage.run(30)
    stage.act("ChangeGroup", group="svc", changes={"consume_enable": False})
    stage.run(60)
    [opened] = stage.opened
    assert (opened.code, opened.subject) == ("paused", "svc")
    assert opened.text.startswith("Brokers refuse the pulls of svc: consumeEnable of its subscription group is false.")
    assert opened.at_s <= 30 + 6
    assert stage.only("paused").finding.remedy is not None
    stage.act("ChangeGroup", group="svc", changes={"consume_enable": True})
    stage.run(60)
    assert stage.codes == []


# permission


def test_a_topic_that_refuses_writes_names_its_producers(stage: FindingStage) -> None:
    stage.member("A")
    stage.producer(4)
    stage.run(30)
    stage.act("ChangeTopic", topic="orders", permission=4)
    stage.run(30)
    [opened] = stage.opened
    assert (opened.code, opened.subject) == ("permission", "orders")
    assert opened.text == "orders refuses writes (permission 4). 1 producer sends to it."
    stage.act("ChangeTopic", topic="orders", permission=6)
    stage.run(30)
    assert stage.codes == []


def test_a_topic_that_refuses_reads_has_no_reader(stage: FindingStage) -> None:
    stage.member("A")
    stage.producer(4)
    stage.run(30)
    stage.act("ChangeTopic", topic="orders", permission=2)
    stage.run(60)
    assert [line.code for line in stage.opened] == ["permission", "queue_without_reader"]
    assert stage.opened[0].text == "orders refuses reads (permission 2). 1 group reads it."
    assert stage.opened[1].text.startswith("svc cannot read orders: its read permission is off.")
    assert stage.only("queue_without_reader").because_of == stage.only("permission").finding.key
    stage.act("ChangeTopic", topic="orders", permission=6)
    stage.run(60)
    assert stage.codes == []
