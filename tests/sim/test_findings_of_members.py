"""Findings about the members of a group: each opens when its trouble is there, and not during a normal rebalance."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.findings.all_rules import BY_CODE
from sandbox.findings.english import text_of
from sandbox.findings.finding import Checked
from sandbox.labs.incidents import rebalance_storm
from tests.sim.finding_stage import FindingStage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[FindingStage]:
    stage = FindingStage(tmp_path, queues=8)
    yield stage
    stage.world.close()


def codes(stage: FindingStage) -> list[str]:
    """The codes that opened, in order."""
    return [line.code for line in stage.opened]


# uneven_assignment


def test_a_ring_gives_unequal_shares(stage: FindingStage) -> None:
    for actor in "ABC":
        stage.member(actor)
    stage.producer(5)
    stage.run(60)
    assert stage.opened == [], "3, 3 and 2 of 8 queues are as equal as possible"
    stage.act("SetStrategy", group="svc", strategy="CONSISTENT_HASH")
    stage.run(60)
    [opened] = stage.opened
    assert (opened.code, opened.subject) == ("uneven_assignment", "orders")
    assert "of the 8 queues of orders, " in opened.text
    assert "CONSISTENT_HASH assigns unequal shares." in opened.text
    assert opened.at_s <= 60 + 20 + 28, "a rebalance, and the time for which it has to hold"
    stage.act("SetStrategy", group="svc", strategy="AVG")
    stage.run(60)
    assert stage.codes == []


# member_gone_not_expelled


def test_a_crash_behind_a_cut_link_leaves_a_member_in_the_brokers_tables(stage: FindingStage) -> None:
    stage.member("A")
    stage.member("B")
    stage.producer(5)
    stage.run(60)
    stage.act("CutLink", a="A", b="broker-a")
    stage.act("CrashActor", actor="A")
    stage.run(20)
    [opened] = stage.opened
    assert opened.code == "member_gone_not_expelled"
    assert opened.text.startswith("The process of A is gone, but brokers still list it; they remove it in ")
    assert opened.text.endswith("Until then its 4 queues wait.")
    assert opened.at_s <= 60 + 10
    stage.run(160)
    assert "member_gone_not_expelled" not in stage.codes, "removed after 120 s without a heartbeat"
    assert stage.codes == []


def test_the_earlier_process_of_a_restarted_member_is_named_after_it(stage: FindingStage) -> None:
    stage.member("A")
    stage.member("B")
    stage.run(60)
    stage.act("CutLink", a="A", b="broker-a")
    stage.act("CrashActor", actor="A")
    stage.act("RestartActor", actor="A")
    stage.run(20)
    opened = stage.only("member_gone_not_expelled")
    assert stage.text(opened).startswith("An earlier process of A is gone")


def test_a_crash_with_an_open_connection_is_known_at_once(stage: FindingStage) -> None:
    stage.member("A")
    stage.member("B")
    stage.run(60)
    stage.act("HangActor", actor="A")
    stage.run(4)
    stage.act("CrashActor", actor="A")
    stage.run(90)
    assert codes(stage) == [], "brokers remove it when its connection closes"


# member_hung


def test_a_member_that_cannot_be_watched_is_unknown_and_not_healthy(stage: FindingStage) -> None:
    stage.member("A")
    stage.run(20)
    assert stage.checked("member_hung").holds
    assert stage.checked("member_gone_not_expelled").holds
    assert stage.view is not None
    group = stage.view.groups["svc"]
    stage.other_view = replace(stage.view, attached=True, groups={"svc": replace(group, heartbeats_ms=None)})
    assert stage.checked("member_hung") == Checked(0, 1)
    assert not stage.checked("member_gone_not_expelled").holds


def test_an_external_member_is_watched_by_its_last_heartbeat(stage: FindingStage) -> None:
    stage.member("A")
    stage.run(20)
    assert stage.view is not None
    group, at_ms = stage.view.groups["svc"], stage.view.at_ms
    [key] = group.members
    row = {**group.members[key], "actor": None}
    texts = []
    for silent_ms in (40_000, 60_000):
        silent = replace(group, members={key: row}, heartbeats_ms={key: at_ms - silent_ms})
        view = replace(stage.view, groups={"svc": silent})
        texts.append([text_of(finding, {key: "A"}) for finding in BY_CODE["member_hung"].find(view)])
    expected = "A has sent no heartbeat for 1 min; brokers remove it in 1 min. Until then its 8 queues wait."
    assert texts == [[], [expected]]


# same_client_id


def test_a_copied_container_reads_the_queues_of_its_twin(stage: FindingStage) -> None:
    stage.member("A")
    stage.producer(5)
    stage.run(60)
    stage.act("StartConsumer", actor="B", group="svc", client_id_of="A")
    stage.run(60)
    assert set(codes(stage)) == {"same_client_id", "queue_without_reader"}
    [opened] = [line for line in stage.opened if line.code == "same_client_id"]
    assert opened.text.startswith("2 connections share the client id 10.0.0.11@")
    assert opened.text.endswith("each is assigned the same queues. 4 queues have no reader.")
    assert opened.at_s <= 60 + 14
    assert stage.only("queue_without_reader").because_of == stage.only("same_client_id").finding.key
    stage.act("StopActor", actor="B")
    stage.run(60)
    assert stage.codes == []


# rebalance_storm


def test_a_member_that_restarts_again_and_again_moves_queues_each_time(stage: FindingStage) -> None:
    for actor in "ABC":
        stage.member(actor)
    stage.run(60)
    for _ in range(8):
        stage.act("CrashActor", actor="B")
        stage.run(2)
        stage.act("RestartActor", actor="B")
        stage.run(8)
    opened = stage.opened[0]
    assert opened.code == "rebalance_storm"
    assert opened.text.startswith("Members left 5 times and joined 5 times in ")
    assert "The newest member is B" in opened.text
    assert opened.at_s <= 60 + 30 + 2 + 12, "the fourth restart, and the time for which it has to hold"
    stage.run(90)
    assert stage.codes == []


def test_a_rolling_restart_of_three_members_is_no_storm(stage: FindingStage) -> None:
    for actor in "ABC":
        stage.member(actor)
    stage.producer(5)
    stage.run(60)
    for actor in "ABC":
        stage.act("StopActor", actor=actor)
        stage.run(4)
        stage.act("RestartActor", actor=actor)
        stage.run(10)
    stage.run(60)
    assert stage.opened == []


def test_a_rolling_restart_of_many_members_with_pauses_is_no_storm(stage: FindingStage) -> None:
    for actor in "ABCDEF":
        stage.member(actor)
    stage.producer(5)
    stage.run(60)
    for actor in "ABCDEF":
        stage.act("StopActor", actor=actor)
        stage.run(4)
        stage.act("RestartActor", actor=actor)
        stage.run(20)
    stage.run(60)
    assert stage.opened == []


def restart_one_after_the_other(stage: FindingStage, away_s: float, every_s: float) -> None:
    stage.member("A", work_ms=[600, 900])
    for actor in "BCD":
        stage.member(actor, work_ms=[600, 900])
    stage.producer(6)
    stage.run(60)
    for actor in "ABCD":
        stage.act("StopActor", actor=actor)
        stage.run(away_s)
        stage.act("RestartActor", actor=actor)
        stage.run(every_s - away_s)
    stage.run(60)


@pytest.mark.parametrize("away_s", [2, 4, 6])
def test_a_rolling_restart_of_four_members_with_pauses_of_8_s_is_no_storm(stage: FindingStage, away_s: float) -> None:
    restart_one_after_the_other(stage, away_s, away_s + 8)
    assert codes(stage) == []


def test_the_rolling_restart_of_the_incident_is_a_storm(stage: FindingStage) -> None:
    restart_one_after_the_other(stage, rebalance_storm.AWAY_S, rebalance_storm.BETWEEN_S)
    assert codes(stage)[:1] == ["rebalance_storm"]
    assert stage.codes == []
